import { expect, test } from "vitest";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { createLog, silentLog } from "../../core/log/log.ts";
import { AuditQueue } from "./audit-queue.ts";
import type { DatabaseEvent } from "./engine.ts";

const query = (text: string): DatabaseEvent => ({ event: "db.session.query", success: true, db_query: text });

/** Holds every event until the test lets it go. */
function gate() {
  const open: PromiseWithResolvers<void>[] = [];
  const seen: string[] = [];
  const record = (event: DatabaseEvent): Promise<void> => {
    seen.push(event.event === "db.session.query" ? event.db_query : event.event);
    const one = Promise.withResolvers<void>();
    open.push(one);
    return one.promise;
  };
  return { record, seen, open };
}

test("events go on in their order without waiting for each other; the end waits for all", async () => {
  const { record, seen, open } = gate();
  const queue = new AuditQueue({ record, log: silentLog });
  await queue.settled();
  expect(["a", "b", "c"].map((text) => queue.add(query(text)))).toEqual([undefined, undefined, undefined]);
  expect(seen).toEqual(["a", "b", "c"]);
  let isSettled = false;
  const settled = queue.settled().then(() => {
    isSettled = true;
  });
  open[0]?.resolve();
  open[2]?.resolve();
  await Promise.resolve();
  expect(isSettled).toBe(false);
  open[1]?.resolve();
  await settled;
});

test("with 256 events that are not safe the client waits, until half of them are", async () => {
  const { record, open } = gate();
  const queue = new AuditQueue({ record, log: silentLog });
  const answers = Array.from({ length: 256 }, () => queue.add(query("x")));
  expect(answers.slice(0, 255).every((one) => one === undefined)).toBe(true);
  let hasRoom = false;
  void answers[255]?.then(() => {
    hasRoom = true;
  });
  for (const one of open.slice(0, 128)) one.resolve();
  await new Promise(setImmediate);
  expect(hasRoom).toBe(false);
  open[128]?.resolve();
  await expect.poll(() => hasRoom).toBe(true);
  expect(queue.add(query("y"))).toBeUndefined();
});

const full = new PlatformError("limit", "this host cannot record sessions right now");

test("best_effort: an event that cannot be kept is logged without its text, and the session goes on", async () => {
  const lines: string[] = [];
  const log = createLog({ level: "error", format: "json", write: (line) => void lines.push(line) });
  const queue = new AuditQueue({ record: () => Promise.reject(full), log });
  expect(queue.add(query("select 'secret'"))).toBeUndefined();
  await queue.settled();
  expect(queue.add(query("again"))).toBeUndefined();
  await queue.settled();
  expect(lines).toHaveLength(2);
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({ event: "db.session.query", error: expect.stringContaining("cannot record") });
  expect(lines.join()).not.toContain("secret");
});

test("strict: the session is ended at once, by an event that nobody waits for, and takes no other one", async () => {
  const ends: PlatformError[] = [];
  const queue = new AuditQueue({ record: () => Promise.reject(full), log: silentLog, end: (why) => void ends.push(why) });
  void queue.add(query("a"));
  void queue.add(query("b"));
  await queue.settled();
  expect(ends).toMatchObject([{ code: "unavailable", message: expect.stringContaining("record_session: strict"), cause: full }]);
  await expect(queue.add(query("c"))).rejects.toBe(ends[0]);
  // An engine that does not wait for the answer does not end the process.
  void queue.add(query("d"));
  await new Promise(setImmediate);
});

test("strict: each event is waited for, with those before it, in whichever order they become safe", async () => {
  const { record, open } = gate();
  const queue = new AuditQueue({ record, log: silentLog, end: () => {} });
  let safe = 0;
  for (const text of ["a", "b"]) void queue.add(query(text))?.then(() => (safe += 1));
  open[1]?.resolve();
  await new Promise(setImmediate);
  expect(safe).toBe(0);
  open[0]?.resolve();
  await expect.poll(() => safe).toBe(2);
  void queue.add(query("c"))?.then(() => (safe += 1));
  await new Promise(setImmediate);
  expect(safe).toBe(2);
  open[2]?.resolve();
  await expect.poll(() => safe).toBe(3);
});

test("strict: a client that waits is woken by the failure", async () => {
  const { record, open } = gate();
  const ends: PlatformError[] = [];
  const queue = new AuditQueue({ record, log: silentLog, end: (why) => void ends.push(why) });
  const answers = ["a", "b"].map((text) => queue.add(query(text)));
  open[0]?.reject(full);
  for (const answer of answers) await expect(answer).rejects.toMatchObject({ code: "unavailable" });
  expect(ends).toHaveLength(1);
});

test("the end does not wait forever for a disk that does not answer", async () => {
  const lines: string[] = [];
  const log = createLog({ level: "error", format: "json", write: (line) => void lines.push(line) });
  const queue = new AuditQueue({ record: gate().record, log });
  void queue.add(query("x"));
  await queue.settled(10);
  expect(lines.join()).toContain("not safe yet");
});
