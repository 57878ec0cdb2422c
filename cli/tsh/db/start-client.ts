import { type SpawnOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { constants as access, accessSync } from "node:fs";
import { constants } from "node:os";
import { delimiter, join } from "node:path";
import type { Readable } from "node:stream";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { CliIo } from "../../io.ts";
import { shellQuote } from "../../shell-quote.ts";
import type { ClientCommand } from "./client-command.ts";

interface ClientStart {
  readonly env: CliIo["env"];
  /** The database, for the advice when no client is installed. */
  readonly database: string;
  readonly stdio: SpawnOptions["stdio"];
  /** Arguments behind those of the command. */
  readonly rest: readonly string[];
  /** Reads the output, when `stdio` has pipes for it. */
  readonly onOutput?: (stdout: Readable, stderr: Readable) => void;
}

/** Runs the first of these programs that is installed; returns its exit status. Throws `not_found`. */
export async function runClient(commands: readonly ClientCommand[], { env, database, stdio, rest, onOutput }: ClientStart): Promise<number> {
  const command = installedClient(commands, env);
  if (command === undefined) throw notInstalled(commands, database);
  const child = spawn(command.program, [...command.args, ...rest], { stdio, env: { ...env, ...command.env } });
  try {
    if (child.stdout !== null && child.stderr !== null) onOutput?.(child.stdout, child.stderr);
    const [code, signal] = (await once(child, "close")) as [number | null, NodeJS.Signals | null];
    return code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === "ENOENT") throw notInstalled(commands, database);
    throw thrown;
  }
}

/** Leaves Ctrl-C to the clients, which share the terminal, while work runs; `onInterrupt` learns of it. */
export async function leavingInterrupts<T>(work: () => Promise<T>, onInterrupt: () => void = () => {}): Promise<T> {
  process.on("SIGINT", onInterrupt);
  try {
    return await work();
  } finally {
    process.off("SIGINT", onInterrupt);
  }
}

/** The first of these programs that stands in PATH; undefined: none. */
export function installedClient(commands: readonly ClientCommand[], env: CliIo["env"]): ClientCommand | undefined {
  const folders = (env.PATH ?? "/usr/local/bin:/usr/bin:/bin").split(delimiter).filter((folder) => folder !== "");
  return commands.find(({ program }) => folders.some((folder) => isExecutable(join(folder, program))));
}

/** A command as text for a shell: the first installed one, else the first. */
export function commandText(commands: readonly ClientCommand[], env: CliIo["env"]): string {
  const command = installedClient(commands, env) ?? commands[0];
  return command === undefined ? "" : shellQuote([command.program, ...command.args]);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, access.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Why `tsh db connect` cannot run one of these programs. */
export function notInstalled(commands: readonly ClientCommand[], database: string): PlatformError {
  const programs = commands.map(({ program }) => program).join(" or ");
  const names = commands.flatMap((one) => one.package ?? []);
  const packages = names.length === 1 ? `the package ${names[0]} of Debian` : `one of the packages ${names.join(", ")} of Debian`;
  const source = names.length === 0 ? `${programs} (not a package of Debian: see https://www.mongodb.com/docs/mongodb-shell/install/)` : packages;
  return new PlatformError("not_found", `${programs} is not installed here`, {
    hint: `install ${source}, or use another client on the port of: tsh proxy db --port=<port> ${database}`,
  });
}
