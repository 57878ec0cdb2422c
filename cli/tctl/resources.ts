import { PlatformError } from "../../core/errors/platform-error.ts";
import type { Maintenance } from "../../core/resources/maintenance.ts";
import type { ResourceSpec } from "../../core/resources/resource-spec.ts";
import { type PlainKind, type Resource, type ResourceKind, resourceSpecs } from "../../core/resources/resource-specs.ts";
import type { Role } from "../../core/resources/role.ts";
import { listHosts } from "../auth-lists.ts";
import type { Call } from "../command.ts";
import { hostFilter } from "../host-filter.ts";
import { type Result, textResult } from "../output.ts";
import { renderTable } from "../table.ts";
import { withAdmin } from "./connect.ts";
import { getDocument, listDocuments, parseReference } from "./documents.ts";
import { locksTable } from "./locks.ts";
import { nodesTable } from "./nodes.ts";
import { tokensTable } from "./tokens.ts";
import { rolloutTable } from "./upgrades.ts";
import { afterRemoval, usersTable } from "./users.ts";

/** `tctl get <kind>[/name]`: all of a kind as a list, one as a document. */
export async function getResources(call: Call): Promise<Result> {
  const { kind, name } = parseReference(call.args[0] ?? "");
  const result = await readResources(call, { kind, name });
  const spec: ResourceSpec = resourceSpecs[kind];
  const notes = [...(result.notes ?? []), ...emptyNote(kind, result)];
  const hasNone = call.options.flag("withSecrets") && spec.plain?.secret === undefined;
  return { ...result, notes: hasNone ? [...notes, noSecrets] : notes };
}

/** Where agents' files may have what the cluster has not. */
const ofAgents: Partial<Record<ResourceKind, string>> = { db: "tctl db ls", kube_cluster: "tctl kube ls" };

function emptyNote(kind: ResourceKind, { data }: Result): readonly string[] {
  if (!Array.isArray(data) || data.length > 0) return [];
  const elsewhere = ofAgents[kind];
  return [`The cluster has none of the kind ${kind}${elsewhere === undefined ? "" : `; ${elsewhere} lists those of agents' files too`}.`];
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
