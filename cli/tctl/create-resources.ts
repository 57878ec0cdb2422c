import { createReadStream } from "node:fs";
import { errorText, PlatformError } from "../../core/errors/platform-error.ts";
import { writeResource } from "../../core/resources/document.ts";
import type { ResourceKind } from "../../core/resources/resource-specs.ts";
import { catchEndings } from "../catch-endings.ts";
import type { Call } from "../command.ts";
import type { CliIo } from "../io.ts";
import { type Result, writeError } from "../output.ts";
import { readInput } from "../read-input.ts";
import { type Admin, withAdmin } from "./connect.ts";
import { type Manifest, readManifest } from "./manifest.ts";

interface Stored {
  readonly kind: string;
  readonly name: string;
  readonly action: "created" | "updated";
}

/**
 * `tctl create [-f] <file>`: every document is checked before the first is sent. When one is refused, or the connection or the user ends it, the result is what
 * was stored before, below the error.
 */
export async function createResources(call: Call): Promise<Result> {
  const file = call.args[0] ?? "-";
  const overwrite = call.options.flag("force");
  const manifests = readManifest(await readSource(call.io, file), file === "-" ? "standard input" : file);
  const done: Stored[] = [];
  let [begun, status] = [0, 0];
  using caught = catchEndings();
  try {
    const putAll = async (admin: Admin): Promise<void> => {
      for (const manifest of manifests) {
        begun += 1;
        done.push(await put(admin, manifest, { overwrite, signal: caught.signal }));
      }
    };
    await withAdmin(call, putAll, "it is not known whether it was stored");
  } catch (thrown) {
    if (begun === 0) throw thrown;
    status = writeError(call.io, withOthers(thrown, { before: done.length, after: manifests.length - begun }));
  }
  const notes = manifests.slice(0, done.length).flatMap(({ document }) => mastersNotes(document));
  return { data: done, text: done.map(confirmation).join("\n"), notes, ...(status > 0 && { status }) };
}

/** Adds what became of the other documents of the file. */
function withOthers(thrown: unknown, { before, after }: { readonly before: number; readonly after: number }): unknown {
  if (!(thrown instanceof PlatformError)) return thrown;
  const were = (count: number): string => (count === 1 ? "was" : "were");
  const others = [
    ...(before > 0 ? [`${before} before it ${were(before)} stored`] : []),
    ...(after > 0 ? [`${after} after it ${were(after)} not sent`] : []),
  ].join(", ");
  return new PlatformError(thrown.code, `${thrown.message}${others && `; ${others}`}`, { cause: thrown, hint: thrown.hint });
}

/** Warns of a role that lends the group that no rule of a Kubernetes cluster binds. */
function mastersNotes(document: Manifest["document"]): readonly string[] {
  if (document.kind !== "role" || document.spec.allow?.kubernetes_groups?.includes("system:masters") !== true) return [];
  return [
    `Role ${document.metadata.name} lends the group system:masters, which no rule of a Kubernetes cluster binds: only the role's own kubernetes_resources limit its holders.`,
  ];
}

function confirmation({ kind, name, action }: Stored): string {
  if (kind === "cluster_maintenance_config") return "maintenance window has been updated";
  return `${kind} ${JSON.stringify(name)} has been ${action}`;
}

interface PutAsk {
  readonly overwrite: boolean;
  /** Aborted when the user ends the command. */
  readonly signal: AbortSignal;
}

async function put({ client }: Admin, manifest: Manifest, { overwrite, signal }: PutAsk): Promise<Stored> {
  const { kind, name } = manifest;
  try {
    signal.throwIfAborted();
    const existed = overwrite && (await exists(client, { kind, name }, signal));
    await client.putResource({ json: writeResource(manifest.document), overwrite }, { signal });
    return { kind, name, action: existed ? "updated" : "created" };
  } catch (caught) {
    const thrown: unknown = signal.aborted ? signal.reason : caught;
    if (!(thrown instanceof PlatformError)) throw thrown;
    const hint = thrown.code === "already_exists" ? "overwrite it with tctl create -f" : thrown.hint;
    throw new PlatformError(thrown.code, `${manifest.place}: ${kind} ${JSON.stringify(name)}: ${thrown.message}`, { cause: thrown, hint });
  }
}

async function exists(client: Admin["client"], asked: { readonly kind: ResourceKind; readonly name: string }, signal: AbortSignal): Promise<boolean> {
  try {
    await client.getResource(asked, { signal });
    return true;
  } catch (thrown) {
    if (thrown instanceof PlatformError && (thrown.code === "not_found" || thrown.code === "denied")) return false;
    throw thrown;
  }
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
