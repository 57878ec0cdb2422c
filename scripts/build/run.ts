import { execFile } from "node:child_process";
import { promisify } from "node:util";

const exec = promisify(execFile);

interface RunOptions {
  readonly cwd?: string;
  /** Added to the fixed environment. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs a program of the build in a fixed environment; its standard output. Throws with its standard error. */
export async function run(program: string, args: readonly string[], options: RunOptions = {}): Promise<string> {
  const fixed = { PATH: process.env.PATH ?? "/usr/bin:/bin", LANG: "C", SOURCE_DATE_EPOCH: "0" };
  const env = { ...fixed, ...options.env };
  return (await exec(program, [...args], { ...options, env, maxBuffer: 64 * 1024 * 1024 })).stdout;
}
