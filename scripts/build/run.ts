import { execFile } from "node:child_process";
import { promisify } from "node:util";

const exec = promisify(execFile);

/** Runs a program of the build in a fixed environment; its standard output. Throws with its standard error. */
export async function run(program: string, args: readonly string[], cwd?: string): Promise<string> {
  const env = { PATH: process.env.PATH ?? "/usr/bin:/bin", LANG: "C", SOURCE_DATE_EPOCH: "0" };
  return (await exec(program, [...args], { env, cwd, maxBuffer: 64 * 1024 * 1024 })).stdout;
}
