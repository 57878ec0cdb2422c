import { execFile } from "node:child_process";

interface Options {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
}

/**
 * The version of an updater's executable, undefined if it does not work: `version` must print one, and `dry-run`, which reads all
 * inputs of a run and changes nothing, must end by itself. Any result counts as working, except `internal`.
 */
export async function tryUpdater(program: string, options: Options): Promise<string | undefined> {
  const found = /^platform-upgrade (\S+)$/m.exec(await said([program, "version"], options))?.[1];
  if (found === undefined) return undefined;
  const reason = /^reason=(\w+)/m.exec(await said([program, "dry-run"], options))?.[1];
  return reason === undefined || reason === "internal" ? undefined : found;
}

/** Longer than all waits of a dry run together, ms. */
const limitMs = 240_000;

/** Its standard output if it exited with 0 or 1; otherwise empty. */
function said([program, command]: readonly [string, string], { env, signal }: Options): Promise<string> {
  return new Promise((resolve) => {
    execFile(program, [command], { timeout: limitMs, killSignal: "SIGKILL", signal, env: { ...env }, maxBuffer: 65_536 }, (error, stdout) => {
      resolve(error === null || error.code === 1 ? stdout : "");
    });
  });
}
