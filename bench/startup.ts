import { output, program } from "../test/world/program.ts";
import { bareNode, figure, interleave, ratio, spread } from "./measure.ts";

/** Start-up: `platform version` beside the bare runtime that is inside it, doing nothing. */
export async function startup(rounds: number): Promise<string> {
  const timed = async (command: string, args: readonly string[]): Promise<number> => {
    const start = performance.now();
    await output(command, args);
    return performance.now() - start;
  };
  const times = await interleave(rounds, {
    bare: () => timed(bareNode, ["-e", "0"]),
    platform: () => timed(program("platform"), ["version"]),
    tsh: () => timed(program("tsh"), ["version"]),
  });
  const row = (name: string, values: readonly number[]): string => {
    const { min, median, max } = spread(values);
    return `| ${name} | ${figure(median, 1)} | ${figure(min, 1)}–${figure(max, 1)} | ${figure(ratio(values, times.bare).median)} |`;
  };
  return `## Start-up

Wall time of the whole process, ms, ${rounds} interleaved rounds. Bound: 1.3 × the bare runtime.

| command | median | range | × bare |
|---|---|---|---|
${row("bare runtime, `node -e 0`", times.bare)}
${row("`platform version`", times.platform)}
${row("`tsh version`", times.tsh)}
`;
}
