import { open } from "node:fs/promises";
import { join } from "node:path";
import { type Readable, Writable } from "node:stream";
import { errorText, exitCodes, PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import type { Call } from "../../command.ts";
import type { ProfileSource } from "../../profile/follow-profile.ts";
import { encodeName } from "../../profile/resource-certificates.ts";
import { lineOutput } from "../hosts/host-output.ts";
import { confirmedSource } from "../served/confirmed-source.ts";
import type { DatabaseNames } from "./choose-names.ts";
import { clientCommands, statementArguments } from "./client-command.ts";
import { openDatabaseTunnel, type UsableDatabase } from "./database-tunnel.ts";
import { leavingInterrupts, runClient } from "./start-client.ts";
import { namesForTunnel } from "./stated-names.ts";

/** A database, and the account for it. */
export interface StatementTarget extends UsableDatabase {
  readonly names: DatabaseNames;
}

interface RunAsk {
  readonly sql: string;
  readonly source: ProfileSource;
  /** Number of databases at a time. */
  readonly parallel: number;
  readonly isPrefixed: boolean;
  /** Folder for a file of each database; undefined: the output is printed. */
  readonly folder: string | undefined;
}

/** The result at one database. */
export interface DatabaseOutcome {
  readonly name: string;
  readonly protocol: string;
  /** Status of the client, or of the failure that kept it from running. */
  readonly status: number;
  readonly error?: string;
  /** File of its output. */
  readonly file?: string;
}

export interface RunOutcome {
  /** Results of the started databases, in order. */
  readonly outcomes: readonly DatabaseOutcome[];
  /** Ctrl-C: no more of them were started. */
  readonly isInterrupted: boolean;
  /** Our output takes no more (its reader is gone, or a write failed): no more of them were started. */
  readonly lost: Error | undefined;
}

/** Runs statements at each database by its own client, several at a time, in order. Never throws for a failed database. */
export async function runOnDatabases(call: Call, targets: readonly StatementTarget[], ask: RunAsk): Promise<RunOutcome> {
  const outcomes: DatabaseOutcome[] = [];
  let isInterrupted = false;
  let lost: Error | undefined;
  let next = 0;
  const work = async (): Promise<void> => {
    for (let index = next++; index < targets.length && !isInterrupted && lost === undefined; index = next++) {
      const target = targets[index];
      if (target === undefined) continue;
      outcomes[index] = await runAt(call, target, { ...ask, onLost: (cause) => (lost ??= cause) });
    }
  };
  const interrupted = (): void => {
    isInterrupted = true;
  };
  const workers = Array.from({ length: Math.min(ask.parallel, targets.length) }, () => work);
  await leavingInterrupts(() => Promise.all(workers.map((one) => one())), interrupted);
  return { outcomes: outcomes.filter((outcome) => outcome !== undefined), isInterrupted, lost };
}

interface OneAsk extends RunAsk {
  readonly onLost: (cause: Error) => void;
}

async function runAt(call: Call, target: StatementTarget, ask: OneAsk): Promise<DatabaseOutcome> {
  const { name, protocol } = target;
  const file = ask.folder === undefined ? undefined : join(ask.folder, `${encodeName(name)}.out`);
  const outcome = { name, protocol, ...(file !== undefined && { file }) };
  try {
    const output = file === undefined ? printedOutput(call, name, ask) : await savedOutput(file);
    const ran = await attempt(call, target, { ...ask, output }).catch(failureOf);
    const unwritten = await output.end();
    if (unwritten === undefined || ran.error !== undefined) return { ...outcome, ...ran };
    const { status, error } = failureOf(unwritten);
    return { ...outcome, status: Math.max(ran.status, status), error };
  } catch (thrown) {
    return { ...outcome, ...failureOf(thrown) };
  }
}

function failureOf(thrown: unknown): Pick<DatabaseOutcome, "status" | "error"> & { readonly error: string } {
  const { code, message, hint } = toPlatformError(thrown);
  return { status: exitCodes[code], error: hint === undefined ? message : `${message}: ${hint}` };
}

async function attempt(
  call: Call,
  target: StatementTarget,
  { sql, source, output }: RunAsk & { readonly output: ClientOutput },
): Promise<Pick<DatabaseOutcome, "status" | "error">> {
  const { name, protocol, names } = target;
  const own: Call = { ...call, io: { ...call.io, stderr: output.errors } };
  const forTunnel = namesForTunnel(target, names);
  const confirmed = confirmedSource(call.io, source, { kind: "db", name, account: forTunnel.user });
  await using local = await openDatabaseTunnel(own, { database: target, source: confirmed, ...forTunnel, port: 0 });
  const status = await runClient(clientCommands(protocol, { port: local.port, ...names }), {
    env: call.io.env,
    database: name,
    stdio: ["ignore", "pipe", "pipe"],
    rest: statementArguments(protocol, sql),
    onOutput: output.onOutput,
  });
  return { status };
}

/** Where the output of one client goes. */
interface ClientOutput {
  /** For failures of the way to the database. */
  readonly errors: Writable;
  readonly onOutput: (stdout: Readable, stderr: Readable) => void;
  /** Writes the remaining data. Returns the error that made a file incomplete, if any. */
  end(): Promise<PlatformError | undefined>;
}

function printedOutput({ io }: Call, name: string, { isPrefixed, onLost }: OneAsk): ClientOutput {
  const prefix = isPrefixed ? `[${name}] ` : "";
  const [out, err] = [lineOutput(io.stdout, prefix), lineOutput(io.stderr, prefix)];
  out.on("error", onLost);
  err.on("error", () => {});
  return {
    errors: err,
    onOutput: (stdout, stderr) => {
      // The client notices that nobody reads, as in a shell's pipeline.
      out.on("error", () => stdout.destroy());
      err.on("error", () => stderr.destroy());
      stdout.pipe(out, { end: false });
      stderr.pipe(err, { end: false });
    },
    end: async () => {
      await Promise.all([ended(out), ended(err)]);
      return undefined;
    },
  };
}

/** A file (0600) that is written here: not every client notices that it could not write. */
async function savedOutput(path: string): Promise<ClientOutput> {
  const unwritten = (cause: unknown): PlatformError => new PlatformError("unavailable", `could not write ${path}: ${errorText(cause)}`, { cause });
  const file = await open(path, "w", 0o600).catch((cause: unknown) => {
    throw unwritten(cause);
  });
  let failure: PlatformError | undefined;
  const failed = (cause: unknown): void => {
    failure ??= unwritten(cause);
  };
  // One stream, so that the reason of a failure stands before what the client makes of it.
  const all = new Writable({ write: (chunk: Buffer, _encoding, done) => void file.writeFile(chunk).then(() => done(), done) });
  all.on("error", failed);
  return {
    errors: all,
    onOutput: (...outputs) => {
      for (const output of outputs) {
        // The statements run to their end: only their output is lost.
        all.on("error", () => output.resume());
        if (all.destroyed) output.resume();
        else output.pipe(all, { end: false });
      }
    },
    end: async () => {
      await ended(all);
      await file.close().catch(failed);
      return failure;
    },
  };
}

/** Resolves also when the reader went away. */
function ended(stream: Writable): Promise<void> {
  return new Promise((resolve) => {
    if (stream.destroyed) return resolve();
    stream.once("close", resolve);
    stream.end();
  });
}
