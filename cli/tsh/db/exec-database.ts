import { constants } from "node:os";
import { join } from "node:path";
import { errorText, exitCodes, PlatformError } from "../../../core/errors/platform-error.ts";
import type { Call, Options } from "../../command.ts";
import { parseLabels } from "../../host-filter.ts";
import type { CliIo } from "../../io.ts";
import { makePrivateFolder } from "../../make-private-folder.ts";
import { isReaderGone, lostOutput, type Result, textResult, writeNote } from "../../output.ts";
import { chosenProfile } from "../../profile/choose-profile.ts";
import { followProfile } from "../../profile/follow-profile.ts";
import type { Profile } from "../../profile/profile.ts";
import { withTrust } from "../../profile/reach-cluster.ts";
import { writeSecrets } from "../../secrets.ts";
import { renderLabels } from "../../table.ts";
import { type ListedResource, usableResources } from "../served/list-served.ts";
import { findDatabase, noteShortName } from "./find-database.ts";
import { type DatabaseOutcome, type RunOutcome, runOnDatabases, type StatementTarget } from "./run-on-databases.ts";
import { statedNames } from "./stated-names.ts";

const defaultParallel = 10;
const maxParallel = 100;
/** Protocols whose clients run statements. */
const protocols: readonly string[] = ["postgres", "mysql"];

/** `tsh db exec SQL`: statements at several databases, with a file for each or with their names before the lines. */
export async function execOnDatabases(call: Call): Promise<Result> {
  const { io, options } = call;
  const [sql = ""] = call.args;
  if (sql.trim() === "")
    throw new PlatformError("invalid", "no statement was given", { hint: "give it in quotes: tsh db exec 'select 1' --dbs=orders" });
  const parallel = parallelOption(options.text("parallel"));
  const profile = await chosenProfile(call);
  const listed = await withTrust(call, profile, (trusting) => usableResources(io, trusting, "db"));
  const { chosen, skipped } = chooseDatabases(listed, options);
  for (const given of options.list("dbs")) noteShortName(io, given, findDatabase(listed, given).name);
  const targets = await Promise.all(
    chosen.map((one) => withAccount(call, profile, { ...one, account: listed.find(({ name }) => name === one.name)?.account })),
  );
  const folder = options.text("outputDir");
  if (folder !== undefined) await makePrivateFolder(folder, "--output-dir");
  const source = await followProfile(call, profile);
  const ran = await runOnDatabases(call, targets, { sql, source, parallel, isPrefixed: targets.length > 1, folder });
  const summary = summarize(ran, targets.length);
  const notes = skipped.length === 0 ? [] : [`Skipped, because they are neither postgres nor mysql: ${skipped.join(", ")}`];
  if (folder !== undefined) await saveSummary(io, folder, { ...summary, lines: [...notes, ...summary.lines] });
  const text = folder === undefined ? "" : `The output of ${ran.outcomes.length} of ${targets.length} databases, and summary.json, are in ${folder}.`;
  return { ...textResult(text, [...notes, ...summary.lines]), status: summary.status };
}

interface Chosen {
  readonly chosen: readonly { readonly name: string; readonly protocol: string }[];
  /** Names of databases with these labels whose protocol has no statements. */
  readonly skipped: readonly string[];
}

/** The databases of --dbs, in that order, or those with the labels of --labels, by name. Throws `invalid`, `not_found`, `unsupported`. Pure. */
export function chooseDatabases(listed: readonly ListedResource[], options: Pick<Options, "list">): Chosen {
  const names = options.list("dbs");
  const wanted = options.list("labels");
  if ((names.length === 0) === (wanted.length === 0)) {
    throw new PlatformError("invalid", "pass either --dbs or --labels", {
      hint: "give --dbs=<name>[,<name>], or --labels=<key>=<value>[,<key>=<value>]",
    });
  }
  if (wanted.length > 0) return labelled(listed, parseLabels(wanted.join(",")));
  const found = new Map(names.map((name) => findDatabase(listed, name)).map(({ name, details }) => [name, details.protocol ?? ""]));
  for (const [name, protocol] of found) {
    if (protocols.includes(protocol)) continue;
    throw new PlatformError("unsupported", `tsh db exec is for postgres and mysql, and ${name} is ${protocol}`, {
      hint: `use: tsh db connect ${name}`,
    });
  }
  return { chosen: [...found].map(([name, protocol]) => ({ name, protocol })), skipped: [] };
}

function labelled(listed: readonly ListedResource[], labels: Readonly<Record<string, string>>): Chosen {
  const matching = listed.filter((one) => Object.entries(labels).every(([key, value]) => one.labels[key] === value));
  const found = new Map(matching.map(({ name, details }) => [name, details.protocol ?? ""]));
  const all = [...found].map(([name, protocol]) => ({ name, protocol })).sort((one, two) => (one.name < two.name ? -1 : 1));
  const chosen = all.filter(({ protocol }) => protocols.includes(protocol));
  if (chosen.length > 0) return { chosen, skipped: all.filter((one) => !chosen.includes(one)).map(({ name }) => name) };
  throw new PlatformError("not_found", `no postgres or mysql database that you may use has the labels ${renderLabels(labels)}`, {
    hint: "`tsh db ls` shows the databases and their labels",
  });
}

/** Throws `invalid` when no account was given: a client would take the name of the local user. */
async function withAccount(
  call: Call,
  profile: Profile,
  { account, ...database }: { readonly name: string; readonly protocol: string; readonly account: string | undefined },
): Promise<StatementTarget> {
  const names = await statedNames(call, profile, { ...database, ...(account !== undefined && { account }) });
  if (names.user !== "") return { ...database, names };
  throw new PlatformError("invalid", `--db-user is missing: no database user was given for ${database.name}, and there is no single one to choose`, {
    hint: "give it with --db-user=<name>, or log in to each database with: tsh db login",
  });
}

function parallelOption(text: string | undefined): number {
  if (text === undefined) return defaultParallel;
  const number = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (number >= 1 && number <= maxParallel) return number;
  throw new PlatformError("invalid", `--parallel: ${JSON.stringify(text)} is not a number of databases`, { hint: `give 1 to ${maxParallel}` });
}

interface Summary {
  /** Contents of summary.json. */
  readonly data: { readonly total: number; readonly succeeded: number; readonly failed: number; readonly databases: readonly DatabaseOutcome[] };
  /** The highest status: 0 when all went well. */
  readonly status: number;
  /** Lines for people; none when all went well. */
  readonly lines: readonly string[];
}

/** Maximum number of databases listed by name. */
const maxNamed = 100;

/** Writes summary.json. Where it cannot, prints the outcomes, which are nowhere else, and throws `unavailable`. */
export async function saveSummary(io: CliIo, folder: string, { data, lines }: Pick<Summary, "data" | "lines">): Promise<void> {
  try {
    await writeSecrets([{ path: join(folder, "summary.json"), text: `${JSON.stringify(data, undefined, 2)}\n` }]);
  } catch (cause) {
    for (const line of lines) writeNote(io, line);
    const names = data.databases.flatMap(({ name, status }) => (status === 0 ? [name] : []));
    const more = names.length > maxNamed ? `, … and ${names.length - maxNamed} more` : "";
    const ran = names.length === 0 ? "no database completed them" : `the statements did run at ${names.slice(0, maxNamed).join(", ")}${more}`;
    throw new PlatformError("unavailable", errorText(cause), { cause, hint: `${ran}; the output that could be saved is in ${folder}` });
  }
}

/** The failed databases, their errors, and the exit status of the command; a reader that left is not a failure to report. Pure. */
export function summarize({ outcomes, isInterrupted, lost }: RunOutcome, total: number): Summary {
  const failed = outcomes.filter(({ status }) => status !== 0);
  const data = { total, succeeded: outcomes.length - failed.length, failed: failed.length, databases: outcomes };
  if (lost !== undefined && isReaderGone(lost)) return { data, status: 128 + constants.signals.SIGPIPE, lines: [] };
  const unwritten = lost === undefined ? [] : [lostOutput(lost)];
  const lines = unwritten.map(({ message }) => message);
  const interrupted = isInterrupted ? 128 + constants.signals.SIGINT : 0;
  const status = Math.max(interrupted, ...outcomes.map((outcome) => outcome.status), ...unwritten.map(({ code }) => exitCodes[code]));
  const left = total - outcomes.length;
  if (failed.length === 0 && left === 0) return { data, status, lines };
  const named = failed.slice(0, maxNamed).map(({ name, status: own, error }) => `  ${name}: ${error ?? `exit status ${own}`}`);
  const more = failed.length > maxNamed ? [`  … and ${failed.length - maxNamed} more`] : [];
  const notBegun = left > 0 ? `; ${left} not started` : "";
  return { data, status, lines: [...lines, `${failed.length} of ${total} databases failed${notBegun}:`, ...named, ...more] };
}
