import { type Element, elementsOf, isNested, nameIn } from "./bson-elements.ts";
import type { NamedCommand } from "./known-commands.ts";

/**
 * Commands that report on all databases (operations with their filters, the use and locks of each collection), or end the operations of others, whatever their
 * databases. Clients cancel their own by `killCursors` and by `killSessions` with ids that they have used, or by closing their connections; the operation's number for `killOp` comes from
 * `currentOp`.
 */
const ofAllDatabases = new Set(["currentOp", "top", "lockInfo", "killOp", "killAllSessions", "killAllSessionsByPattern"]);
/**
 * First stages of a pipeline without a collection that stay in its database; a `$changeStream` that does not states it. All others are taken to report on all
 * databases (`$currentOp`, `$listCatalog`, `$listLocalSessions`, `$queryStats` …): servers gain new ones.
 */
const ofOwnDatabase = new Set(["$changeStream", "$documents", "$listMqlEntities"]);
/** Concerns all databases only where the command's own is admin. */
const ofOwnUnlessAdmin = "$listClusterCatalog";

/** Whether a command reports on all databases of the server, or ends the operations of all. Throws `invalid`. Pure. */
export function concernsAll({ name, database }: NamedCommand, command: Buffer): boolean {
  if (ofAllDatabases.has(name)) return true;
  if (name === "getLog") return !isStartupLog(command);
  if (name !== "aggregate") return false;
  let isWithoutCollection = false;
  for (const element of elementsOf(command)) {
    // Servers call such a collection `$cmd.aggregate`.
    if (element.key === name) isWithoutCollection = nameIn(element)?.startsWith("$") ?? true;
    if (element.key !== "pipeline") continue;
    const stage = firstStage(element);
    // It reads `system.sessions`: sessions of all users of the account, or of all accounts.
    if (stage === "$listSessions") return true;
    if (!isWithoutCollection) continue;
    if (stage !== undefined && !ofOwnDatabase.has(stage) && (stage !== ofOwnUnlessAdmin || database === "admin")) return true;
  }
  return false;
}

/** Whether a `getLog` is for the warnings of the start. Others hold slow commands of all databases. */
export function isStartupLog(command: Buffer): boolean {
  const [log] = elementsOf(command);
  return log !== undefined && nameIn(log) === "startupWarnings";
}

/** Name of the first stage of a pipeline; undefined where there is none. */
function firstStage(pipeline: Element): string | undefined {
  if (!isNested(pipeline)) return undefined;
  const [first] = elementsOf(pipeline.value);
  if (first === undefined || !isNested(first)) return undefined;
  const [stage] = elementsOf(first.value);
  return stage?.key;
}
