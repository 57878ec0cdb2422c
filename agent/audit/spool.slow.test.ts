import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFile, mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { eventsInCall } from "../../core/audit/events-in-call.ts";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { silentLog } from "../../core/log/log.ts";
import { startOf } from "../../core/processes/start-of.ts";
import { segmentEvents } from "./segment-writer.ts";
import { openSpool, type Spool } from "./spool.ts";
import { segmentName } from "./spool-segments.ts";
import { inCalls, uploadEvents, uploadNext } from "./upload.ts";

let folder: string;
const opened: Spool[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "platform-spool-"));
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((spool) => spool.close()));
  await rm(folder, { recursive: true });
});

async function open(maxBytes?: number): Promise<Spool> {
  const spool = await openSpool({ folder, clusterName: "example", log: silentLog, ...(maxBytes && { maxBytes }) });
  opened.push(spool);
  return spool;
}
const owner = { service: "db", user: "ann" } as const;
const refusal = (error: string) => ({ event: "auth", error }) as const;
const errors = (events: readonly string[]): string[] => events.map((line) => (JSON.parse(line) as { error: string }).error);

async function uploadAll(spool: Spool): Promise<string[]> {
  const sent: string[] = [];
  const send = async (events: readonly string[]): Promise<void> => void sent.push(...events);
  while (await uploadNext({ spool, send, log: silentLog }));
  return sent;
}

test("events are sent in order, once, and then forgotten", async () => {
  const spool = await open();
  await Promise.all(Array.from({ length: 600 }, (_, index) => spool.record(refusal(String(index)))));
  expect(errors(await uploadAll(spool))).toEqual(Array.from({ length: 600 }, (_, index) => String(index)));
  expect(await uploadAll(spool)).toEqual([]);
  expect(await readdir(folder)).toEqual([]);
});

test("recording goes on while batches are taken", async () => {
  const spool = await open();
  const recorded = Promise.all(Array.from({ length: 200 }, (_, index) => spool.record(refusal(String(index)))));
  const sent = [...(await uploadAll(spool))];
  await recorded;
  sent.push(...(await uploadAll(spool)));
  expect(errors(sent)).toEqual(Array.from({ length: 200 }, (_, index) => String(index)));
});

test("after a crash everything but the torn last line is sent again", async () => {
  const before = await open();
  await before.record(refusal("one"));
  await before.record(refusal("two"));
  const [name] = await readdir(folder);
  await appendFile(join(folder, name as string), '{"event":"auth","err');
  const after = await open();
  await after.record(refusal("three"));
  expect(errors(await uploadAll(after))).toEqual(["one", "two", "three"]);
});

test("what a failed write has left of a line in this process's own segment is not sent", async () => {
  const spool = await open();
  await spool.record(refusal("one"));
  const [name] = await readdir(folder);
  await appendFile(join(folder, name as string), '{"event":"auth","err');
  expect(errors(await uploadAll(spool))).toEqual(["one"]);
});

test("an event keeps its uid when it is sent again", async () => {
  const spool = await open();
  await spool.record(refusal("one"));
  const first = await spool.next();
  expect((await (await open()).next())?.events).toEqual(first?.events);
});

test("uids follow the time of their events: events that arrive together are neighbours in the store's index", async () => {
  let time = Date.parse("2026-01-02T03:04:05.678Z");
  const now = (): Date => {
    time += 1;
    return new Date(time);
  };
  const spool = await openSpool({ folder, clusterName: "example", log: silentLog, now });
  opened.push(spool);
  for (let index = 0; index < 20; index += 1) await spool.record(refusal(String(index)));
  const uids = (await uploadAll(spool)).map((line) => (JSON.parse(line) as { uid: string }).uid);
  expect(uids.toSorted()).toEqual(uids);
});

test("a full spool refuses events, logs it, and accepts them again once it is emptied", async () => {
  const spool = await open(600);
  await spool.record(refusal("a"));
  await spool.record(refusal("b"));
  await expect(spool.record(refusal("x".repeat(400)))).rejects.toMatchObject({ code: "limit" });
  await uploadAll(spool);
  await spool.record(refusal("c"));
  expect(errors(await uploadAll(spool))).toEqual(["c"]);
});

test("a file that is not a segment is left alone", async () => {
  await writeFile(join(folder, "notes.txt"), "mine");
  expect(await uploadAll(await open())).toEqual([]);
  expect(await readdir(folder)).toEqual(["notes.txt"]);
});

test("a batch that could not be sent stays", async () => {
  const spool = await open();
  await spool.record(refusal("one"));
  const send = () => Promise.reject(new PlatformError("unavailable", "no tunnel"));
  await expect(uploadNext({ spool, send, log: silentLog })).rejects.toMatchObject({ code: "unavailable" });
  expect(errors(await uploadAll(spool))).toEqual(["one"]);
});

test("one event that is refused for good does not hold up the others", async () => {
  const spool = await open();
  await Promise.all(["one", "bad", "two"].map((text) => spool.record(refusal(text))));
  const sent: string[] = [];
  const send = async (events: readonly string[]): Promise<void> => {
    if (events.some((event) => event.includes('"bad"'))) throw new PlatformError("invalid", "not understood");
    sent.push(...events);
  };
  expect(await uploadNext({ spool, send, log: silentLog })).toBe(true);
  expect(errors(sent)).toEqual(["one", "two"]);
  expect(await readdir(folder)).toEqual([]);
});

test.for(["denied", "unsupported"] as const)("one event that is %s does not hold up the others for ever", async (code) => {
  const spool = await open();
  for (const error of ["good", "bad", "fine"]) await spool.record(refusal(error));
  const taken: string[] = [];
  const send = async (events: readonly string[]): Promise<void> => {
    if (events.some((event) => event.includes('"bad"'))) throw new PlatformError(code, "not of this host");
    taken.push(...events);
  };
  await uploadNext({ spool, send, log: silentLog });
  expect(taken.map((event) => (JSON.parse(event) as { error: string }).error)).toEqual(["good", "fine"]);
  expect(await spool.next()).toBeUndefined();
});

test("an auth service of the version before gets an event that it has refused again, without what is newer", async () => {
  const spool = await open();
  const session = { server_id: "s", server_name: "apps-1", user: "alice", sid: "1", app_name: "pg" };
  await spool.record({ event: "app.session.start", ...session, app_target_port: 5432, roles: ["access"], traits: {} });
  await spool.record(refusal("fine"));
  await spool.record({ event: "app.session.end", ...session, session_start: "2026-01-02T03:04:05Z", bytes_transmitted: 1, bytes_received: 2 });
  const taken: Record<string, unknown>[] = [];
  const send = async (events: readonly string[]): Promise<void> => {
    if (events.some((event) => /app_target_port|"roles"|"traits"/.test(event))) throw new PlatformError("invalid", "an unknown field");
    taken.push(...events.map((event) => JSON.parse(event) as Record<string, unknown>));
  };
  await uploadNext({ spool, send, log: silentLog });
  expect(taken).toMatchObject([{ event: "app.session.start", ...session }, { error: "fine" }, { event: "app.session.end", ...session }]);
  expect(await spool.next()).toBeUndefined();
});

test("while the disk takes nothing, what is to happen is refused, and what has happened waits in memory", async () => {
  const spool = await open();
  await rm(folder, { recursive: true });
  await spool.record(refusal("past"), { isPast: true });
  await expect(spool.record(refusal("new"))).rejects.toMatchObject({ code: "unavailable" });
  await mkdir(folder);
  await spool.record(refusal("later"));
  await spool.close();
  expect(errors(await uploadAll(spool))).toEqual(["later", "past"]);
});

test("a host that is denied keeps its events until it is let in again", async () => {
  const spool = await open();
  await spool.record(refusal("kept"));
  const send = async (): Promise<void> => {
    throw new PlatformError("denied", "this host was removed");
  };
  await expect(uploadNext({ spool, send, log: silentLog })).rejects.toThrow("removed");
  expect((await spool.next())?.events).toHaveLength(1);
});

test("calls stay below what the auth service takes, and no event is lost between them", () => {
  const events = Array.from({ length: 40 }, (_, index) => String(index % 10).repeat(60_000));
  const calls = inCalls(events);
  expect(calls.flat()).toEqual(events);
  expect(Math.max(...calls.map((call) => call.join("").length))).toBeLessThanOrEqual(500_000);
  expect(inCalls([])).toEqual([]);
  // Agents of earlier builds have left larger segments.
  expect(inCalls(Array.from({ length: 511 }, () => "{}")).map(({ length }) => length)).toEqual([eventsInCall, 11]);
});

test("each segment goes in one call: what does not fit into it begins the next one", async () => {
  const spool = await open();
  const record = async (count: number): Promise<void> =>
    void (await Promise.all(Array.from({ length: count }, (_one, index) => spool.record(refusal(String(index))))));
  // One fewer than closes a segment, and then as many as one write takes.
  await record(segmentEvents - 1);
  await record(segmentEvents);
  await spool.close();
  const sizes: number[] = [];
  const send = async (events: readonly string[]): Promise<void> => void sizes.push(events.length);
  while (await uploadNext({ spool, send, log: silentLog }));
  expect(sizes).toEqual([segmentEvents, segmentEvents - 1]);
});

test("a segment that another process still writes is left to it, and is sent here once that process has ended", async () => {
  const other = spawn("sleep", ["600"]);
  const name = segmentName(7, { pid: other.pid as number, start: (await startOf(other.pid as number)) as string });
  await writeFile(join(folder, name), '{"event":"auth","error":"of the other"}\n');
  const spool = await open();
  expect(await spool.adopt()).toBe(false);
  expect(await uploadAll(spool)).toEqual([]);
  other.kill("SIGKILL");
  await once(other, "close");
  expect(await spool.adopt()).toBe(true);
  await spool.record(refusal("own"));
  expect(errors(await uploadAll(spool))).toEqual(["of the other", "own"]);
  expect(await readdir(folder)).toEqual([]);
});

test("this process's own segment is not a leftover, and a segment taken by another process is not an error", async () => {
  const spool = await open();
  await writeFile(join(folder, "000000000001.jsonl"), '{"event":"auth","error":"old"}\n');
  await spool.record(refusal("own"));
  expect(await spool.adopt()).toBe(true);
  await rm(join(folder, "000000000001.jsonl"));
  expect(errors(await uploadAll(spool))).toEqual(["own"]);
});

test("an event recorded soon after another goes in the same call, and nothing waits for more", async () => {
  const spool = await open();
  const calls: string[][] = [];
  const stop = new AbortController();
  let sent = Promise.withResolvers<void>();
  const send = async (events: readonly string[]): Promise<void> => {
    calls.push(errors(events));
    sent.resolve();
  };
  const uploading = uploadEvents({ spool, send, log: silentLog, gatherMs: 400 }, stop.signal);
  for (const error of ["start", "exec", "end"]) await spool.record(refusal(error));
  await sent.promise;
  sent = Promise.withResolvers<void>();
  await spool.record(refusal("alone"));
  await sent.promise;
  expect(calls).toEqual([["start", "exec", "end"], ["alone"]]);
  stop.abort();
  await uploading;
  await spool.close();
});

test("an event recorded at the moment when the one before is safe does not wait for another", async () => {
  const spool = await open();
  await spool.record(refusal("first"));
  const order: string[] = [];
  const record = async (error: string): Promise<void> => {
    await spool.record(refusal(error));
    order.push(error);
  };
  for (const error of ["a", "b", "c"]) await record(error);
  expect(order).toEqual(["a", "b", "c"]);
  await spool.close();
});

test("events with patience go together, and with one that has none", async () => {
  const spool = await open();
  const order: string[] = [];
  const record = async (error: string, patienceMs?: number): Promise<void> => {
    await spool.record(refusal(error), patienceMs === undefined ? {} : { mass: { owner, patienceMs } });
    order.push(error);
  };
  const patient = [record("a", 60_000), record("b", 60_000)];
  await record("now");
  await Promise.all(patient);
  expect(order.toSorted()).toEqual(["a", "b", "now"]);
  await record("alone", 5);
  const last = record("at the end", 60_000);
  expect(errors(await uploadAll(spool))).toEqual(["a", "b", "now", "alone"]);
  await spool.close();
  await last;
});

test("events with patience leave a quarter of the spool to others, and wait until a batch has left", async () => {
  const spool = await open(100_000);
  let stored = 0;
  const masses = Array.from({ length: 400 }, async () => {
    await spool.record(refusal("x".repeat(400)), { mass: { owner, patienceMs: 1 } });
    stored += 1;
  });
  await expect.poll(async () => (await readdir(folder)).length).toBeGreaterThan(0);
  await spool.record(refusal("somebody logs in"));
  while (stored < masses.length) {
    const batch = await spool.next();
    if (batch !== undefined) await spool.remove(batch);
    else await new Promise(setImmediate);
  }
  await Promise.all(masses);
  await spool.close();
});
