import { randomBytes, randomUUID } from "node:crypto";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { AuthClient } from "../../../core/api/auth-client.ts";
import { encodeMember } from "../../../core/recording/member.ts";
import type { Recording } from "../../../core/resources/recording.ts";
import { addUser, type JoinedHost, joinHost, loggedIn, openTestAuth } from "../../../test/inside/open-auth.ts";

const factsOf = (host: JoinedHost, more: object = {}): string =>
  JSON.stringify({
    sid: randomUUID(),
    server_id: host.id,
    server_name: "web1",
    user: "alice",
    login: "root",
    started: "2026-01-02T03:04:05.000Z",
    ...more,
  });
const sidOf = (facts: string): string => (JSON.parse(facts) as { sid: string }).sid;
const end = JSON.stringify({ ended: "2026-01-02T03:05:00.000Z", interrupted: false });

async function readAll(client: AuthClient, sessionId: string): Promise<{ data: Buffer; recording: Recording }> {
  const parts: Uint8Array[] = [];
  let recording = "";
  for await (const part of client.readRecording({ sessionId })) {
    parts.push(part.data);
    recording += part.recordingJson;
  }
  return { data: Buffer.concat(parts), recording: JSON.parse(recording) as Recording };
}

test("a recording arrives in parts, which may be sent twice or overlap, and is read back whole", async () => {
  await using t = await openTestAuth();
  const host = await joinHost(t, "web1");
  const factsJson = factsOf(host);
  const bytes = randomBytes(1_000_000);
  const send = async (offset: number, to: number, endJson = "") =>
    (await host.client.uploadRecording({ factsJson, offset, data: bytes.subarray(offset, to), endJson })).size;
  expect(await send(0, 300_000)).toBe(300_000);
  expect(await send(0, 300_000)).toBe(300_000);
  expect(await send(500_000, 600_000)).toBe(300_000);
  expect(await send(200_000, 700_000)).toBe(700_000);
  expect((await readAll(t.admin, sidOf(factsJson))).recording).toMatchObject({ state: "running", bytes: 700_000 });
  await t.restart();
  expect(await send(700_000, 1_000_000, end)).toBe(1_000_000);
  expect(await send(700_000, 1_000_000, end)).toBe(1_000_000);
  const { data, recording } = await readAll(t.admin, sidOf(factsJson));
  expect(data.equals(bytes)).toBe(true);
  expect(recording).toMatchObject({ state: "complete", ended: "2026-01-02T03:05:00.000Z", user: "alice" });
  expect(await t.events("session.upload")).toMatchObject([{ code: "T2005I", bytes: 1_000_000, interrupted: false, sid: sidOf(factsJson) }]);
  const file = join(t.dataDir, "auth", "recordings", `${sidOf(factsJson)}.cast.gz`);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
});

test("what comes after the end changes nothing", async () => {
  await using t = await openTestAuth();
  const host = await joinHost(t, "web1");
  const factsJson = factsOf(host);
  await host.client.uploadRecording({ factsJson, offset: 0, data: Buffer.from("abc"), endJson: end });
  expect((await host.client.uploadRecording({ factsJson, offset: 3, data: Buffer.from("def") })).size).toBe(3);
  expect((await readAll(t.admin, sidOf(factsJson))).data.toString()).toBe("abc");
});

test("a format is stored with its recording, none is stated for asciicast, and an unknown one is refused", async () => {
  await using t = await openTestAuth();
  const host = await joinHost(t, "web1");
  const [stated, unstated, unknown] = [factsOf(host, { format: "asciicast" }), factsOf(host), factsOf(host, { format: "db-queries" })];
  for (const factsJson of [stated, unstated]) await host.client.uploadRecording({ factsJson, offset: 0, data: Buffer.from("abc"), endJson: end });
  const refused = host.client.uploadRecording({ factsJson: unknown, offset: 0, data: Buffer.from("abc"), endJson: end });
  await expect(refused).rejects.toMatchObject({ code: "invalid", message: 'this auth service does not support recordings of format "db-queries"' });
  expect((await readAll(t.admin, sidOf(stated))).recording.format).toBe("asciicast");
  // tctl and a control of the version before read it, and know no such field.
  expect((await readAll(t.admin, sidOf(unstated))).recording).not.toHaveProperty("format");
  await expect(readAll(t.admin, sidOf(unknown))).rejects.toMatchObject({ code: "not_found" });
});

test("a host may write its own recordings only", async () => {
  await using t = await openTestAuth();
  const [mine, other] = [await joinHost(t, "web1"), await joinHost(t, "web2")];
  const factsJson = factsOf(mine);
  await mine.client.uploadRecording({ factsJson, offset: 0, data: Buffer.from("abc") });
  const attempts = [factsJson, factsOf(mine), factsOf(other, { sid: sidOf(factsJson) })];
  for (const forged of attempts) {
    const call = other.client.uploadRecording({ factsJson: forged, offset: 3, data: Buffer.from("x") });
    await expect(call).rejects.toMatchObject({ code: "denied" });
  }
  await expect(t.auth.localClient("proxy").uploadRecording({ factsJson, offset: 3 })).rejects.toMatchObject({ code: "denied" });
  expect((await readAll(t.admin, sidOf(factsJson))).data.toString()).toBe("abc");
});

test.for(["../../etc/passwd", "x", "", "00000000-0000-0000-0000-00000000000g"])("%j is not a session", async (sid) => {
  await using t = await openTestAuth();
  const host = await joinHost(t, "web1");
  await expect(host.client.uploadRecording({ factsJson: factsOf(host, { sid }) })).rejects.toMatchObject({ code: "invalid" });
  await expect(readAll(t.admin, sid)).rejects.toMatchObject({ code: "not_found" });
});

test("users see their own recordings, who may read sessions sees all, and each look is audited", async () => {
  await using t = await openTestAuth();
  const host = await joinHost(t, "web1");
  const [ofAlice, ofBob] = [factsOf(host), factsOf(host, { user: "bob", started: "2026-01-03T00:00:00.000Z" })];
  for (const factsJson of [ofAlice, ofBob]) await host.client.uploadRecording({ factsJson, offset: 0, data: Buffer.from("abc"), endJson: end });
  const seen = async (client: AuthClient, user = "") =>
    (await client.listRecordings({ user })).recordingsJson.map((json) => (JSON.parse(json) as Recording).user);
  const alice = await loggedIn(t, await addUser(t, "alice", { roles: ["access"] }));
  const auditor = await loggedIn(t, await addUser(t, "eve", { roles: ["auditor"] }));
  expect([await seen(alice), await seen(alice, "bob"), await seen(auditor), await seen(auditor, "bob")]).toEqual([
    ["alice"],
    [],
    ["bob", "alice"],
    ["bob"],
  ]);
  await expect(seen(host.client)).rejects.toMatchObject({ code: "denied" });
  await expect(seen(t.connect())).rejects.toMatchObject({ code: "unauthenticated" });
  expect((await readAll(alice, sidOf(ofAlice))).data.toString()).toBe("abc");
  expect((await readAll(auditor, sidOf(ofBob))).data.toString()).toBe("abc");
  for (const sid of [sidOf(ofBob), randomUUID()]) await expect(readAll(alice, sid)).rejects.toMatchObject({ code: "denied" });
  await expect(readAll(host.client, sidOf(ofAlice))).rejects.toMatchObject({ code: "denied" });
  expect(await t.events("session.recording.access")).toMatchObject([
    { code: "T2012I", user: "alice", name: "alice", sid: sidOf(ofAlice) },
    { code: "T2012I", user: "eve", name: "bob", sid: sidOf(ofBob) },
  ]);
  expect(await t.events("access.denied")).toHaveLength(4);
});

test("the list comes in pages, the newest first", async () => {
  await using t = await openTestAuth();
  const host = await joinHost(t, "web1");
  const days = ["2026-01-01", "2026-01-02", "2026-01-02", "2026-01-03"];
  for (const day of days)
    await host.client.uploadRecording({ factsJson: factsOf(host, { started: `${day}T00:00:00.000Z` }), data: Buffer.from("x") });
  const found: string[] = [];
  let cursor = "";
  do {
    const page = await t.admin.listRecordings({ limit: 1, cursor });
    found.push(...page.recordingsJson.map((json) => (JSON.parse(json) as Recording).started.slice(0, 10)));
    cursor = page.cursor;
  } while (cursor !== "");
  expect(found).toEqual(days.toReversed());
  const { recordingsJson } = await t.admin.listRecordings({ from: "2026-01-02T00:00:00Z", to: "2026-01-03T00:00:00Z" });
  expect(recordingsJson).toHaveLength(2);
  await expect(t.admin.listRecordings({ cursor: "x" })).rejects.toMatchObject({ code: "invalid" });
});

test("a recording is read in parts, which are one view in the audit log, and its index has the same readers", async () => {
  await using t = await openTestAuth();
  const host = await joinHost(t, "web1");
  const factsJson = factsOf(host);
  const text = (line: string) => Buffer.from(line.padEnd(300_000));
  const members = [encodeMember(text('{"version":2}\n'), 0), encodeMember(text('[7.5,"o","x"]\n'), 1)];
  const bytes = Buffer.concat(members);
  await host.client.uploadRecording({ factsJson, offset: 0, data: bytes, endJson: end });
  const sessionId = sidOf(factsJson);
  const alice = await loggedIn(t, await addUser(t, "alice", { roles: ["access"] }));
  const bob = await loggedIn(t, await addUser(t, "bob", { roles: ["access"] }));
  const read = async (offset: number, length: number): Promise<Buffer> => {
    const parts: Uint8Array[] = [];
    for await (const { data } of alice.readRecording({ sessionId, offset, length })) parts.push(data);
    return Buffer.concat(parts);
  };
  expect((await read(100, 50)).equals(bytes.subarray(100, 150))).toBe(true);
  expect((await read(bytes.length - 5, 50)).equals(bytes.subarray(-5))).toBe(true);
  expect([(await read(bytes.length, 50)).length, (await read(4_000_000_000, 0)).length]).toEqual([0, 0]);
  expect(await t.events("session.recording.access")).toHaveLength(1);
  await read(0, 0);
  expect(await t.events("session.recording.access")).toHaveLength(2);
  const index = await alice.indexRecording({ sessionId });
  expect(index.points.map(({ offset, time, text: size }) => [offset, time, size])).toEqual([
    [0, 0, 300_000],
    [members[0]?.length, 7.5, 300_000],
  ]);
  for (const other of [bob, host.client]) {
    await expect(other.indexRecording({ sessionId })).rejects.toMatchObject({ code: "denied" });
    const part = other.readRecording({ sessionId, offset: 1, length: 1 })[Symbol.asyncIterator]();
    await expect(part.next()).rejects.toMatchObject({ code: "denied" });
  }
});

test("several recordings come in one call, each accepted or refused by itself", async () => {
  await using t = await openTestAuth();
  const [mine, other] = [await joinHost(t, "web1"), await joinHost(t, "web2")];
  const part = (factsJson: string) => ({ factsJson, offset: 0, data: Buffer.from("abc"), endJson: end });
  const ones = [factsOf(mine), factsOf(other), factsOf(mine)];
  const { recordings } = await mine.client.uploadRecordings({ parts: ones.map(part) });
  expect(recordings.map(({ size, code }) => [size, code])).toEqual([
    [3, ""],
    [0, "denied"],
    [3, ""],
  ]);
  expect((await t.events("session.upload")).length).toBe(2);
  const many = Array.from({ length: 65 }, () => part(factsOf(mine)));
  await expect(mine.client.uploadRecordings({ parts: many })).rejects.toMatchObject({ code: "limit" });
});
