import { once } from "node:events";
import { userInfo } from "node:os";
import { expect, test } from "vitest";
import { startCluster } from "../world/cluster.ts";
import { residentMib } from "../world/hostile-client.ts";
import { program, start } from "../world/program.ts";
import { rounds } from "../world/rounds.ts";
import { until } from "../world/until.ts";

const gigabytes = rounds(10, 2.5);
const [bytes, warm] = [gigabytes * 1_000_000_000, 1_000_000_000] as const;
/** By how much the lowest size of a process may be higher in the last half of what follows the first gigabyte than in the half before, MiB: what leaks adds up. */
const mostGrowth = 16;
/** By how much it may at any time be above what it had after the first gigabyte, MiB: garbage comes and goes with the load of the machine. */
const mostPeak = 64;

test(`${gigabytes} GB through one session, no process grows, and the memory is given back after it`, { timeout: 900_000 }, async () => {
  await using cluster = await startCluster();
  const agent = await cluster.agent({ name: "web-1" });
  const login = userInfo().username;
  const user = await cluster.user("alice", { logins: login });
  const child = start(program("tsh"), ["ssh", `${login}@web-1`, `head -c ${bytes} /dev/zero`], { env: { TSH_HOME: user.home } });
  const ended = once(child, "exit");
  const pids = { tsh: child.pid ?? -1, control: cluster.control.pid, agent: agent.service.pid };
  const look = (): Promise<number[]> => Promise.all(Object.values(pids).map(residentMib));
  let [count, seen] = [0, 0];
  const looks: number[][] = [];
  for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
    count += chunk.length;
    if (count - seen < 100_000_000) continue;
    seen = count;
    if (count >= warm) looks.push(await look());
  }
  expect([count, ...(await ended)]).toEqual([bytes, 0, null]);
  expect(seen).toBeGreaterThan(bytes * 0.9);
  for (const [index, [name, pid]] of Object.entries(pids).entries()) {
    const sizes = looks.map((one) => one[index] ?? 0);
    const [before = 0] = sizes;
    // Garbage comes and goes; what is left at the lowest points is kept.
    const half = Math.floor(sizes.length / 2);
    expect(Math.min(...sizes.slice(half)) - Math.min(...sizes.slice(0, half)), name).toBeLessThan(mostGrowth);
    expect(Math.max(...sizes) - before, name).toBeLessThan(mostPeak);
    if (name === "tsh") continue;
    await until(`${name} gives back what it took`, async () => (await residentMib(pid)) < (before * 2) / 3);
  }
});
