import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { AuditEvent } from "../../../core/resources/audit-event.ts";
import { guarded } from "../../storage/database-error.ts";
import { openDatabase } from "../../storage/open-database.ts";

/** Append only: SQLite itself refuses to change or delete a row, whoever opens the file through it. */
const schema = `
CREATE TABLE events (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, uid TEXT NOT NULL UNIQUE, time TEXT NOT NULL, event TEXT NOT NULL, user TEXT, json TEXT NOT NULL) STRICT;
CREATE INDEX events_time ON events (time);
CREATE TRIGGER events_no_update BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'audit events are never changed'); END;
CREATE TRIGGER events_no_delete BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'audit events are never deleted'); END`;

export interface AuditQuery {
  readonly from?: Date | undefined;
  readonly to?: Date | undefined;
  readonly events?: readonly string[];
  readonly user?: string | undefined;
  /** 1 to 1,000. */
  readonly limit: number;
  readonly cursor?: string | undefined;
}

export interface AuditPage {
  /** JSON lines, oldest first. */
  readonly lines: readonly string[];
  /** For the next page; empty at the end. */
  readonly cursor: string;
}

export interface AuditStore {
  /** Durable when it returns; an event whose uid is known is left out. All or nothing. */
  append(events: readonly AuditEvent[]): void;
  list(query: AuditQuery): AuditPage;
  close(): void;
}

export function openAuditStore(path: string): AuditStore {
  const database = openDatabase({ path, applicationId: 0x41554454, migrations: [schema] });
  const insert = database.prepare("INSERT INTO events (uid, time, event, user, json) VALUES (?, ?, ?, ?, ?) ON CONFLICT (uid) DO NOTHING");
  const append = (events: readonly AuditEvent[]): void => {
    database.exec("BEGIN IMMEDIATE");
    try {
      for (const event of events) {
        const user = "user" in event ? (event.user ?? null) : null;
        insert.run(event.uid, new Date(event.time).toISOString(), event.event, user, JSON.stringify(event));
      }
      database.exec("COMMIT");
    } catch (thrown) {
      if (database.isTransaction) database.exec("ROLLBACK");
      throw thrown;
    }
  };
  const open = (): void => {
    if (!database.isOpen) throw new PlatformError("unavailable", "the audit log is closed");
  };
  return {
    append: (events) => {
      open();
      guarded(path, () => append(events));
    },
    list: (query) => {
      open();
      return guarded(path, () => select(database, query));
    },
    close: () => {
      if (database.isOpen) database.close();
    },
  };
}

function select(database: DatabaseSync, query: AuditQuery): AuditPage {
  const conditions: string[] = [];
  const values: SQLInputValue[] = [];
  const add = (condition: string, ...more: readonly SQLInputValue[]): void => {
    conditions.push(condition);
    values.push(...more);
  };
  if (query.cursor !== undefined) add("seq > ?", parseCursor(query.cursor));
  if (query.from !== undefined) add("time >= ?", query.from.toISOString());
  if (query.to !== undefined) add("time < ?", query.to.toISOString());
  if (query.user !== undefined) add("user = ?", query.user);
  const events = query.events ?? [];
  if (events.length > 0) add(`event IN (${events.map(() => "?").join(", ")})`, ...events);
  const where = conditions.length > 0 ? `WHERE ${conditions.join(" AND ")}` : "";
  const rows = database.prepare(`SELECT seq, json FROM events ${where} ORDER BY seq LIMIT ?`).all(...values, query.limit);
  const last = rows.length === query.limit ? rows.at(-1) : undefined;
  return { lines: rows.map((row) => String(row.json)), cursor: last === undefined ? "" : String(last.seq) };
}

function parseCursor(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new PlatformError("invalid", "the cursor is not from an earlier answer");
  return Number(text);
}
