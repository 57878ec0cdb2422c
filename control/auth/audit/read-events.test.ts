import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { expect, test } from "vitest";
import { makeAuditEvent } from "../../../core/audit/audit-event.ts";
import { createQueue } from "../../../core/limits/queue.ts";
import { openAuditStore } from "./audit-store.ts";
import { type AuditPage, type AuditQuery, readEvents } from "./read-events.ts";

interface Row {
  readonly seq: number;
  readonly time: string;
  readonly event: string;
  readonly user: string | null;
}

const timeOf = (minute: number): Date => new Date(Date.UTC(2030, 0, 1, 0, minute));

function tableOf(rows: readonly Row[]): DatabaseSync {
  const database = new DatabaseSync(":memory:");
  database.exec("CREATE TABLE events (seq INTEGER PRIMARY KEY, time TEXT NOT NULL, event TEXT NOT NULL, user TEXT, json TEXT NOT NULL)");
  database.exec("CREATE INDEX events_time ON events (time)");
  const insert = database.prepare("INSERT INTO events VALUES (?, ?, ?, ?, ?)");
  for (const row of rows) insert.run(row.seq, row.time, row.event, row.user, JSON.stringify(row));
  return database;
}

/** What a page has, by its definition. */
function pageOf(rows: readonly Row[], { from, to, user, events = [], newest = 0, limit, cursor }: AuditQuery): AuditPage {
  const known = Math.max(0, ...rows.map(({ seq }) => seq));
  const matching = rows.filter(
    (row) =>
      (from === undefined || row.time >= from.toISOString()) &&
      (to === undefined || row.time < to.toISOString()) &&
      (user === undefined || row.user === user) &&
      (events.length === 0 || events.includes(row.event)),
  );
  const wanted = cursor === undefined ? matching.slice(newest === 0 ? 0 : -newest) : matching.filter(({ seq }) => seq > Number(cursor));
  const page = wanted.slice(0, limit);
  const last = String(page.at(-1)?.seq);
  const isFull = page.length === limit;
  const end = String(Math.max(known, Number(cursor ?? 0)));
  return { lines: page.map((row) => JSON.stringify(row)), cursor: isFull ? last : "", resume: isFull ? last : end };
}

const rowsAtWill = fc
  .record({
    first: fc.integer({ min: 1, max: 9 }),
    rows: fc.array(
      fc.record({ minute: fc.integer({ min: 0, max: 8 }), event: fc.constantFrom("exec", "auth"), user: fc.constantFrom("ann", "bob", null) }),
      { maxLength: 30 },
    ),
  })
  .map(({ first, rows }) => rows.map(({ minute, ...row }, at): Row => ({ seq: first + at, time: timeOf(minute).toISOString(), ...row })));

const minute = fc.option(fc.integer({ min: 0, max: 9 }).map(timeOf), { nil: undefined });
const queryAtWill = fc.record({
  from: minute,
  to: minute,
  user: fc.constantFrom("ann", "nobody", undefined),
  events: fc.constantFrom([], ["exec"], ["nothing"], ["exec", "auth"]),
  newest: fc.integer({ min: 0, max: 12 }),
  limit: fc.integer({ min: 1, max: 12 }),
  cursor: fc.option(fc.integer({ min: 0, max: 45 }).map(String), { nil: undefined }),
});

test("a page has the events that match, however few rows are read at once", async () => {
  await fc.assert(
    fc.asyncProperty(rowsAtWill, queryAtWill, fc.integer({ min: 1, max: 12 }), async (rows, query, rowsAtOnce) => {
      const database = tableOf(rows);
      const page = await readEvents(query, { read: (work) => work(database), rowsAtOnce, pause: () => Promise.resolve() });
      expect(page).toEqual(pageOf(rows, query));
      database.close();
    }),
  );
});

test("a page reads a few rows, however long its time and the log are", async () => {
  // An event each minute; some came twenty minutes late.
  const rows = Array.from({ length: 1_000 }, (_, at) => {
    const time = timeOf(at % 50 === 0 ? Math.max(0, at - 20) : at).toISOString();
    return { seq: at + 1, time, event: "exec", user: at % 100 === 7 ? "ann" : "bob" };
  });
  const database = tableOf(rows);
  /** Reads, of ten rows each at most, of each page. */
  const readsOf = async (query: Omit<AuditQuery, "limit" | "cursor">, limit = 10): Promise<number[]> => {
    const reads: number[] = [];
    for (let cursor: string | undefined; cursor !== ""; ) {
      let count = 0;
      const read = <T>(work: (from: DatabaseSync) => T): T => {
        count += 1;
        return work(database);
      };
      ({ cursor } = await readEvents({ ...query, limit, cursor }, { read, rowsAtOnce: 10, pause: () => Promise.resolve() }));
      reads.push(count);
    }
    return reads;
  };
  for (const query of [
    { from: timeOf(0), to: timeOf(1_000) },
    { to: timeOf(1_000) },
    { from: timeOf(0) },
    { from: timeOf(990) },
    { from: timeOf(500), to: timeOf(510) },
    { from: timeOf(100), to: timeOf(110), newest: 5 },
    { from: timeOf(0), to: timeOf(1_000), newest: 5 },
  ])
    expect(Math.max(...(await readsOf(query))), JSON.stringify(query)).toBeLessThan(10);
  // One row of a hundred: all pages together read the log, and its index, once.
  const sparse = await readsOf({ from: timeOf(0), to: timeOf(1_000), user: "ann" }, 1);
  expect(sparse).toHaveLength(11);
  expect(Math.max(...sparse)).toBeLessThan(30);
  database.close();
});

test("a search that finds nothing in a long log lets other work go on, and ends with its caller", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "platform-audit-"));
  const store = openAuditStore(join(folder.path, "audit.sqlite"));
  const facts = { event: "user.delete", user: "root", name: "ann" } as const;
  store.append(Array.from({ length: 25_000 }, () => makeAuditEvent(facts, { clusterName: "test", now: timeOf(0), uid: crypto.randomUUID() })));
  let [turns, isDone] = [0, false];
  const count = (): void => {
    turns += 1;
    if (!isDone) setImmediate(count);
  };
  count();
  expect((await store.list({ user: "nobody", newest: 1_000, limit: 1_000 })).lines).toEqual([]);
  expect(turns).toBeGreaterThanOrEqual(3);
  turns = 0;
  expect((await store.list({ user: "nobody", to: timeOf(1), limit: 1_000 })).lines).toEqual([]);
  expect(turns).toBeGreaterThanOrEqual(3);
  isDone = true;
  await expect(store.list({ user: "nobody", limit: 1_000 }, { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: "unavailable" });
  const searching = store.list({ user: "nobody", limit: 1_000 });
  store.close();
  await expect(searching).rejects.toMatchObject({ code: "unavailable" });
});

test("of searches that read more than their first rows one runs at a time, and one that is given up loses its place", async () => {
  const rows = Array.from({ length: 40 }, (_, at) => ({ seq: at + 1, time: timeOf(at).toISOString(), event: "exec", user: "bob" }));
  const database = tableOf(rows);
  const longSearches = createQueue({ atOnce: 1, waiting: 1, what: "long searches" });
  /** Names of the searches in the order in which they read. */
  const reads: string[] = [];
  const begun = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const search = async (name: string, { user = "nobody", signal }: { user?: string; signal?: AbortSignal } = {}): Promise<AuditPage> => {
    const read = <T>(work: (from: DatabaseSync) => T): T => {
      reads.push(name);
      return work(database);
    };
    const pause = async (): Promise<void> => {
      begun.resolve();
      await goOn.promise;
    };
    return await readEvents({ user, limit: 5 }, { read, signal, longSearches, rowsAtOnce: 10, pause });
  };
  const first = search("first");
  await begun.promise;
  const leaving = new AbortController();
  const second = search("second", { signal: leaving.signal });
  await expect(search("third")).rejects.toMatchObject({ code: "limit", message: expect.stringContaining("long searches") });
  // What the first rows answer does not wait.
  expect((await search("short", { user: "bob" })).lines).toHaveLength(5);
  leaving.abort();
  await expect(second).rejects.toMatchObject({ code: "unavailable", message: "the search was given up" });
  const fourth = search("fourth");
  reads.length = 0;
  goOn.resolve();
  expect((await Promise.all([first, fourth])).map(({ lines }) => lines)).toEqual([[], []]);
  expect(reads).toEqual([...Array.from({ length: 3 }, () => "first"), ...Array.from({ length: 3 }, () => "fourth")]);
  database.close();
});
