import { output, program } from "../test/world/program.ts";
import { figure, interleave, ratio, spread } from "./measure.ts";
import { ourHost, startSideBySide } from "./side-by-side.ts";

/** One command on a host: `tsh ssh host true` beside `ssh -J jump host true`. */
export async function sshLoginTime(rounds: number): Promise<string> {
  await using world = await startSideBySide();
  const timed = async (command: string, args: readonly string[]): Promise<number> => {
    const start = performance.now();
    await output(command, args, { env: world.env });
    return performance.now() - start;
  };
  const { options, target } = world.theirs;
  const candidates = {
    tsh: () => timed(program("tsh"), ["ssh", `${world.login}@${ourHost}`, "true"]),
    ssh: () => timed("ssh", [...options, target, "true"]),
  };
  await interleave(1, candidates);
  const times = await interleave(rounds, candidates);
  const row = (name: string, values: readonly number[]): string => {
    const { min, median, max } = spread(values);
    return `| ${name} | ${figure(median, 0)} | ${figure(min, 0)}–${figure(max, 0)} |`;
  };
  return `## One command on a host

Wall time of the whole client, ms, ${rounds} interleaved rounds, loopback. Aim: at most 1.0 ×.

| command | median | range |
|---|---|---|
${row("`tsh ssh host true`", times.tsh)}
${row("`ssh -J jump host true`", times.ssh)}

Ratio, round by round: **${figure(ratio(times.tsh, times.ssh).median)} ×**.
`;
}
