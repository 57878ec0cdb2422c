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
/** What a process may have more at any later time than after the first gigabyte, MiB. */
const mostMib = 32;

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
  let before: number[] | undefined;
  let growth = [0, 0, 0];
  for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
    count += chunk.length;
    if (count - seen < 100_000_000) continue;
    seen = count;
    if (count < warm) continue;
    const now = await look();
    before ??= now;
    growth = growth.map((most, index) => Math.max(most, (now[index] ?? 0) - (before?.[index] ?? 0)));
  }
  expect([count, ...(await ended)]).toEqual([bytes, 0, null]);
  expect(seen).toBeGreaterThan(bytes * 0.9);
  for (const [index, [name, pid]] of Object.entries(pids).entries()) {
    expect(growth[index], name).toBeLessThan(mostMib);
    if (name === "tsh") continue;
    await until(`${name} gives back what it took`, async () => (await residentMib(pid)) < ((before?.[index] ?? 0) * 2) / 3);
  }
});
