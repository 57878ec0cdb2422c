import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import { PlatformError } from "../../../core/errors/platform-error.ts";

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
  readonly rowsAtOnce?: number | undefined;
  /** Other work of the process goes on. */
  readonly pause?: ((signal: AbortSignal | undefined) => Promise<unknown>) | undefined;
}

/** A page of the audit log. Most filters have no index: however long the log is, other work goes on while it is read. Throws `unavailable` at the signal. */
export async function readEvents(query: AuditQuery, { read, signal, rowsAtOnce = usualRows, pause = yieldOnce }: ReadOptions): Promise<AuditPage> {
  const after = query.cursor === undefined ? undefined : parseCursor(query.cursor);
  // Read first: events written meanwhile come after the page.
  const sql = "SELECT coalesce((SELECT min(seq) FROM events), 1) AS first, coalesce((SELECT max(seq) FROM events), 0) AS last";
  const ends = read((database) => database.prepare(sql).get());
  const known = Number(ends?.last);
  const search: Search = { query, read, rowsAtOnce, pause: async () => await pause(signal), condition: conditionOf(query) };
  const range = await withinTimes(search, { from: Math.max(Number(ends?.first), (after ?? 0) + 1), to: known });
  const isNewest = after === undefined && query.newest !== undefined && query.newest > 0;
  const start = isNewest ? await newestFrom(search, range, query.newest) : range.from;
  const { lines, last, isMore } = await collect(search, { from: start, to: range.to });
  const resume = String(isMore ? last : Math.max(known, after ?? 0));
  return { lines, cursor: isMore ? resume : "", resume };
}

async function yieldOnce(signal: AbortSignal | undefined): Promise<void> {
  await setImmediate();
  if (signal?.aborted === true) throw new PlatformError("unavailable", "the search was given up", { cause: signal.reason });
}

interface Condition {
  readonly sql: string;
  readonly values: readonly SQLInputValue[];
}

interface Search {
  readonly query: AuditQuery;
  readonly read: ReadOptions["read"];
  readonly rowsAtOnce: number;
  readonly pause: () => Promise<unknown>;
  readonly condition: Condition;
}

/** Numbers of events, both ends included; `from` above `to`: none. */
interface Range {
  readonly from: number;
  readonly to: number;
}

/** The range of the events within the query's times, which have an index, unlike the other conditions. */
async function withinTimes({ query: { from, to, cursor }, read, rowsAtOnce, pause }: Search, range: Range): Promise<Range> {
  if (to === undefined && (from === undefined || cursor !== undefined)) return range;
  const sql = `SELECT min(seq) AS first, max(seq) AS last, count(*) AS n, max(time) AS time FROM
    (SELECT time, seq FROM events WHERE (time, seq) > (?, ?) AND time < ? ORDER BY time, seq LIMIT ?)`;
  const keySql = "SELECT max(seq) AS seq FROM events WHERE time = ?";
  const [upper, found] = [to?.toISOString() ?? "~", { from: range.to + 1, to: 0 }];
  for (let key = { time: from?.toISOString() ?? "", seq: 0 }; ; ) {
    const row = read((database) => database.prepare(sql).get(key.time, key.seq, upper, rowsAtOnce));
    if (Number(row?.n) === 0) break;
    found.from = Math.min(found.from, Number(row?.first));
    found.to = Math.max(found.to, Number(row?.last));
    if (Number(row?.n) < rowsAtOnce) break;
    const time = String(row?.time);
    // Those of one and the same time were read at once at most.
    key = { time, seq: Number(read((database) => database.prepare(keySql).get(time))?.seq) };
    found.to = Math.max(found.to, key.seq);
    await pause();
  }
  return { from: Math.max(range.from, found.from), to: Math.min(range.to, found.to) };
}

/** Number of the first of the `newest` matching events; one after the range: there are none. */
async function newestFrom({ read, rowsAtOnce, pause, condition }: Search, range: Range, newest = 0): Promise<number> {
  const sql = `SELECT count(*) AS n, min(seq) AS first FROM (SELECT seq FROM events WHERE seq BETWEEN ? AND ? AND ${condition.sql} ORDER BY seq DESC LIMIT ?)`;
  let [missing, first] = [newest, range.to + 1];
  for (let high = range.to; high >= range.from && missing > 0; high -= rowsAtOnce) {
    if (high < range.to) await pause();
    const low = Math.max(range.from, high - rowsAtOnce + 1);
    const row = read((database) => database.prepare(sql).get(low, high, ...condition.values, missing));
    if (Number(row?.n) > 0) first = Number(row?.first);
    missing -= Number(row?.n);
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

async function collect({ query: { limit }, read, rowsAtOnce, pause, condition }: Search, range: Range): Promise<Collected> {
  const sql = `SELECT seq, json FROM events WHERE seq BETWEEN ? AND ? AND ${condition.sql} ORDER BY seq LIMIT ?`;
  const lines: string[] = [];
  let [bytes, last] = [0, 0];
  /** Whether the page is full. */
  const readRows = (database: DatabaseSync, low: number): boolean => {
    const high = Math.min(range.to, low + rowsAtOnce - 1);
    for (const row of database.prepare(sql).iterate(low, high, ...condition.values, limit - lines.length)) {
      const line = String(row.json);
      bytes += Buffer.byteLength(line);
      if (lines.length > 0 && bytes > maxPageBytes) return true;
      lines.push(line);
      last = Number(row.seq);
    }
    return lines.length === limit;
  };
  for (let low = range.from; low <= range.to; low += rowsAtOnce) {
    if (low > range.from) await pause();
    const from = low;
    if (read((database) => readRows(database, from))) return { lines, last, isMore: true };
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
