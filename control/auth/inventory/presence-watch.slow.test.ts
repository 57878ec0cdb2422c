import { afterEach, beforeEach, expect, test } from "vitest";
import { openTestAuth, type TestAuth } from "../../../test/inside/open-auth.ts";
import { generateKeys, publicKeys } from "../../../test/inside/user-keys.ts";
import type { LiveNode } from "./live-nodes.ts";
import { type Absence, goneWarnings, type Presence, presenceOf } from "./presence-watch.ts";

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

const t0 = 1_800_000_000_000;
const live = (connected: boolean, agoMs: number, ending?: LiveNode["ending"]): LiveNode => ({
  hostname: "web1",
  version: "1.0.0",
  connected,
  since: new Date(t0 - agoMs),
  address: "",
  proxies: [],
  names: [],
  ending,
});

test.for<[why: string, live: LiveNode | undefined, recorded: "gone" | "stopped" | undefined, startedAgoMs: number, then: Presence]>([
  ["has a tunnel", live(true, 0), undefined, 0, "connected"],
  ["lost its tunnel a moment ago", live(false, 14_999, "closed"), undefined, 0, "away"],
  ["lost its tunnel 15 s ago", live(false, 15_000, "closed"), undefined, 0, "gone"],
  ["lost its tunnel, and an old proxy does not say how", live(false, 15_000), undefined, 0, "gone"],
  ["is silent: the proxy has waited already", live(false, 0, "silent"), undefined, 0, "gone"],
  ["lost its proxy a moment ago", live(false, 24_999, "lost"), undefined, 0, "away"],
  ["lost its proxy and found no other", live(false, 25_000, "lost"), undefined, 0, "gone"],
  ["said that it stops", live(false, 3_600_000, "stopped"), undefined, 0, "stopped"],
  ["was not heard of since the start, a moment ago", undefined, undefined, 59_999, "unknown"],
  ["was not heard of since the start", undefined, undefined, 60_000, "gone"],
  ["was gone before the start", undefined, "gone", 0, "gone"],
  ["had stopped before the start", undefined, "stopped", 3_600_000, "stopped"],
])("a host that %s", ([_why, node, recorded, startedAgoMs, then]) => {
  expect(presenceOf(node, { recorded, started: t0 - startedAgoMs, now: t0 })).toBe(then);
});

test("the warning names the newest few", () => {
  const absent = (kind: Absence["kind"], ...names: string[]): Absence[] => names.map((hostname, since) => ({ kind, hostname, since }));
  expect(goneWarnings(absent("stopped", "a"))).toEqual([]);
  expect(goneWarnings(absent("gone", "a"))[0]).toMatch(/^1 agent is gone: a; see tctl nodes ls, and remove it with/);
  expect(goneWarnings(absent("gone", "a", "b", "c"))[0]).toMatch(/^3 agents are gone: c, b, a; /);
  expect(goneWarnings(absent("gone", ..."abcdefg"))[0]).toMatch(/^7 agents are gone: g, f, e, d, c and 2 more; /);
});
