import { output } from "../test/world/program.ts";
import { figure, interleave, percentile, ratio, spread } from "./measure.ts";
import { type Master, startMaster, startSideBySide } from "./side-by-side.ts";

/** The round trip between the client and what it dials, ms; 0: loopback alone. */
const roundTrips = [0, 50] as const;

/**
 * One more session on a connection that is there: a stock ssh with a control master, over `tsh proxy ssh` to our agent, beside the same over
 * `ssh -J` to an sshd behind a jump host.
 */
export async function newChannel(rounds: number): Promise<string> {
  const rows: string[] = [];
  for (const roundTripMs of roundTrips) {
    const { ours, theirs } = await measure(rounds, roundTripMs);
    const row = (name: string, values: readonly number[]): string =>
      `| ${roundTripMs} ms | ${name} | ${figure(spread(values).median, 1)} | ${figure(percentile(values, 99), 1)} |`;
    rows.push(row("our agent", ours), row("sshd behind a jump host", theirs));
    rows.push(`| ${roundTripMs} ms | ratio, round by round | ${figure(ratio(ours, theirs).median)} × | |`);
  }
  return `## One more session on a connection

\`ssh host true\` of the same stock ssh through its control master, over a connection that is there; ${rounds} interleaved rounds, wall time of ssh, ms.
The round trip is that of a relay between the client and what it dials (our proxy, the jump host).

| round trip | host | p50 | p99 |
|---|---|---|---|
${rows.join("\n")}
`;
}

async function measure(rounds: number, roundTripMs: number) {
  await using world = await startSideBySide({ roundTripMs });
  const { env } = world;
  await using ours = await startMaster(world.ours, world);
  await using theirs = await startMaster(world.theirs, world);
  const once = async ({ options, target }: Master): Promise<number> => {
    const began = performance.now();
    await output("ssh", [...options, target, "true"], { env });
    return performance.now() - began;
  };
  const candidates = { ours: () => once(ours), theirs: () => once(theirs) };
  await interleave(5, candidates);
  return await interleave(rounds, candidates);
}
