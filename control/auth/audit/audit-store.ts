import type { DatabaseSync } from "node:sqlite";
import type { AuditEvent } from "../../../core/audit/audit-events.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { guarded, openDatabase } from "../../storage/open-database.ts";
import { WalSync } from "../../storage/wal-sync.ts";
import { type AuditPage, type AuditQuery, parseCursor, type ReadOptions, readEvents } from "./read-events.ts";

/** Append only: SQLite itself refuses to change or delete a row, for every program that opens the file with it. */
const schema = `
CREATE TABLE events (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, uid TEXT NOT NULL UNIQUE, time TEXT NOT NULL, event TEXT NOT NULL, user TEXT, json TEXT NOT NULL) STRICT;
CREATE INDEX events_time ON events (time);
CREATE TRIGGER events_no_update BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'audit events are never changed'); END;
CREATE TRIGGER events_no_delete BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'audit events are never deleted'); END`;

/**
 * Additions to the first schema; the version before ignores them. Events are deleted only below `kept`, which
 * retention raises; `days` holds the first event that arrived on a day, independent of any host's clock.
 */
const additions = `
CREATE TABLE days (day TEXT PRIMARY KEY, first_seq INTEGER NOT NULL) STRICT;
CREATE TABLE kept (one INTEGER PRIMARY KEY CHECK (one = 1), from_seq INTEGER NOT NULL) STRICT;
INSERT INTO kept VALUES (1, 0);
CREATE TABLE shipped (destination TEXT PRIMARY KEY, seq INTEGER NOT NULL) STRICT;
DROP TRIGGER events_no_delete;
CREATE TRIGGER events_no_delete BEFORE DELETE ON events WHEN OLD.seq >= (SELECT from_seq FROM kept)
  BEGIN SELECT RAISE(ABORT, 'audit events are never deleted before their time'); END;`;

export interface AuditStore {
  /** Durable when it returns; an event with a known uid is skipped. Atomic. */
  append(events: readonly AuditEvent[]): void;
  /** The same; the process does other things while the disk works. Durable when it resolves. */
  appendSoon(events: readonly AuditEvent[]): Promise<void>;
  /** Other work goes on meanwhile. Throws `unavailable` at the signal, `limit` when too many long searches wait. */
  list(query: AuditQuery, options?: Pick<ReadOptions, "signal" | "longSearches">): Promise<AuditPage>;
  /** The cursor up to which a destination has all events; undefined: none yet. */
  shipped(destination: string): string | undefined;
  /** Durable when it returns. */
  markShipped(destination: string, cursor: string): void;
  /** Deletes a batch of events that arrived before this day. Returns their number; 0: none are left. */
  forget(before: Date): number;
  close(): void;
}

/** Number of events deleted at once: all other work waits for it. */
const forgetAtOnce = 500;

/** `onFull`: called when the disk is full; true: it freed some space. */
export function openAuditStore(path: string, now: () => Date = () => new Date(), onFull?: () => boolean): AuditStore {
  const database = openDatabase({ path, applicationId: 0x41554454, migrations: [schema] });
  guarded(path, () => addLater(database));
  const sync = new WalSync({ database, path });
  let today = "";
  const insert = database.prepare("INSERT INTO events (uid, time, event, user, json) VALUES (?, ?, ?, ?, ?) ON CONFLICT (uid) DO NOTHING");
  const append = (events: readonly AuditEvent[]): void => {
    database.exec("BEGIN IMMEDIATE");
    try {
      today = keepDay(database, dayOf(now()), today);
      for (const event of events) {
        const user = "user" in event ? (event.user ?? null) : null;
        insert.run(event.uid, new Date(event.time).toISOString(), event.event, user, JSON.stringify(event));
      }
      database.exec("COMMIT");
    } catch (thrown) {
      if (database.isTransaction) database.exec("ROLLBACK");
      today = "";
      throw thrown;
    }
  };
  const open = (): void => {
    if (!database.isOpen) throw new PlatformError("unavailable", "the audit log is closed");
  };
  return {
    append: (events) => {
      open();
      guarded(path, () => append(events), onFull);
    },
    appendSoon: async (events) => {
      open();
      await sync.run(() => guarded(path, () => append(events), onFull));
    },
    list: async (query, options) => {
      const read = <T>(work: (from: DatabaseSync) => T): T => {
        open();
        return guarded(path, () => work(database));
      };
      return await readEvents(query, { ...options, read });
    },
    shipped: (destination) => {
      open();
      const row = guarded(path, () => database.prepare("SELECT seq FROM shipped WHERE destination = ?").get(destination));
      return row === undefined ? undefined : String(row.seq);
    },
    markShipped: (destination, cursor) => {
      open();
      const sql = "INSERT INTO shipped VALUES (?, ?) ON CONFLICT (destination) DO UPDATE SET seq = max(seq, excluded.seq)";
      guarded(path, () => database.prepare(sql).run(destination, parseCursor(cursor)));
    },
    forget: (before) => {
      open();
      return guarded(path, () => forget(database, dayOf(before)));
    },
    close: () => {
      if (database.isOpen) database.close();
      void sync.close();
    },
  };
}

function addLater(database: DatabaseSync): void {
  database.exec("BEGIN IMMEDIATE");
  try {
    const known = database.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'kept'").get();
    if (known === undefined) database.exec(additions);
    database.exec("COMMIT");
  } catch (thrown) {
    if (database.isTransaction) database.exec("ROLLBACK");
    throw thrown;
  }
}

function dayOf(time: Date): string {
  return time.toISOString().slice(0, 10);
}

function keepDay(database: DatabaseSync, day: string, known: string): string {
  if (day === known) return known;
  database.prepare("INSERT INTO days SELECT ?, coalesce(max(seq), 0) + 1 FROM events WHERE true ON CONFLICT (day) DO NOTHING").run(day);
  return day;
}

function forget(database: DatabaseSync, before: string): number {
  const first = database.prepare("SELECT min(first_seq) AS seq FROM days WHERE day >= ?").get(before)?.seq;
  if (typeof first !== "number") return 0;
  database.prepare("UPDATE kept SET from_seq = ? WHERE from_seq < ?").run(first, first);
  database.prepare("DELETE FROM days WHERE day < ?").run(before);
  const sql = `DELETE FROM events WHERE seq IN (SELECT seq FROM events WHERE seq < ? ORDER BY seq LIMIT ${forgetAtOnce})`;
  return Number(database.prepare(sql).run(first).changes);
}
