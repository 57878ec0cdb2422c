import { memoryIo } from "../../cli/memory-io.ts";
import { cleanEnv, type Finished } from "./program.ts";

/** Runs a command of tctl in this process, with the environment that the program would have: without its start, which is most of its processor time. */
export async function tctlInside(args: readonly string[], env: Readonly<Record<string, string>>, input = ""): Promise<Finished> {
  // Only here: most story files load nothing of it.
  const { runTctl } = await import("../../cli/tctl/tctl.ts");
  const io = memoryIo(cleanEnv(env), input);
  const status = await runTctl(args, io);
  return { status, stdout: io.out(), stderr: io.err(), raw: Buffer.from(io.out()) };
}
