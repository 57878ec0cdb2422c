import { writeSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { type Readable, Writable } from "node:stream";
import { errorText, exitCodes, PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import type { Call } from "../../command.ts";
import type { ProfileSource } from "../../profile/follow-profile.ts";
import { encodeName } from "../../profile/resource-certificates.ts";
import { lineOutput } from "../hosts/host-output.ts";
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
  /** Why no more of them were started: our reader is gone, or Ctrl-C. */
  readonly stopped: "reader" | "interrupt" | undefined;
}

/** Runs statements at each database by its own client, several at a time, in order. Never throws for a failed database. */
export async function runOnDatabases(call: Call, targets: readonly StatementTarget[], ask: RunAsk): Promise<RunOutcome> {
  const outcomes: DatabaseOutcome[] = [];
  let stopped: RunOutcome["stopped"];
  let next = 0;
  const work = async (): Promise<void> => {
    for (let index = next++; index < targets.length && stopped === undefined; index = next++) {
      const target = targets[index];
      if (target === undefined) continue;
      outcomes[index] = await runAt(call, target, { ...ask, onGone: () => (stopped ??= "reader") });
    }
  };
  const interrupted = (): void => {
    stopped ??= "interrupt";
  };
  const workers = Array.from({ length: Math.min(ask.parallel, targets.length) }, () => work);
  await leavingInterrupts(() => Promise.all(workers.map((one) => one())), interrupted);
  return { outcomes: outcomes.filter((outcome) => outcome !== undefined), stopped };
}

async function runAt(call: Call, target: StatementTarget, ask: RunAsk & { readonly onGone: () => void }): Promise<DatabaseOutcome> {
  const { name, protocol, names } = target;
  const file = ask.folder === undefined ? undefined : join(ask.folder, `${encodeName(name)}.out`);
  const outcome = { name, protocol, ...(file !== undefined && { file }) };
  try {
    await using output = file === undefined ? printedOutput(call, name, ask) : await savedOutput(file);
    const own: Call = { ...call, io: { ...call.io, stderr: output.errors } };
    await using local = await openDatabaseTunnel(own, { database: target, source: ask.source, ...namesForTunnel(target, names), port: 0 });
    const status = await runClient(clientCommands(protocol, { port: local.port, ...names }), {
      env: call.io.env,
      database: name,
      stdio: ["ignore", output.stdio, output.stdio],
      rest: statementArguments(protocol, ask.sql),
      onOutput: output.onOutput,
    });
    return { ...outcome, status };
  } catch (thrown) {
    const { code, message, hint } = toPlatformError(thrown);
    return { ...outcome, status: exitCodes[code], error: hint === undefined ? message : `${message}: ${hint}` };
  }
}

/** Where the output of one client goes. Ended, it is written. */
interface ClientOutput extends AsyncDisposable {
  readonly stdio: "pipe" | number;
  /** For failures of the way to the database. */
  readonly errors: Writable;
  readonly onOutput: (stdout: Readable, stderr: Readable) => void;
}

function printedOutput({ io }: Call, name: string, { isPrefixed, onGone }: RunAsk & { readonly onGone: () => void }): ClientOutput {
  const prefix = isPrefixed ? `[${name}] ` : "";
  const [out, err] = [lineOutput(io.stdout, prefix), lineOutput(io.stderr, prefix)];
  return {
    stdio: "pipe",
    errors: err,
    onOutput: (stdout, stderr) => {
      // The client notices that nobody reads, as in a shell's pipeline.
      out.on("error", () => {
        onGone();
        stdout.destroy();
      });
      err.on("error", () => stderr.destroy());
      stdout.pipe(out, { end: false });
      stderr.pipe(err, { end: false });
    },
    [Symbol.asyncDispose]: async () => void (await Promise.all([ended(out), ended(err)])),
  };
}

async function savedOutput(path: string): Promise<ClientOutput> {
  const file = await open(path, "w", 0o600).catch((cause: unknown) => {
    throw new PlatformError("unavailable", `could not write ${path}: ${errorText(cause)}`, { cause });
  });
  // At once, so that the reason stands before what the client makes of it.
  const errors = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      try {
        writeSync(file.fd, chunk);
        done();
      } catch (thrown) {
        done(thrown instanceof Error ? thrown : new Error(String(thrown)));
      }
    },
  });
  errors.on("error", () => {});
  return {
    stdio: file.fd,
    errors,
    onOutput: () => {},
    [Symbol.asyncDispose]: async () => {
      await ended(errors);
      await file.close();
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
