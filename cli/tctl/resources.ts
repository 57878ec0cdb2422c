import { createReadStream } from "node:fs";
import { errorText, PlatformError } from "../../core/errors/platform-error.ts";
import { writeResource } from "../../core/resources/document.ts";
import type { Maintenance } from "../../core/resources/maintenance.ts";
import type { ResourceSpec } from "../../core/resources/resource-spec.ts";
import { type PlainKind, type Resource, type ResourceKind, resourceSpecs } from "../../core/resources/resource-specs.ts";
import type { Role } from "../../core/resources/role.ts";
import { listHosts } from "../auth-lists.ts";
import type { Call } from "../command.ts";
import { hostFilter } from "../host-filter.ts";
import type { CliIo } from "../io.ts";
import { type Result, textResult } from "../output.ts";
import { readInput } from "../read-input.ts";
import { renderTable } from "../table.ts";
import { type Admin, withAdmin } from "./connect.ts";
import { getDocument, listDocuments, parseReference } from "./documents.ts";
import { locksTable } from "./locks.ts";
import { type Manifest, readManifest } from "./manifest.ts";
import { nodesTable } from "./nodes.ts";
import { tokensTable } from "./tokens.ts";
import { rolloutTable } from "./upgrades.ts";
import { afterRemoval, usersTable } from "./users.ts";

/** `tctl get <kind>[/name]`: all of a kind as a list, one as a document. */
export async function getResources(call: Call): Promise<Result> {
  const { kind, name } = parseReference(call.args[0] ?? "");
  const result = await readResources(call, { kind, name });
  const spec: ResourceSpec = resourceSpecs[kind];
  const hasNone = call.options.flag("withSecrets") && spec.plain?.secret === undefined;
  return hasNone ? { ...result, notes: [...(result.notes ?? []), noSecrets] } : result;
}

const noSecrets = "Resources of this kind contain no secret to print: join tokens, passwords and one-time codes are not stored in resources.";

async function readResources(call: Call, { kind, name }: ReturnType<typeof parseReference>): Promise<Result> {
  const withSecrets = call.options.flag("withSecrets");
  const filter = hostFilter({ args: [], options: call.options });
  const isFiltered = filter.search.length > 0 || filter.query !== "";
  if (isFiltered && (kind !== "node" || name !== undefined)) {
    throw new PlatformError("invalid", "--search and --query apply to the list of all nodes", { hint: "use them as: tctl get nodes --query=…" });
  }
  return await withAdmin(call, async ({ client }) => {
    if (name !== undefined) {
      const document = await getDocument<Resource>(client, kind, { name, withSecrets });
      return { data: document, text: resourcesTable(kind, [document]), names: [document.metadata.name] };
    }
    const documents = kind === "node" ? await listHosts(client, filter) : await listDocuments<Resource>(client, kind, withSecrets);
    const yaml = call.options.text("format") === "yaml";
    const names = documents.map(({ metadata }) => metadata.name);
    return { data: documents, text: resourcesTable(kind, documents), names, ...(yaml && { many: true }) };
  });
}

/** Tables of the kinds that have their own. */
const tables: { readonly [Kind in Exclude<ResourceKind, PlainKind>]: (documents: readonly Extract<Resource, { kind: Kind }>[]) => string } = {
  role: rolesTable,
  user: usersTable,
  token: (documents) => tokensTable(documents, new Date()),
  node: nodesTable,
  lock: locksTable,
  cluster_maintenance_config: maintenanceTable,
  upgrade_rollout: rolloutTable,
};

function resourcesTable(kind: ResourceKind, documents: readonly Resource[]): string {
  const spec: ResourceSpec = resourceSpecs[kind];
  // The documents are of this kind: no other was requested.
  if (spec.plain !== undefined)
    return renderTable(
      spec.plain.columns,
      documents.map((document) => spec.plain?.cells(document) ?? []),
    );
  return (tables[kind as keyof typeof tables] as (documents: readonly Resource[]) => string)(documents);
}

function rolesTable(documents: readonly Role[]): string {
  return renderTable(
    ["Role", "Description"],
    documents.map(({ metadata }) => [metadata.name, metadata.description ?? ""]),
  );
}

/** `tctl create [-f] <file>`: every document is checked before the first is sent. */
export async function createResources(call: Call): Promise<Result> {
  const file = call.args[0] ?? "-";
  const overwrite = call.options.flag("force");
  const manifests = readManifest(await readSource(call.io, file), file === "-" ? "standard input" : file);
  return await withAdmin(call, async (admin) => {
    const done: { kind: string; name: string; action: string }[] = [];
    for (const manifest of manifests) done.push(await put(admin, manifest, { overwrite, earlier: done.length }));
    return { data: done, text: done.map(confirmation).join("\n"), notes: manifests.flatMap(({ document }) => mastersNotes(document)) };
  });
}

/** Warns of a role that lends the group that no rule of a Kubernetes cluster binds. */
function mastersNotes(document: Manifest["document"]): readonly string[] {
  if (document.kind !== "role" || document.spec.allow?.kubernetes_groups?.includes("system:masters") !== true) return [];
  return [
    `Role ${document.metadata.name} lends the group system:masters, which no rule of a Kubernetes cluster binds: only the role's own kubernetes_resources limit its holders.`,
  ];
}

function confirmation({ kind, name, action }: { readonly kind: string; readonly name: string; readonly action: string }): string {
  if (kind === "cluster_maintenance_config") return "maintenance window has been updated";
  return `${kind} ${JSON.stringify(name)} has been ${action}`;
}

interface PutAsk {
  readonly overwrite: boolean;
  /** Number of documents of the same file that are already written. */
  readonly earlier: number;
}

async function put({ client }: Admin, manifest: Manifest, { overwrite, earlier }: PutAsk) {
  const { kind, name } = manifest;
  try {
    const existed = overwrite && (await exists({ client }, kind, name));
    await client.putResource({ json: writeResource(manifest.document), overwrite });
    return { kind, name, action: existed ? "updated" : "created" };
  } catch (thrown) {
    if (!(thrown instanceof PlatformError)) throw thrown;
    const before = earlier === 0 ? "" : ` (the ${earlier} before it in the file ${earlier === 1 ? "was" : "were"} written)`;
    const hint = thrown.code === "already_exists" ? "overwrite it with tctl create -f" : thrown.hint;
    throw new PlatformError(thrown.code, `${manifest.place}: ${kind} ${JSON.stringify(name)}: ${thrown.message}${before}`, { cause: thrown, hint });
  }
}

async function exists({ client }: Pick<Admin, "client">, kind: ResourceKind, name: string): Promise<boolean> {
  try {
    await client.getResource({ kind, name });
    return true;
  } catch (thrown) {
    if (thrown instanceof PlatformError && (thrown.code === "not_found" || thrown.code === "denied")) return false;
    throw thrown;
  }
}

/** `tctl rm <kind>/<name>`. */
export async function removeResource(call: Call): Promise<Result> {
  const { kind, name } = parseReference(call.args[0] ?? "");
  if (name === undefined) throw new PlatformError("invalid", `no name was given after ${kind}`, { hint: `write it as ${kind}/<name>` });
  return await withAdmin(call, async ({ client }) => {
    const { notes } = await client.deleteResource({ kind, name });
    if (kind === "cluster_maintenance_config") return textResult("maintenance window has been deleted");
    return textResult(`${kind} ${JSON.stringify(name)} has been deleted`, kind === "user" ? afterRemoval(name, notes) : notes);
  });
}

/** The upgrade window of agents, as `tctl get cluster_maintenance_config --format=text` shows it. */
export function maintenanceTable(documents: readonly Maintenance[]): string {
  const rows = documents.map(({ spec }) => {
    const { utc_start_hour: hour, weekdays } = spec.agent_upgrades;
    const clock = (value: number): string => `${String(value % 24).padStart(2, "0")}:00`;
    return [`${clock(hour)}-${clock(hour + 1)} UTC`, weekdays?.join(",") ?? "every day"];
  });
  return renderTable(["Window", "Weekdays"], rows);
}

/** Maximum size of a resource file, bytes. */
const maxInput = 4 * 1024 * 1024;

/** A whole file, or standard input for `-`. Throws `invalid`. */
async function readSource(io: CliIo, file: string): Promise<string> {
  const [source, what] = file === "-" ? [io.stdin, "standard input"] : [createReadStream(file), file];
  const bytes = await readInput(source, (_all, length) => length > maxInput).catch((cause: Error) => {
    throw new PlatformError("invalid", `could not read ${what}: ${errorText(cause)}`, { cause });
  });
  if (bytes.length > maxInput) throw new PlatformError("invalid", `${what} is longer than ${maxInput} bytes`, { hint: "split it" });
  return bytes.toString("utf8");
}
