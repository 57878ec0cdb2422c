import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { Queue } from "../../../core/limits/queue.ts";

export interface AuditQuery {
  readonly from?: Date | undefined;
  readonly to?: Date | undefined;
  readonly events?: readonly string[];
  readonly user?: string | undefined;
  /** 1 to 1,000. */
  readonly limit: number;
  readonly cursor?: string | undefined;
  /** Number of newest matching events to start with, without a cursor; 0 or left out: start with the oldest. */
  readonly newest?: number;
}

export interface AuditPage {
  /** JSON lines, oldest first. */
  readonly lines: readonly string[];
  /** Cursor of the next page; empty at the end. */
  readonly cursor: string;
  /** A cursor that exists even at the end: every later event comes after it, and none of this page. */
  readonly resume: string;
}

/** Size after which a page ends early, bytes. */
const maxPageBytes = 1_000_000;
/** Rows that are read at once, some 10 ms: all other work waits for them. */
const usualRows = 10_000;

export interface ReadOptions {
  /** Runs reads of the database, one at a time. */
  readonly read: <T>(work: (database: DatabaseSync) => T) => T;
  readonly signal?: AbortSignal | undefined;
  /** Line in which a search takes its turn once it has read its first rows; left out: it goes on at once. */
  readonly longSearches?: Queue | undefined;
  readonly rowsAtOnce?: number | undefined;
  /** Other work of the process goes on. */
  readonly pause?: ((signal: AbortSignal | undefined) => Promise<unknown>) | undefined;
}

/**
 * A page of the audit log. Most filters have no index: however long the log is, other work goes on while it is read. Throws `unavailable` at the signal, and
 * what `longSearches` throws.
 */
export async function readEvents(query: AuditQuery, options: ReadOptions): Promise<AuditPage> {
  const { read, signal, rowsAtOnce = usualRows, pause = yieldOnce } = options;
  using place = placeIn(options.longSearches, signal);
  const after = query.cursor === undefined ? undefined : parseCursor(query.cursor);
  // Read first: events written meanwhile come after the page.
  const sql = "SELECT coalesce((SELECT min(seq) FROM events), 1) AS first, coalesce((SELECT max(seq) FROM events), 0) AS last";
  const ends = read((database) => database.prepare(sql).get());
  const known = Number(ends?.last);
  const goOn = async (): Promise<void> => {
    await place.turn();
    await pause(signal);
  };
  const access = { query, read, rowsAtOnce, pause: goOn };
  const search: Search = { ...access, condition: conditionOf(query), narrow: narrowing(access) };
  const range: Range = { from: Math.max(Number(ends?.first), (after ?? 0) + 1), to: known };
  const isNewest = after === undefined && query.newest !== undefined && query.newest > 0;
  const start = isNewest ? await newestFrom(search, range, query.newest) : range.from;
  const { lines, last, isMore } = await collect(search, { from: start, to: range.to });
  const resume = String(isMore ? last : Math.max(known, after ?? 0));
  return { lines, cursor: isMore ? resume : "", resume };
}

async function yieldOnce(signal: AbortSignal | undefined): Promise<void> {
  await setImmediate();
  if (signal?.aborted === true) throw givenUp(signal);
}

/** The error of a search whose caller has left. */
export function givenUp(signal: AbortSignal): PlatformError {
  return new PlatformError("unavailable", "the search was given up", { cause: signal.reason });
}

interface Place extends Disposable {
  /** Waits in the line at the first call; the turn lasts until the place is disposed of. */
  turn(): Promise<void>;
}

function placeIn(line: Queue | undefined, signal: AbortSignal | undefined): Place {
  const end = Promise.withResolvers<void>();
  const join = async (within: Queue): Promise<void> =>
    await new Promise((resolve, reject) => {
      const hold = async (): Promise<void> => {
        resolve();
        await end.promise;
      };
      within(hold, signal).catch((thrown: unknown) => reject(signal?.aborted === true ? givenUp(signal) : thrown));
    });
  let joined: Promise<void> | undefined;
  const turn = async (): Promise<void> => {
    joined ??= line === undefined ? Promise.resolve() : join(line);
    await joined;
  };
  return { turn, [Symbol.dispose]: () => end.resolve() };
}

interface Condition {
  readonly sql: string;
  readonly values: readonly SQLInputValue[];
}

interface Access {
  readonly query: AuditQuery;
  readonly read: ReadOptions["read"];
  readonly rowsAtOnce: number;
  readonly pause: () => Promise<unknown>;
}

interface Search extends Access {
  readonly condition: Condition;
  /** Called between two reads of rows, with the range that is still to be read. */
  readonly narrow: (range: Range) => Promise<Range>;
}

/** Numbers of events, both ends included; `from` above `to`: none. */
interface Range {
  readonly from: number;
  readonly to: number;
}

/**
 * Narrows a range to the events within the query's times, which have an index, unlike the other conditions. Each call reads a part of the index, and once all of it has
 * been read, ranges are narrowed. Rows are read in turn with it: a page that a few rows fill costs no more than these, and where only a short time is searched, or the
 * rest of a long log has nothing of it, the index ends first.
 */
function narrowing({ query: { from, to, cursor }, read, rowsAtOnce, pause }: Access): Search["narrow"] {
  const sql = `SELECT min(seq) AS first, max(seq) AS last, count(*) AS n, max(time) AS time FROM
    (SELECT time, seq FROM events WHERE (time, seq) > (?, ?) AND time < ? ORDER BY time, seq LIMIT ?)`;
  const keySql = "SELECT max(seq) AS seq FROM events WHERE time = ?";
  // After a cursor, `from` alone leaves nothing out that is not left out already.
  if (to === undefined && (from === undefined || cursor !== undefined)) return (range) => Promise.resolve(range);
  const upper = to?.toISOString() ?? "~";
  const found = { from: Number.POSITIVE_INFINITY, to: 0 };
  let key = { time: from?.toISOString() ?? "", seq: 0 };
  let isRead = false;
  const readPart = (database: DatabaseSync): void => {
    const row = database.prepare(sql).get(key.time, key.seq, upper, rowsAtOnce);
    const n = Number(row?.n);
    isRead = n < rowsAtOnce;
    if (n === 0) return;
    found.from = Math.min(found.from, Number(row?.first));
    found.to = Math.max(found.to, Number(row?.last));
    if (isRead) return;
    const time = String(row?.time);
    // Those of one and the same time were read at once at most.
    key = { time, seq: Number(database.prepare(keySql).get(time)?.seq) };
    found.to = Math.max(found.to, key.seq);
  };
  return async (range) => {
    if (!isRead) {
      read(readPart);
      await pause();
    }
    return isRead ? { from: Math.max(range.from, found.from), to: Math.min(range.to, found.to) } : range;
  };
}

/** Number of the first of the `newest` matching events; one after the range: there are none. */
async function newestFrom({ read, rowsAtOnce, pause, condition, narrow }: Search, range: Range, newest = 0): Promise<number> {
  const sql = `SELECT count(*) AS n, min(seq) AS first FROM (SELECT seq FROM events WHERE seq BETWEEN ? AND ? AND ${condition.sql} ORDER BY seq DESC LIMIT ?)`;
  let [missing, first] = [newest, range.to + 1];
  for (let { from, to } = range; from <= to; ) {
    const [low, high] = [Math.max(from, to - rowsAtOnce + 1), to];
    const row = read((database) => database.prepare(sql).get(low, high, ...condition.values, missing));
    if (Number(row?.n) > 0) first = Number(row?.first);
    missing -= Number(row?.n);
    if (missing === 0 || low === from) break;
    await pause();
    ({ from, to } = await narrow({ from, to: low - 1 }));
  }
  return first;
}

interface Collected {
  readonly lines: string[];
  /** Number of the last event in `lines`. */
  readonly last: number;
  /** The page is full: there may be more. */
  readonly isMore: boolean;
}

async function collect({ query: { limit }, read, rowsAtOnce, pause, condition, narrow }: Search, range: Range): Promise<Collected> {
  const sql = `SELECT seq, json FROM events WHERE seq BETWEEN ? AND ? AND ${condition.sql} ORDER BY seq LIMIT ?`;
  const lines: string[] = [];
  let [bytes, last] = [0, 0];
  /** Whether the page is full. */
  const readRows = (database: DatabaseSync, { from: low, to: high }: Range): boolean => {
    for (const row of database.prepare(sql).iterate(low, high, ...condition.values, limit - lines.length)) {
      const line = String(row.json);
      bytes += Buffer.byteLength(line);
      if (lines.length > 0 && bytes > maxPageBytes) return true;
      lines.push(line);
      last = Number(row.seq);
    }
    return lines.length === limit;
  };
  for (let { from, to } = range; from <= to; ) {
    const part = { from, to: Math.min(to, from + rowsAtOnce - 1) };
    if (read((database) => readRows(database, part))) return { lines, last, isMore: true };
    if (part.to === to) break;
    await pause();
    ({ from, to } = await narrow({ from: part.to + 1, to }));
  }
  return { lines, last, isMore: false };
}

/** Conditions on rows of a range of numbers; `+` keeps the index of times from being used instead of the range. */
function conditionOf(query: AuditQuery): Condition {
  const conditions = ["1"];
  const values: SQLInputValue[] = [];
  const add = (condition: string, ...more: readonly SQLInputValue[]): void => {
    conditions.push(condition);
    values.push(...more);
  };
  if (query.from !== undefined) add("+time >= ?", query.from.toISOString());
  if (query.to !== undefined) add("+time < ?", query.to.toISOString());
  if (query.user !== undefined) add("user = ?", query.user);
  const events = query.events ?? [];
  if (events.length > 0) add(`event IN (${events.map(() => "?").join(", ")})`, ...events);
  return { sql: conditions.join(" AND "), values };
}

/** Throws `invalid`. */
export function parseCursor(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new PlatformError("invalid", "the cursor is not from an earlier answer");
  return Number(text);
}
