import type { DatabaseSync, SQLOutputValue, StatementSync } from "node:sqlite";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { guarded, openDatabase } from "./open-database.ts";
import type { Change, Entry, Expectation, ListOptions, Put, Storage, Watch, Write } from "./storage.ts";
import { ChangeQueue, ForeignChanges } from "./watch-changes.ts";

export interface SqliteOptions {
  readonly path: string;
  readonly now?: () => Date;
  /** The file may not grow past this, bytes. */
  readonly maxBytes?: number;
  /** Called when the disk is full; true: some space is free now. */
  readonly onFull?: () => boolean;
}

const schema = `
CREATE TABLE entries (key TEXT PRIMARY KEY, value TEXT NOT NULL, revision INTEGER NOT NULL, expires INTEGER) WITHOUT ROWID, STRICT;
CREATE INDEX entries_expires ON entries (expires) WHERE expires IS NOT NULL;
CREATE TABLE counter (id INTEGER PRIMARY KEY CHECK (id = 1), revision INTEGER NOT NULL) STRICT;
INSERT INTO counter VALUES (1, 0)`;

const maxKey = 512;
const maxValue = 1_000_000;

interface Row {
  readonly key: string;
  readonly value: string;
  readonly revision: number;
  readonly expires: number | null;
}

/** Interval at which watches are notified of another process's writes, ms. */
const foreignMs = 500;

/** The embedded engine: one file, one process, or two during a handover. Throws PlatformError as `openDatabase` does. */
export function openSqlite(options: SqliteOptions): Storage {
  const database = openDatabase({
    path: options.path,
    applicationId: 0x504c4154,
    migrations: [schema],
    ...(options.maxBytes !== undefined && { maxBytes: options.maxBytes }),
  });
  return new SqliteStorage(database, options);
}

class SqliteStorage implements Storage {
  readonly #database: DatabaseSync;
  readonly #path: string;
  readonly #now: () => Date;
  readonly #onFull: (() => boolean) | undefined;
  readonly #queues = new Set<ChangeQueue>();
  readonly #foreign: ForeignChanges;
  #looking: NodeJS.Timeout | undefined;
  readonly #sql: Readonly<Record<"get" | "list" | "put" | "delete" | "next" | "expired" | "version", StatementSync>>;

  constructor(database: DatabaseSync, { path, now, onFull }: SqliteOptions) {
    this.#database = database;
    this.#path = path;
    this.#now = now ?? (() => new Date());
    this.#onFull = onFull;
    this.#sql = {
      get: database.prepare("SELECT * FROM entries WHERE key = ? AND (expires IS NULL OR expires > ?)"),
      list: database.prepare(
        "SELECT * FROM entries WHERE key >= ? AND key < ? AND key > ? AND (expires IS NULL OR expires > ?) ORDER BY key LIMIT ?",
      ),
      put: database.prepare("INSERT OR REPLACE INTO entries (key, value, revision, expires) VALUES (?, ?, ?, ?)"),
      delete: database.prepare("DELETE FROM entries WHERE key = ?"),
      next: database.prepare("UPDATE counter SET revision = revision + 1 RETURNING revision"),
      expired: database.prepare("DELETE FROM entries WHERE expires <= ? RETURNING key"),
      version: database.prepare("PRAGMA data_version"),
    };
    this.#foreign = new ForeignChanges({
      version: () => Number(this.#sql.version.get()?.data_version),
      list: (prefix) => this.#entries(prefix),
    });
  }

  async get(key: string): Promise<Entry | undefined> {
    return this.#work(() => this.#find(key));
  }

  async list(prefix: string, options: ListOptions = {}): Promise<readonly Entry[]> {
    return this.#work(() => this.#entries(prefix, options));
  }

  #entries(prefix: string, options: ListOptions = {}): readonly Entry[] {
    const rows = this.#sql.list.all(prefix, endOfPrefix(prefix), options.after ?? "", this.#now().getTime(), options.limit ?? -1);
    return rows.map((row) => entryOf(toRow(row)));
  }

  async put(write: Put): Promise<Entry> {
    const [entry] = await this.batch([write]);
    return entry as Entry;
  }

  async delete(key: string, expect?: Expectation): Promise<boolean> {
    return this.#work(() => this.#commit([{ key, expect }]).some((change) => change.kind === "delete" && change.key === key));
  }

  async batch(writes: readonly Write[]): Promise<readonly Entry[]> {
    return this.#work(() => this.#commit(writes).flatMap((change) => (change.kind === "put" ? [change.entry] : [])));
  }

  watch(prefixes: readonly string[], signal: AbortSignal): Watch {
    const onAbort = (): void => queue.end();
    const onEnd = (ended: ChangeQueue): void => {
      this.#queues.delete(ended);
      this.#foreign.forget(ended);
      if (this.#queues.size === 0) clearInterval(this.#looking);
      signal.removeEventListener("abort", onAbort);
    };
    const queue = new ChangeQueue(prefixes, { onEnd, look: () => this.#work(() => this.#foreign.look()) });
    if (signal.aborted || !this.#database.isOpen) {
      queue.end();
      return queue;
    }
    this.#work(() => this.#foreign.follow(queue, prefixes));
    this.#queues.add(queue);
    signal.addEventListener("abort", onAbort);
    if (this.#queues.size === 1) this.#looking = setInterval(() => this.#lookForeign(), foreignMs).unref();
    return queue;
  }

  /** The next check makes up for a failed one: the version is only remembered after success. */
  #lookForeign(): void {
    if (!this.#database.isOpen) return;
    try {
      this.#work(() => this.#foreign.look());
    } catch {
      // The disk or the lock: readers and writers get the error.
    }
  }

  async close(): Promise<void> {
    for (const queue of [...this.#queues]) queue.end();
    if (this.#database.isOpen) this.#database.close();
  }

  #work<T>(work: () => T): T {
    if (!this.#database.isOpen) throw new PlatformError("unavailable", "the storage is closed");
    return guarded(this.#path, work, this.#onFull);
  }

  #find(key: string): Entry | undefined {
    const row = this.#sql.get.get(key, this.#now().getTime());
    return row === undefined ? undefined : entryOf(toRow(row));
  }

  /** One transaction. Watchers are notified of changes only after the commit. */
  #commit(writes: readonly Write[]): readonly Change[] {
    checkWrites(writes);
    const changes: Change[] = [];
    this.#database.exec("BEGIN IMMEDIATE");
    try {
      for (const { key } of this.#sql.expired.all(this.#now().getTime())) changes.push({ kind: "delete", key: String(key) });
      for (const write of writes) changes.push(...this.#apply(write));
      this.#database.exec("COMMIT");
    } catch (thrown) {
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
      throw thrown;
    }
    this.#foreign.own(changes);
    for (const queue of [...this.#queues]) {
      for (const change of changes) queue.offer(keyOf(change), change);
    }
    const written = new Set(writes.map((write) => write.key));
    return changes.filter((change) => written.has(keyOf(change)));
  }

  #apply(write: Write): readonly Change[] {
    const stored = this.#find(write.key);
    checkExpectation(write, stored);
    if (write.value === undefined) {
      if (stored === undefined) return [];
      this.#sql.delete.run(write.key);
      return [{ kind: "delete", key: write.key }];
    }
    const { revision } = this.#sql.next.get() as { revision: number };
    this.#sql.put.run(write.key, write.value, revision, write.expires?.getTime() ?? null);
    return [{ kind: "put", entry: { key: write.key, value: write.value, revision: String(revision), expires: write.expires } }];
  }
}

function checkWrites(writes: readonly Write[]): void {
  for (const { key, value } of writes) {
    if (!/^\/[\x21-\x7e]+$/.test(key) || key.length > maxKey)
      throw new PlatformError("invalid", `not a storage key: ${JSON.stringify(key.slice(0, 100))}`);
    if (value !== undefined && value.length > maxValue)
      throw new PlatformError("limit", `${key}: ${value.length} characters; the maximum is ${maxValue}`);
  }
  if (new Set(writes.map(({ key }) => key)).size !== writes.length) throw new PlatformError("invalid", "a batch has a key twice");
}

function checkExpectation({ key, expect }: Write, stored: Entry | undefined): void {
  if (expect === undefined) return;
  if (expect === "absent") {
    if (stored !== undefined) throw new PlatformError("already_exists", `${key} already exists`);
    return;
  }
  if (stored === undefined) throw new PlatformError(expect === "present" ? "not_found" : "conflict", `${key} does not exist`);
  if (expect !== "present" && expect.revision !== stored.revision) {
    throw new PlatformError("conflict", `${key} was changed by another writer (revision ${stored.revision}, expected ${expect.revision})`);
  }
}

/** First key after all keys with this prefix. Keys are ASCII, so one character more is one byte more. */
function endOfPrefix(prefix: string): string {
  return prefix.slice(0, -1) + String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1);
}

function keyOf(change: Change): string {
  return change.kind === "put" ? change.entry.key : change.key;
}

function entryOf(row: Row): Entry {
  return { key: row.key, value: row.value, revision: String(row.revision), expires: row.expires === null ? undefined : new Date(row.expires) };
}

/** The table is STRICT: SQLite enforces these types, and this check is for the compiler. Anything else is a bug. */
function toRow({ key, value, revision, expires }: Readonly<Record<string, SQLOutputValue>>): Row {
  const whole = typeof key === "string" && typeof value === "string" && typeof revision === "number";
  if (!whole || !(expires === null || typeof expires === "number")) {
    throw new Error(`a row of a STRICT table has other types: ${String(key)}`);
  }
  return { key, value, revision, expires };
}
