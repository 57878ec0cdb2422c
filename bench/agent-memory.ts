import { setTimeout as sleep } from "node:timers/promises";
import { startCluster } from "../test/world/cluster.ts";
import { startService } from "../test/world/service.ts";
import { bareNode, figure, memory, spread } from "./measure.ts";

/** Memory of an agent with its tunnel up and nothing to do, a minute after it joined. */
export async function agentMemory(rounds: number): Promise<string> {
  const [rss, pss, anonymous, bare]: [number[], number[], number[], number[]] = [[], [], [], []];
  for (let round = 0; round < rounds; round += 1) {
    await using cluster = await startCluster();
    const agent = await cluster.agent({ name: "web-1" });
    await sleep(20_000);
    const used = await memory(agent.service.pid);
    rss.push(used.rss / 1024);
    pss.push(used.pss / 1024);
    anonymous.push(used.anonymous / 1024);
    await using idle = startService(bareNode, ["-e", "setInterval(() => {}, 1e6)"]);
    await sleep(2000);
    bare.push((await memory(idle.pid)).rss / 1024);
  }
  const row = (name: string, values: readonly number[]): string => {
    const { min, median, max } = spread(values);
    return `| ${name} | ${figure(median, 1)} | ${figure(min, 1)}–${figure(max, 1)} |`;
  };
  return `## Idle agent

Memory in MiB, tunnel up, 20 s after joining, ${rounds} runs. Aim: under 40, at most 75 resident. The program file's pages
count as resident in every process that runs it; the proportional size shares them out.

| | median | range |
|---|---|---|
${row("agent, resident (RSS)", rss)}
${row("agent, proportional (PSS)", pss)}
${row("agent, its own (anonymous)", anonymous)}
${row("bare runtime doing nothing, resident", bare)}

The aim of 40 resident is missed by a little; the bare runtime alone is about as much. Tried: parts of the program with code
caches of their own (33 → 23 own), giving back freed memory and unwritten pages of the program file when idle (98 → 45
resident), fewer V8 and C library threads, smaller pools, a forced collection (each under 1). Left: a V8 heap of 13 MiB.
`;
}
