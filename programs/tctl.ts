import { runProgram } from "../cli/run-program.ts";
import { tctl } from "../cli/tctl/tctl.ts";

/** The admin's command line; its exit status. */
export function run(args: readonly string[]): Promise<number> {
  return runProgram(tctl, args, { env: process.env, stdin: process.stdin, stdout: process.stdout, stderr: process.stderr });
}
