import type { SQLInputValue } from "node:sqlite";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { type Recording, type RecordingEnd, type RecordingFacts, recordingFactsSchema, recordingSchema } from "../../../core/resources/recording.ts";
import { guarded, openDatabase } from "../../storage/open-database.ts";
import { WalSync } from "../../storage/wal-sync.ts";

/** Facts of each recording; its bytes are in a separate file. */
const schema = `
CREATE TABLE recordings (
  sid TEXT PRIMARY KEY, started TEXT NOT NULL, user TEXT NOT NULL, facts TEXT NOT NULL, bytes INTEGER NOT NULL,
  state TEXT NOT NULL, ended TEXT) STRICT;
CREATE INDEX recordings_started ON recordings (started, sid)`;

/** Added to the first schema; the version before ignores it. A user's own list reads nobody else's recordings. */
const additions = "CREATE INDEX IF NOT EXISTS recordings_user ON recordings (user, started, sid)";

export interface RecordingQuery {
  readonly from?: Date | undefined;
  readonly to?: Date | undefined;
  readonly user?: string | undefined;
  /** 1 to 1,000. */
  readonly limit: number;
  readonly cursor?: string | undefined;
}

export interface RecordingStore {
  find(sid: string): Recording | undefined;
  /** What is durable of a recording from now on, in one transaction; `end` with its last part. Bytes never become fewer. Durable when it resolves. */
  keep(facts: RecordingFacts, durable: { readonly bytes: number; readonly end?: RecordingEnd | undefined }): Promise<void>;
  /** Newest first; `cursor` for the next page, empty at the end. */
  list(query: RecordingQuery): { readonly recordings: readonly Recording[]; readonly cursor: string };
  close(): void;
}

export function openRecordingStore(path: string): RecordingStore {
  const database = openDatabase({ path, applicationId: 0x52454331, migrations: [schema] });
  try {
    database.exec(additions);
  } catch {
    // Lists are slower without it. A full disk, which is the likely reason, must not keep the auth service from its start.
  }
  const sync = new WalSync({ database, path });
  const work = <T>(run: () => T): T => {
    if (!database.isOpen) throw new PlatformError("unavailable", "the recordings are closed");
    return guarded(path, run);
  };
  const rows = (where: string, ...values: readonly SQLInputValue[]) =>
    work(() => database.prepare(`SELECT facts, bytes, state, ended FROM recordings ${where}`).all(...values)).map(recordingOf);
  // Prepared once: a busy host sends many a second.
  const one = database.prepare("SELECT facts, bytes, state, ended FROM recordings WHERE sid = ?");
  const upsert = database.prepare(`INSERT INTO recordings (sid, started, user, facts, bytes, state, ended) VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (sid) DO UPDATE SET bytes = max(bytes, excluded.bytes), state = excluded.state, ended = excluded.ended`);
  const find = (sid: string): Recording | undefined => work(() => one.all(sid)).map(recordingOf)[0];
  return {
    find,
    keep: async (facts, { bytes, end }) => {
      const { sid, started, user } = facts;
      const state = end === undefined ? "running" : end.interrupted ? "interrupted" : "complete";
      const values = [sid, started, user, JSON.stringify(facts), bytes, state, end?.ended ?? null] as const;
      await sync.run(() => void work(() => upsert.run(...values)));
    },
    list: ({ from, to, user, limit, cursor }) => {
      const conditions: [sql: string, ...values: SQLInputValue[]][] = [];
      if (from !== undefined) conditions.push(["started >= ?", from.toISOString()]);
      if (to !== undefined) conditions.push(["started < ?", to.toISOString()]);
      if (user !== undefined) conditions.push(["user = ?", user]);
      if (cursor !== undefined) conditions.push(["(started, sid) < (?, ?)", ...parseCursor(cursor)]);
      const where = conditions.length > 0 ? `WHERE ${conditions.map(([sql]) => sql).join(" AND ")}` : "";
      const values = conditions.flatMap(([, ...rest]) => rest);
      const recordings = rows(`${where} ORDER BY started DESC, sid DESC LIMIT ?`, ...values, limit);
      const last = recordings.length === limit ? recordings.at(-1) : undefined;
      return { recordings, cursor: last === undefined ? "" : `${last.started} ${last.sid}` };
    },
    close: () => {
      if (database.isOpen) database.close();
      void sync.close();
    },
  };
}

function recordingOf({ facts, bytes, state, ended }: Readonly<Record<string, unknown>>): Recording {
  const known = recordingFactsSchema.parse(JSON.parse(String(facts)));
  return recordingSchema.parse({ ...known, bytes, state, ...(ended !== null && { ended }) });
}

function parseCursor(text: string): [started: string, sid: string] {
  const [, started, sid] = /^(\d{4}-\d\d-\d\dT[\d:.]+Z) ([0-9a-f-]{36})$/.exec(text) ?? [];
  if (started === undefined || sid === undefined) throw new PlatformError("invalid", "the cursor is not from an earlier answer");
  return [started, sid];
}
