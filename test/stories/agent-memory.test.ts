import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { startCluster } from "../world/cluster.ts";
import { until } from "../world/until.ts";

/** Most that an idle agent may hold, KiB: issue 2. */
const most = 75 * 1024;
/** What giving back must bring at least, KiB: more than noise. */
const least = 8 * 1024;

async function resident(pid: number): Promise<number> {
  return Number(/^Rss:\s+(\d+) kB/m.exec(await readFile(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1]);
}

test("an idle agent gives memory back, works on as before, and gives it back again", async () => {
  await using cluster = await startCluster();
  const agent = await cluster.agent({ name: "web-1" });
  const user = await cluster.user("alice");
  const { pid } = agent.service;
  for (let turn = 0; turn < 2; turn += 1) {
    expect(await user.tsh(["ssh", "root@web-1", "seq 100000 | tail -n 1"])).toMatchObject({ status: 0, stdout: "100000\n" });
    const before = await resident(pid);
    // Not all at once: what is measured in between is more.
    await until(`memory is given back, to ${most} KiB at most`, async () => {
      const now = await resident(pid);
      return now < before - least && now <= most;
    });
  }
  expect(agent.service.exited, agent.service.printed()).toBe(false);
});
