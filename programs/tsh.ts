import { rawArguments } from "../cli/raw-arguments.ts";
import { runProgram } from "../cli/run-program.ts";
import { tsh } from "../cli/tsh/tsh.ts";

/** The user's command line; its exit status. */
export function run(args: readonly string[]): Promise<number> {
  return runProgram(tsh, rawArguments(args), { env: process.env, stdin: process.stdin, stdout: process.stdout, stderr: process.stderr });
}
