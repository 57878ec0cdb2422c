import { execFile } from "node:child_process";

interface Options {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
}

/**
 * The version of an updater's executable, undefined when it is of no use: `version` has to say one, and `dry-run`, which reads all
 * that a run reads and changes nothing, has to come to an end of its own. What that end is does not count, but for `internal`.
 */
export async function tryUpdater(program: string, options: Options): Promise<string | undefined> {
  const found = /^platform-upgrade (\S+)$/m.exec(await said([program, "version"], options))?.[1];
  if (found === undefined) return undefined;
  const reason = /^reason=(\w+)/m.exec(await said([program, "dry-run"], options))?.[1];
  return reason === undefined || reason === "internal" ? undefined : found;
}

/** Longer than all waits of a dry run together, ms. */
const limitMs = 240_000;

/** What it wrote to standard output before it exited with 0 or 1; else nothing. */
function said([program, command]: readonly [string, string], { env, signal }: Options): Promise<string> {
  return new Promise((resolve) => {
    execFile(program, [command], { timeout: limitMs, killSignal: "SIGKILL", signal, env: { ...env }, maxBuffer: 65_536 }, (error, stdout) => {
      resolve(error === null || error.code === 1 ? stdout : "");
    });
  });
}
