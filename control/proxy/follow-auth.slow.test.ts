import { expect, test } from "vitest";
import { startTestAgent } from "../../test/inside/connect-agent.ts";
import { startTestCluster } from "../../test/inside/open-cluster.ts";

test("a changed database is reported to agents within a moment, and with each heartbeat; hundreds of changes go together", async () => {
  await using cluster = await startTestCluster();
  const agent = await startTestAgent(cluster, { hostname: "db-1" });
  const atHeartbeat = async (): Promise<string | undefined> => {
    agent.send({ type: "ping", time: 1 });
    return (await agent.next("pong")).resources;
  };
  await expect.poll(atHeartbeat).toMatch(/^[0-9a-f]{16}$/);
  const before = await atHeartbeat();
  const put = async (name: string): Promise<void> => {
    const spec = { protocol: "postgres", uri: "db:5432" };
    await cluster.admin.putResource({ json: JSON.stringify({ kind: "db", version: "v3", metadata: { name }, spec }) });
  };
  const started = performance.now();
  await put("orders");
  // Locks and roles come in the same message: one of before may still be on its way.
  let told = await agent.next("access");
  while (told.resources === before) told = await agent.next("access");
  expect(performance.now() - started).toBeLessThan(5_000);
  expect(told.resources).toMatch(/^[0-9a-f]{16}$/);
  expect(await atHeartbeat()).toBe(told.resources);
  let count = 0;
  const counting = (async () => {
    for (;;) {
      await agent.next("access");
      count += 1;
    }
  })().catch(() => {});
  for (let n = 0; n < 50; n += 1) await put(`db-${n}`);
  const last = await atHeartbeat();
  await expect.poll(() => count).toBeGreaterThan(0);
  expect(last).not.toBe(told.resources);
  expect(count).toBeLessThan(40);
  agent.end();
  await counting;
});
