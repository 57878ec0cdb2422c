import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { AuthClient } from "../../../core/api/auth-client.ts";
import type { ListedSession } from "../../../core/resources/session.ts";
import { addUser, joinHost, loggedIn, openTestAuth } from "../../../test/inside/open-auth.ts";
import { openSqlite } from "../../storage/sqlite.ts";
import { LiveNodes } from "../inventory/live-nodes.ts";
import { createTurns } from "../login/turns.ts";
import { listActiveSessions, reportSessions } from "./active-sessions.ts";

const here = randomUUID();

function told(sid: string, more: object = {}): string {
  const who = { user: "alice", roles: ["access"], login: "root", server_id: "forged", server_name: "web1" };
  return JSON.stringify({ sid, kind: "ssh", ...who, started: "2026-01-02T03:04:05.000Z", participants: [], process: randomUUID(), ...more });
}

async function seen(client: AuthClient): Promise<ListedSession[]> {
  return (await client.listSessions({})).sessionsJson.map((json) => JSON.parse(json) as ListedSession);
}

const sids = async (client: AuthClient): Promise<string[]> => (await seen(client)).map(({ sid }) => sid);

test("a host tells of its own sessions, which count for a minute, and over a restart", async () => {
  await using t = await openTestAuth();
  const [host, other] = [await joinHost(t, "web1"), await joinHost(t, "web2")];
  const [first, second] = [randomUUID(), randomUUID()];
  await host.client.reportSessions({ process: here, sessionsJson: [told(first)] });
  await host.client.reportSessions({ process: randomUUID(), sessionsJson: [told(second, { started: "2026-01-02T04:00:00.000Z" })] });
  expect((await seen(t.admin)).map(({ sid, server_id }) => [sid, server_id])).toEqual([second, first].map((sid) => [sid, host.id]));
  await other.client.reportSessions({ process: here, sessionsJson: [] });
  await t.restart();
  expect(await sids(t.admin)).toEqual([second, first]);
  t.forward(50_000);
  await host.client.reportSessions({ process: here, sessionsJson: [told(first)] });
  t.forward(11_000);
  expect(await sids(t.admin)).toEqual([first]);
  await host.client.reportSessions({ process: here, sessionsJson: [] });
  expect(await sids(t.admin)).toEqual([]);
});

test("a host that is not connected has none, and comes back with them", async () => {
  await using t = await openTestAuth();
  const host = await joinHost(t, "web1");
  const proxy = t.auth.localClient("proxy");
  const sid = randomUUID();
  await host.client.reportSessions({ process: here, sessionsJson: [told(sid)] });
  const report = { hostId: host.id, hostname: "web1", version: "1.0.0" };
  for (const connected of [true, false, true]) {
    await proxy.reportNode({ ...report, connected, ending: connected ? "" : "closed" });
    expect(await sids(t.admin)).toEqual(connected ? [sid] : []);
    expect((await proxy.findSession({ sessionId: sid })).sessionJson !== "").toBe(connected);
  }
});

test("a user sees the own ones and those to be joined, an admin all; nobody sees the roles of others", async () => {
  await using t = await openTestAuth();
  const host = await joinHost(t, "web1");
  const spec = { allow: { join_sessions: [{ name: "w", kinds: ["ssh"], roles: ["dev"], modes: ["observer"] }] } };
  await t.admin.putResource({ json: JSON.stringify({ kind: "role", version: "v7", metadata: { name: "watcher" }, spec }) });
  const [own, dev, ops] = [randomUUID(), randomUUID(), randomUUID()];
  const sessionsJson = [told(own, { user: "bob" }), told(dev, { roles: ["dev"] }), told(ops, { roles: ["ops"] })];
  const bob = await loggedIn(t, await addUser(t, "bob", { roles: ["watcher"] }));
  const auditor = await loggedIn(t, await addUser(t, "carol", { roles: ["auditor"] }));
  await host.client.reportSessions({ process: here, sessionsJson });
  const modes = Object.fromEntries((await seen(bob)).map((one) => [one.sid, one.modes]));
  expect(modes).toEqual({ [own]: ["observer", "peer"], [dev]: ["observer"] });
  expect(JSON.stringify(await seen(bob))).not.toContain("roles");
  expect((await sids(auditor)).sort()).toEqual([own, dev, ops].sort());
});

test("an id that two hosts claim belongs to none", async () => {
  await using t = await openTestAuth();
  const sid = randomUUID();
  for (const name of ["web1", "web2"]) await (await joinHost(t, name)).client.reportSessions({ process: here, sessionsJson: [told(sid)] });
  expect((await t.auth.localClient("proxy").findSession({ sessionId: sid })).sessionJson).toBe("");
});

test("callers without permission to report or look up a session are refused, and so is a malformed one", async () => {
  await using t = await openTestAuth();
  const host = await joinHost(t, "web1");
  const alice = await loggedIn(t, await addUser(t, "alice", { roles: ["editor"] }));
  const report = { process: here, sessionsJson: [] };
  for (const client of [alice, t.auth.localClient("proxy")]) await expect(client.reportSessions(report)).rejects.toMatchObject({ code: "denied" });
  for (const client of [alice, host.client]) await expect(client.findSession({ sessionId: here })).rejects.toMatchObject({ code: "denied" });
  await expect(t.connect().listSessions({})).rejects.toMatchObject({ code: "unauthenticated" });
  const wrong = [
    { process: "../x", sessionsJson: [] },
    { process: here, sessionsJson: ["{}"] },
    { process: here, sessionsJson: [told("not-a-uuid")] },
    { process: here, sessionsJson: Array.from({ length: 1001 }, () => "{}") },
  ];
  for (const one of wrong) await expect(host.client.reportSessions(one)).rejects.toMatchObject({ code: "invalid" });
});

test("a host has at most four processes, the newest, and 2,000 sessions; also when it tells of all of them at once", async () => {
  const folder = mkdtempSync(join(tmpdir(), "platform-sessions-"));
  let time = Date.now();
  const now = () => new Date(time);
  const context = { storage: openSqlite({ path: join(folder, "auth", "state.sqlite"), now }), now, turns: createTurns(), live: new LiveNodes() };
  const all = async () => (await listActiveSessions(context)).map(({ sid }) => sid);
  const report = (count: number, sid = randomUUID(), more: object = {}) => {
    const sessionsJson = Array.from({ length: count }, (_one, index) => told(index === 0 ? sid : randomUUID(), more));
    return reportSessions(context, { host: "h", process: randomUUID(), sessionsJson });
  };
  const last = Array.from({ length: 7 }, () => randomUUID());
  for (const sid of last) {
    await report(1, sid);
    time += 1_000;
  }
  expect((await all()).sort()).toEqual(last.slice(-4).sort());
  const big = { login: "x".repeat(256), server_name: "y".repeat(256) };
  const outcomes = await Promise.allSettled(Array.from({ length: 12 }, () => report(600, randomUUID(), big)));
  expect(outcomes).toContainEqual(expect.objectContaining({ status: "fulfilled" }));
  expect((await all()).length).toBeLessThanOrEqual(2_000);
  const stored = await context.storage.list("/session/");
  expect(stored.reduce((sum, { value }) => sum + value.length, 0)).toBeLessThanOrEqual(2_000_000);
  time += 61_000;
  expect(await all()).toEqual([]);
  await context.storage.close();
  rmSync(folder, { recursive: true });
});

test("a session is found among others by its id, however much other hosts tell", async () => {
  await using t = await openTestAuth();
  const [host, loud] = [await joinHost(t, "web1"), await joinHost(t, "web2")];
  const sid = randomUUID();
  await host.client.reportSessions({ process: here, sessionsJson: [told(sid)] });
  await loud.client.reportSessions({ process: here, sessionsJson: Array.from({ length: 1_000 }, () => told(randomUUID(), { user: sid })) });
  const proxy = t.auth.localClient("proxy");
  expect(JSON.parse((await proxy.findSession({ sessionId: sid })).sessionJson)).toMatchObject({ sid, server_id: host.id });
  expect((await proxy.findSession({ sessionId: '"' })).sessionJson).toBe("");
});
