import { join } from "node:path";
import { expect, test } from "vitest";
import type { HostStatus } from "../../../core/resources/host-status.ts";
import { upgradePlanSchema } from "../../../core/resources/upgrade-plan.ts";
import { openStatement } from "../../../core/versions/upgrade-statement.ts";
import { addUser, loggedIn, openTestAuth, type TestAuth } from "../../../test/inside/open-auth.ts";
import { generateKeys, publicKeys } from "../../../test/inside/user-keys.ts";
import { openSqlite } from "../../storage/sqlite.ts";
import { rolloutStateSchema } from "./rollout-state.ts";
import { minute, rolloutDocument } from "./testing/play-rollout.ts";

const groups = [
  { name: "staging", labels: { env: "staging" }, canaries: 1 },
  { name: "prod", labels: { "*": "*" }, wait: "1h" },
];
const rollout = (spec: object = {}) => rolloutDocument({ groups, ...spec });
/** Opens in an hour or two, whatever the hour is in which the test runs. */
const windowLater = (t: TestAuth) => ({
  kind: "cluster_maintenance_config",
  metadata: { name: "cluster-maintenance-config" },
  spec: { agent_upgrades: { utc_start_hour: (t.now().getUTCHours() + 2) % 24 } },
});
const put = (t: TestAuth, document: object) => t.admin.putResource({ json: JSON.stringify(document), overwrite: true });

interface Host {
  readonly id: string;
  report(version: string, more?: { connected?: boolean; ending?: string; status?: Partial<HostStatus> }): Promise<void>;
  /** What the endpoint would tell it. */
  ask(version?: string, critical?: boolean): Promise<string>;
}

async function host(t: TestAuth, hostname: string, env: string): Promise<Host> {
  const { secret } = await t.admin.createToken({ roles: ["node"] });
  const { hostId: id } = await t.connect().join({ token: secret, role: "node", hostname, ...publicKeys(generateKeys()) });
  const proxy = () => t.auth.localClient("proxy");
  const made: Host = {
    id,
    report: async (version, { connected = true, ending = "", status = {} } = {}) => {
      const statusJson = JSON.stringify({ upgrader: "unit", sessions: 2, ...status });
      await proxy().reportNode({ hostId: id, hostname, labels: { env }, services: ["ssh"], version, connected, ending, statusJson });
    },
    ask: async (version = "v1.1.0", critical = false) => {
      const answer = await proxy().getUpgradeTarget({ channel: "default", hostId: id, version, critical });
      return answer.held === "" ? answer.version : `(${answer.held})`;
    },
  };
  await made.report("1.0.0");
  return made;
}

async function channel(t: TestAuth, version: string, critical = false): Promise<void> {
  const channelsJson = JSON.stringify({ default: { version, critical, source: "static" } });
  await t.auth.localClient("proxy").reportChannels({ channelsJson, digest: `sha256:${"0".repeat(64)}` });
}

async function plan(t: TestAuth, more: { channel?: string; version?: string } = {}) {
  const { json } = await t.admin.getUpgradePlan(more);
  return upgradePlanSchema.parse(JSON.parse(json));
}

const rolledBack = { reason: "rolled_back", target: "1.1.0" } as const;

test("without an upgrade_rollout every host gets its channel's version, in its window", async () => {
  await using t = await openTestAuth();
  const web = await host(t, "web1", "prod");
  await channel(t, "v1.1.0");
  expect(await web.ask()).toBe("v1.1.0");
  expect(await web.ask("none")).toBe("none");
  expect(await plan(t)).toMatchObject({ staged: false, hosts: [{ verdict: "stays", why: expect.stringContaining("cluster_maintenance_config") }] });
  await put(t, windowLater(t));
  const { hosts, window: next, windows } = await plan(t);
  expect([windows?.length, windows?.[0]]).toEqual([7, next]);
  expect(hosts).toMatchObject([{ hostname: "web1", verdict: "goes", current: "1.0.0", target: "1.1.0", sessions: 2, when: next?.start }]);
});

test("canary first, then its group, then the next one after the wait; the document survives a restart and so does the progress", async () => {
  await using t = await openTestAuth();
  const [s1, s2, p1] = [await host(t, "s1", "staging"), await host(t, "s2", "staging"), await host(t, "p1", "prod")];
  await put(t, rollout());
  expect(await s1.ask()).toBe("(held by the roll-out: no proxy has reported an answer of channel default yet)");
  await channel(t, "v1.1.0");
  expect(await s1.ask()).toBe("(held by the roll-out: the roll-out of v1.1.0 has not started yet)");
  await plan(t);
  const canary = [s1, s2].sort((a, b) => (a.id < b.id ? -1 : 1))[0] === s1 ? s1 : s2;
  const other = canary === s1 ? s2 : s1;
  expect(await canary.ask()).toBe("v1.1.0");
  expect(await other.ask()).toMatch(/the canaries of group staging go first, since /);
  expect(await p1.ask()).toMatch(/^\(held by the roll-out: group prod comes after staging, which has been in progress since .*Z\)$/);
  const { targets } = await t.auth
    .localClient("proxy")
    .getUpgradeTargets({ channel: "default", version: "v1.1.0", hostIds: [other.id, canary.id, p1.id] });
  expect(targets.map(({ version, held }) => [version, held === ""])).toEqual([
    ["", false],
    ["v1.1.0", true],
    ["", false],
  ]);
  const { hostCaSsh } = await t.admin.getCluster({});
  expect(targets.map(({ signed }) => openStatement(signed, hostCaSsh)?.host)).toEqual([undefined, canary.id, undefined]);
  await canary.report("1.1.0");
  await plan(t);
  t.forward(10 * minute);
  await channel(t, "v1.1.0");
  await plan(t);
  expect(await other.ask()).toBe("v1.1.0");
  await other.report("1.1.0");
  await plan(t);
  expect(await p1.ask()).toMatch(/group prod waits until /);
  await t.restart();
  for (const [one, version] of [
    [s1, "1.1.0"],
    [s2, "1.1.0"],
    [p1, "1.0.0"],
  ] as const)
    await one.report(version);
  await channel(t, "v1.1.0");
  await plan(t);
  expect(await p1.ask()).toMatch(/group prod waits until /);
  t.forward(60 * minute);
  await channel(t, "v1.1.0");
  await plan(t);
  expect(await p1.ask()).toBe("v1.1.0");
  await p1.report("1.1.0");
  expect(await plan(t)).toMatchObject({ channels: [{ phase: "done" }] });
  expect((await t.events("rollout.updated", "rollout.started", "rollout.done")).map(({ event }) => event)).toEqual([
    "rollout.updated",
    "rollout.started",
    "rollout.done",
  ]);
});

test("a restart of the service alone passes no group, although it knows of no host at first", async () => {
  await using t = await openTestAuth();
  const [s1, p1] = [await host(t, "s1", "staging"), await host(t, "p1", "prod")];
  await put(t, rollout());
  await channel(t, "v1.1.0");
  await plan(t);
  await t.restart();
  await channel(t, "v1.1.0");
  for (const minutes of [0, 1, 30, 24 * 60]) {
    t.forward(minutes * minute);
    await channel(t, "v1.1.0");
    await plan(t);
    expect(await p1.ask()).toMatch(/group prod comes after staging/);
  }
  await s1.report("1.0.0");
  await plan(t);
  expect(await s1.ask()).toBe("v1.1.0");
});

test("what another process wrote meanwhile stands: the look that comes too late writes nothing, and the next one goes on from there", async () => {
  await using t = await openTestAuth();
  const s1 = await host(t, "s1", "staging");
  await put(t, rollout());
  await channel(t, "v1.1.0");
  await plan(t);
  expect(await s1.ask()).toBe("v1.1.0");
  const other = openSqlite({ path: join(t.dataDir, "auth", "state.sqlite") });
  const key = "/rollout_state/default";
  const state = rolloutStateSchema.parse(JSON.parse((await other.get(key))?.value ?? ""));
  const paused = JSON.stringify({ ...state, paused: { since: t.now().getTime(), by: "another process" } });
  await other.put({ key, value: paused });
  await s1.report("1.1.0");
  await t.auth.look();
  expect((await other.get(key))?.value).toBe(paused);
  await t.auth.look();
  expect(JSON.parse((await other.get(key))?.value ?? "")).toMatchObject({ paused: { by: "another process" }, took: { [s1.id]: expect.any(Number) } });
  await other.close();
});

test("a roll-back stops it; resume goes on without that host; pause and promote do what they say, each audited with its name", async () => {
  await using t = await openTestAuth();
  const [s1, s2, p1] = [await host(t, "s1", "staging"), await host(t, "s2", "staging"), await host(t, "p1", "prod")];
  await put(
    t,
    rollout({
      groups: [
        { name: "staging", labels: { env: "staging" } },
        { name: "prod", labels: { "*": "*" }, wait: "1h" },
      ],
    }),
  );
  await channel(t, "v1.1.0");
  await plan(t);
  await s1.report("1.0.0", { status: rolledBack });
  const stopped = await plan(t);
  expect(stopped.channels[0]).toMatchObject({ stopped: { why: "s1 rolled back from v1.1.0" }, failed: [{ host_id: s1.id, hostname: "s1" }] });
  expect(stopped.hosts?.find(({ hostname }) => hostname === "s2")).toMatchObject({
    verdict: "stays",
    why: expect.stringContaining("was stopped at"),
  });
  expect(await s2.ask()).toMatch(/was stopped at .*: s1 rolled back from v1.1.0\)/);
  await expect(t.admin.changeRollout({ action: "promote" })).rejects.toMatchObject({ code: "conflict", hint: "continue with: tctl upgrades resume" });
  await t.admin.changeRollout({ action: "resume" });
  expect(await s2.ask()).toBe("v1.1.0");
  await t.admin.changeRollout({ action: "pause" });
  expect(await s2.ask()).toMatch(/has been paused since .* by auth:/);
  await t.admin.changeRollout({ action: "resume" });
  await t.admin.changeRollout({ action: "promote", group: "prod" });
  expect(await p1.ask()).toBe("v1.1.0");
  await expect(t.admin.changeRollout({ action: "halt" })).rejects.toMatchObject({ code: "invalid" });
  await expect(t.admin.changeRollout({ action: "pause", channel: "other" })).rejects.toMatchObject({ code: "not_found" });
  const events = await t.events("rollout.stopped", "rollout.resumed", "rollout.paused", "rollout.promoted");
  expect(events.map(({ event, reason }) => [event, reason])).toEqual([
    ["rollout.stopped", "s1 rolled back from v1.1.0"],
    ["rollout.resumed", undefined],
    ["rollout.paused", undefined],
    ["rollout.resumed", undefined],
    ["rollout.promoted", "through group prod"],
  ]);
});

test("a plan for a version that no channel answers yet changes nothing", async () => {
  await using t = await openTestAuth();
  const [s1] = [await host(t, "s1", "staging"), await host(t, "p1", "prod")];
  await put(t, windowLater(t));
  await put(t, rollout());
  await channel(t, "v1.0.0");
  const { hosts = [], channels } = await plan(t, { version: "v1.2.0" });
  expect(channels).toMatchObject([{ version: "1.2.0", phase: "canaries", group: "staging" }]);
  expect(hosts).toMatchObject([
    { hostname: "s1", group: "staging", canary: true, verdict: "goes", why: "in its maintenance window" },
    { hostname: "p1", group: "prod", verdict: "goes", why: expect.stringContaining("comes after staging") },
  ]);
  const [first = "", second = ""] = hosts.map(({ when }) => when ?? "");
  expect(Date.parse(second) - Date.parse(first)).toBeGreaterThanOrEqual(70 * minute);
  expect(await s1?.ask("v1.0.0")).toBe("v1.0.0");
  expect((await plan(t)).channels).toMatchObject([{ version: "1.0.0" }]);
  await expect(t.admin.getUpgradePlan({ version: "soon" })).rejects.toMatchObject({ code: "invalid" });
  await expect(t.admin.getUpgradePlan({ channel: "nightly" })).rejects.toMatchObject({ code: "not_found" });
});

test("who may: an editor changes the roll-out, an auditor does not, a host asks for nobody", async () => {
  await using t = await openTestAuth();
  const editor = await loggedIn(t, await addUser(t, "ed", { roles: ["editor"] }));
  const auditor = await loggedIn(t, await addUser(t, "aud", { roles: ["auditor"] }));
  await editor.putResource({ json: JSON.stringify(rollout()) });
  await editor.getUpgradePlan({});
  await expect(auditor.getUpgradePlan({})).rejects.toMatchObject({ code: "denied" });
  await expect(auditor.changeRollout({ action: "pause" })).rejects.toMatchObject({ code: "denied" });
  await expect(editor.getUpgradeTarget({ channel: "default" })).rejects.toMatchObject({ code: "denied" });
  const tooMany = { channel: "default", version: "v1.1.0", hostIds: Array.from({ length: 1001 }, (_, index) => String(index)) };
  await expect(t.auth.localClient("proxy").getUpgradeTargets(tooMany)).rejects.toMatchObject({ code: "limit" });
  await editor.deleteResource({ kind: "upgrade_rollout", name: "default" });
  await expect(editor.changeRollout({ action: "pause" })).rejects.toMatchObject({ code: "not_found", message: "there is no upgrade_rollout" });
});

test.for<[why: string, document: object, message: RegExp]>([
  ["another name", { ...rollout(), metadata: { name: "mine" } }, /there is one upgrade_rollout/],
  ["no group", rollout({ groups: [] }), /groups/],
  [
    "a group twice",
    rollout({
      groups: [
        { name: "a", labels: { a: "b" } },
        { name: "a", labels: { "*": "*" } },
      ],
    }),
    /two groups have the same name/,
  ],
  ["a group without labels", rollout({ groups: [{ name: "a", labels: {} }] }), /empty labels match no host/],
  ["a wait that is none", rollout({ groups: [{ name: "a", labels: { a: "b" }, wait: "soon" }] }), /wait: is not a duration/],
  ["a freeze that ends before it begins", rollout({ freezes: [{ from: "2026-12-24", to: "2026-12-23" }] }), /ends before it begins/],
  ["a freeze at no date", rollout({ freezes: [{ from: "Christmas", to: "2026-12-23" }] }), /neither a date/],
  ["a time without an offset", rollout({ freezes: [{ from: "2026-12-23T10:00:00", to: "2026-12-24" }] }), /neither a date/],
  ["an unknown field", rollout({ canary: 3 }), /canary/],
  ["zero failures", rollout({ stop_after: { failed: 0 } }), /stop_after/],
])("%s is refused in words", async ([_why, document, message]) => {
  await using t = await openTestAuth();
  await expect(put(t, document)).rejects.toMatchObject({ code: "invalid", message: expect.stringMatching(message) });
});
