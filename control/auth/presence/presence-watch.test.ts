import { afterEach, beforeEach, expect, test } from "vitest";
import { openTestAuth, type TestAuth } from "../../../test/inside/open-auth.ts";
import { generateKeys, publicKeys } from "../../../test/inside/user-keys.ts";

let t: TestAuth;
beforeEach(async () => {
  t = await openTestAuth();
});
afterEach(async () => {
  await t[Symbol.asyncDispose]();
});

async function join(hostname: string): Promise<(connected: boolean, ending?: string) => Promise<void>> {
  const { secret } = await t.admin.createToken({ roles: ["node"] });
  const { hostId } = await t.connect().join({ token: secret, role: "node", hostname, ...publicKeys(generateKeys()) });
  return async (connected, ending = "") => {
    await t.auth.localClient("proxy").reportNode({ hostId, hostname, version: "1", connected, ending });
  };
}

const events = async () =>
  (await t.events("agent.gone", "agent.back")).map(({ event, server_name: name, reason }) => [event, name, reason].join(" ").trim());
const warnings = async () => (await t.admin.getCluster({})).warnings.filter((text) => text.includes("gone"));

test("a host that is gone is reported once, to the admin and in the metrics, and again when it is back", async () => {
  const report = await join("web1");
  await report(true);
  await report(false, "closed");
  t.forward(14_000);
  await t.auth.look();
  expect(await events()).toEqual([]);
  t.forward(1_000);
  await t.auth.look();
  await t.auth.look();
  expect(await events()).toEqual(["agent.gone web1 its tunnel ended and was not replaced"]);
  expect(await warnings()).toEqual([expect.stringContaining("1 agent is gone: web1")]);
  expect(await t.auth.metrics()).toMatch(/^platform_agent_gone\{host="[0-9a-f-]{36}",hostname="web1"\} 1$/m);
  await report(true);
  await t.auth.look();
  expect(await events()).toHaveLength(1);
  t.forward(5_000);
  await t.auth.look();
  expect(await events()).toEqual([expect.stringContaining("agent.gone"), "agent.back web1"]);
  expect(await warnings()).toEqual([]);
  expect(await t.auth.metrics()).toMatch(/^platform_agents_gone 0$/m);
});

test("a host that comes and goes makes no stream of events", async () => {
  const report = await join("web1");
  for (let round = 0; round < 20; round += 1) {
    await report(true);
    t.forward(3_000);
    await t.auth.look();
    await report(false, "closed");
    t.forward(round < 10 ? 5_000 : 16_000);
    await t.auth.look();
  }
  expect(await events()).toEqual(["agent.gone web1 its tunnel ended and was not replaced"]);
});

test("one that announced its stop raises no alarm, and is counted separately", async () => {
  const report = await join("web1");
  await report(true);
  await report(false, "stopped");
  t.forward(3_600_000);
  await t.auth.look();
  expect(await events()).toEqual([]);
  expect(await warnings()).toEqual([]);
  expect(await t.auth.metrics()).toMatch(/^platform_agents_stopped 1$/m);
});

test("a silent one is gone at once; the end of its tunnel does not tell it twice", async () => {
  const report = await join("web1");
  await report(true);
  await report(false, "silent");
  await t.auth.look();
  await report(false, "closed");
  await t.auth.look();
  expect(await events()).toEqual(["agent.gone web1 it did not respond for 20 s"]);
});

test("after a restart a host that was gone is still gone, a stopped one raises no alarm, and one that does not come back is reported after a minute", async () => {
  const [gone, stopped, missing, well] = [await join("gone1"), await join("stopped1"), await join("missing1"), await join("well1")];
  for (const report of [gone, stopped, missing, well]) await report(true);
  await gone(false, "silent");
  await stopped(false, "stopped");
  await t.auth.look();
  await t.restart();
  await t.auth.look();
  await well(true);
  t.forward(59_000);
  await t.auth.look();
  expect(await events()).toEqual([expect.stringContaining("agent.gone gone1")]);
  t.forward(1_000);
  await t.auth.look();
  expect(await events()).toEqual([expect.stringContaining("agent.gone gone1"), "agent.gone missing1 no report since the auth service started"]);
  await missing(true);
  t.forward(5_000);
  await t.auth.look();
  expect((await events()).at(-1)).toBe("agent.back missing1");
});

test("a host that was removed is gone from everything", async () => {
  const report = await join("web1");
  await report(true);
  await report(false, "silent");
  await t.auth.look();
  const { resources } = await t.admin.listResources({ kind: "node" });
  await t.admin.deleteResource({ kind: "node", name: resources[0]?.name ?? "" });
  await t.auth.look();
  expect(await warnings()).toEqual([]);
  expect(await t.auth.metrics()).not.toContain("web1");
  await t.restart();
  t.forward(120_000);
  await t.auth.look();
  expect(await warnings()).toEqual([]);
});
