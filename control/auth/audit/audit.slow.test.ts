import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { makeAuditEvent } from "../../../core/audit/audit-event.ts";
import type { AuditFacts } from "../../../core/audit/audit-events.ts";
import { addUser, loggedIn, openTestAuth, type TestAuth } from "../../../test/inside/open-auth.ts";
import { generateKeys, publicKeys } from "../../../test/inside/user-keys.ts";
import { codeAt } from "../../../test/world/one-time-code.ts";

async function joinedHost(t: TestAuth) {
  const { secret } = await t.admin.createToken({ roles: ["node"] });
  const keys = generateKeys();
  const joined = await t.connect().join({ token: secret, role: "node", hostname: "web1", version: "1", ...publicKeys(keys) });
  return { id: joined.hostId, secret, client: t.connect({ certificate: joined.tlsCertificate, privateKey: keys.tlsPrivateKey }) };
}

function lineOf(t: TestAuth, facts: AuditFacts, uid: string = randomUUID()): string {
  return JSON.stringify(makeAuditEvent(facts, { clusterName: "test", now: t.now(), uid }));
}

const session = { server_name: "web1", user: "alice", login: "root", sid: "s1" };

test("a host's event is kept once, however often it is sent, and survives a restart", async () => {
  await using t = await openTestAuth();
  const { id, client } = await joinedHost(t);
  const line = lineOf(t, { event: "session.start", ...session, server_id: id, interactive: true });
  await client.emitEvents({ eventsJson: [line, line] });
  await client.emitEvents({ eventsJson: [line] });
  await t.restart();
  expect(await t.events("session.start")).toEqual([JSON.parse(line)]);
});

test("an event of a newer host is kept without the fields that are unknown here, and so are the others beside it", async () => {
  await using t = await openTestAuth();
  const { id, client } = await joinedHost(t);
  const line = (more: object) =>
    JSON.stringify({ ...JSON.parse(lineOf(t, { event: "session.start", ...session, server_id: id, interactive: true })), ...more });
  const lines = [line({}), line({ secret: "hidden" }), line({ other: 7 })];
  await client.emitEvents({ eventsJson: lines });
  const kept = lines.map((text) => JSON.parse(text.replace(/,"(secret|other)":("hidden"|7)/, "")) as unknown);
  expect(await t.events("session.start")).toEqual(kept);
  expect(JSON.stringify(await t.events())).not.toMatch(/hidden/);
  const unknown = line({ event: "session.teleported" });
  await expect(client.emitEvents({ eventsJson: [unknown] })).rejects.toMatchObject({ code: "invalid" });
  await expect(client.emitEvents({ eventsJson: [line({ server_id: randomUUID(), secret: "x" })] })).rejects.toMatchObject({ code: "denied" });
});

test("a host reports its own sessions only, and none of the auth service's events", async () => {
  await using t = await openTestAuth();
  const { id, client } = await joinedHost(t);
  const refused: AuditFacts[] = [
    { event: "exec", ...session, server_id: randomUUID(), command: "id" },
    { event: "auth", error: "no server named" },
    { event: "user.login", user: "alice", success: true },
    { event: "instance.join", role: "node", server_id: id, server_name: "web1", success: true },
  ];
  for (const facts of refused) {
    await expect(client.emitEvents({ eventsJson: [lineOf(t, facts)] }), facts.event).rejects.toMatchObject({ code: "denied" });
  }
  await expect(client.emitEvents({ eventsJson: ["{}"] })).rejects.toMatchObject({ code: "invalid" });
  await expect(client.emitEvents({ eventsJson: ["x".repeat(70_000)] })).rejects.toMatchObject({ code: "invalid" });
});

test("events are listed by time, name and user, page by page", async () => {
  await using t = await openTestAuth();
  const { id, client } = await joinedHost(t);
  const begin = t.now().toISOString();
  for (let n = 0; n < 5; n += 1) {
    t.forward(1000);
    const facts: AuditFacts = { event: "exec", ...session, user: n % 2 === 0 ? "alice" : "bob", server_id: id, command: `echo ${n}` };
    await client.emitEvents({ eventsJson: [lineOf(t, facts)] });
  }
  const commands = async (query: Parameters<typeof t.admin.listEvents>[0]) => {
    const page = await t.admin.listEvents({ events: ["exec"], ...query });
    return { got: page.eventsJson.map((line) => (JSON.parse(line) as { command: string }).command), cursor: page.cursor };
  };
  const first = await commands({ limit: 2 });
  expect(first.got).toEqual(["echo 0", "echo 1"]);
  const second = await commands({ limit: 2, cursor: first.cursor });
  expect(second.got).toEqual(["echo 2", "echo 3"]);
  expect(await commands({ limit: 2, cursor: second.cursor })).toEqual({ got: ["echo 4"], cursor: "" });
  expect((await commands({ user: "bob" })).got).toEqual(["echo 1", "echo 3"]);
  const third = new Date(Date.parse(begin) + 3000).toISOString();
  expect((await commands({ from: third })).got).toEqual(["echo 2", "echo 3", "echo 4"]);
  expect((await commands({ to: third })).got).toEqual(["echo 0", "echo 1"]);
  await expect(t.admin.listEvents({ from: "yesterday" })).rejects.toMatchObject({ code: "invalid" });
  await expect(t.admin.listEvents({ cursor: "1; DROP TABLE events" })).rejects.toMatchObject({ code: "invalid" });
});

test("a reader begins at the newest, and goes on where it was: nothing twice, nothing left out", async () => {
  await using t = await openTestAuth();
  const { id, client } = await joinedHost(t);
  const emit = async (n: number): Promise<void> => {
    const facts: AuditFacts = { event: "exec", ...session, user: n % 2 === 0 ? "alice" : "bob", server_id: id, command: `echo ${n}` };
    await client.emitEvents({ eventsJson: [lineOf(t, facts)] });
  };
  const ask = async (query: { cursor?: string; newest?: number; user?: string }) => {
    const page = await t.admin.listEvents({ events: ["exec"], limit: 3, ...query } as Parameters<typeof t.admin.listEvents>[0]);
    return { ...page, got: page.eventsJson.map((line) => (JSON.parse(line) as { command: string }).command) };
  };
  expect(await ask({ newest: 2 })).toMatchObject({ got: [], cursor: "" });
  for (let n = 0; n < 5; n += 1) await emit(n);
  const newest = await ask({ newest: 2 });
  expect(newest).toMatchObject({ got: ["echo 3", "echo 4"], cursor: "" });
  expect((await ask({ newest: 99 })).got).toEqual(["echo 0", "echo 1", "echo 2"]);
  expect((await ask({ newest: 1, user: "bob" })).got).toEqual(["echo 3"]);
  const quiet = await ask({ cursor: newest.resume });
  expect(quiet).toMatchObject({ got: [], cursor: "", resume: newest.resume });
  await emit(5);
  await t.restart();
  expect(await ask({ cursor: quiet.resume })).toMatchObject({ got: ["echo 5"], cursor: "" });
  // What does not match is passed over for good.
  const passed = await ask({ cursor: quiet.resume, user: "nobody" });
  expect(await ask({ cursor: passed.resume })).toMatchObject({ got: [] });
});

test("one call of an agent that only counts bytes is taken, however small its events are", async () => {
  await using t = await openTestAuth();
  const { id, client } = await joinedHost(t);
  const facts: AuditFacts = { event: "exec", ...session, server_id: id, command: "x" };
  const eventsJson = Array.from({ length: Math.floor(500_000 / lineOf(t, facts).length) }, () => lineOf(t, facts));
  expect(eventsJson.length).toBeGreaterThan(1_000);
  await client.emitEvents({ eventsJson });
  await expect(client.emitEvents({ eventsJson: [...eventsJson, ...eventsJson] })).rejects.toMatchObject({ code: "limit" });
});

test("a page ends before it is too large for one answer", async () => {
  await using t = await openTestAuth();
  const { id, client } = await joinedHost(t);
  const facts: AuditFacts = { event: "exec", ...session, server_id: id, command: "x".repeat(16_000) };
  for (let call = 0; call < 3; call += 1) await client.emitEvents({ eventsJson: Array.from({ length: 40 }, () => lineOf(t, facts)) });
  const first = await t.admin.listEvents({ events: ["exec"] });
  expect(first.eventsJson.length).toBeLessThan(70);
  const second = await t.admin.listEvents({ events: ["exec"], cursor: first.cursor });
  expect(first.eventsJson.length + second.eventsJson.length).toBe(120);
});

test("the file itself refuses changes to events", async () => {
  await using t = await openTestAuth();
  await joinedHost(t);
  await t.auth.close();
  const database = new DatabaseSync(join(t.dataDir, "auth", "audit.sqlite"));
  expect(() => database.exec("UPDATE events SET json = '{}'")).toThrow(/never changed/);
  expect(() => database.exec("DELETE FROM events")).toThrow(/never deleted/);
  database.close();
});

test("no secret reaches an event, a log line or a stored file in the clear", async () => {
  await using t = await openTestAuth();
  const alice = await addUser(t, "alice", { roles: ["editor"] });
  const { secret, client: host } = await joinedHost(t);
  const given = "an-admin-chose-this-secret";
  await t.admin.createToken({ roles: ["proxy"], secret: given });
  const code = codeAt(alice.otpauthUri, t.now());
  const wrong = { user: alice.password, password: "not the pass phrase", code: "123456", ...publicKeys(generateKeys()) };
  await expect(t.connect().login(wrong)).rejects.toThrow();
  await expect(t.connect().login({ ...wrong, user: "alice", code })).rejects.toThrow();
  await expect(t.connect().join({ token: "unknown-but-secret-token", role: "node", hostname: "x", ...publicKeys(generateKeys()) })).rejects.toThrow();
  await (await loggedIn(t, alice)).listResources({ kind: "token" });
  await host.getAccess({});
  const totpSecret = new URL(alice.otpauthUri).searchParams.get("secret") ?? "";
  const secrets = [alice.password, alice.inviteToken, secret, given, wrong.password, "unknown-but-secret-token"];
  const shown = [...t.logLines, ...(await t.events()).map((event) => JSON.stringify(event))].join("\n");
  for (const text of [...secrets, totpSecret, "PRIVATE KEY"]) expect(shown).not.toContain(text);
  const { resources } = await t.admin.listResources({ kind: "token" });
  for (const text of secrets) expect(JSON.stringify(resources.map(({ json }) => json))).not.toContain(text);
  await t.auth.close();
  for (const file of ["state.sqlite", "audit.sqlite"]) {
    const bytes = readFileSync(join(t.dataDir, "auth", file));
    for (const text of secrets) expect(bytes.includes(text), `${file} holds ${text}`).toBe(false);
  }
});
