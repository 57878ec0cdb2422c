import { chmodSync, closeSync, lstatSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { errorText, PlatformError } from "../../core/errors/platform-error.ts";

export interface DatabaseOptions {
  readonly path: string;
  /** Written into the file: a database of another program is refused. A 32-bit integer. */
  readonly applicationId: number;
  /** SQL for each schema version, in order: run once, in one transaction with the new version number. */
  readonly migrations: readonly string[];
  /** The file may not grow past this, bytes; default: only limited by the disk. */
  readonly maxBytes?: number;
}

const pageSize = 4096;
/** Maximum wait of a write for another process's write, ms. */
const busyMs = 5_000;

/**
 * Opens or creates a private SQLite database (file 0600 in a folder 0700; `-wal` and `-shm` get the file's mode from SQLite).
 * WAL with synchronous=FULL: a completed commit is on the disk. Refuses a file that others own or can read, a damaged
 * one, a foreign one and one of a newer schema; none of them is changed.
 */
export function openDatabase(options: DatabaseOptions): DatabaseSync {
  makePrivate(options.path);
  return guarded(options.path, () => {
    const database = new DatabaseSync(options.path, { timeout: busyMs, enableForeignKeyConstraints: true });
    try {
      prepare(database, options);
      return database;
    } catch (thrown) {
      database.close();
      throw databaseError(options.path, thrown);
    }
  });
}

function prepare(database: DatabaseSync, options: DatabaseOptions): void {
  const { path, migrations } = options;
  const version = pragma(database, "user_version");
  const owner = pragma(database, "application_id");
  const tables = database.prepare("SELECT count(*) AS n FROM sqlite_master").get() as { n: number };
  if (owner !== options.applicationId && (owner !== 0 || tables.n > 0)) {
    throw new PlatformError("invalid", `${path} is a database of another program`, { hint: "move it away or choose another data_dir" });
  }
  if (version > migrations.length) {
    throw new PlatformError("unsupported", `${path} was written by a newer version (schema ${version}; this version supports ${migrations.length})`, {
      hint: "run the newer version, or restore the backup made before the upgrade",
    });
  }
  checkIntegrity(database, path);
  database.exec("PRAGMA journal_mode=WAL");
  database.exec("PRAGMA synchronous=FULL");
  if (options.maxBytes !== undefined) database.exec(`PRAGMA max_page_count=${Math.max(1, Math.floor(options.maxBytes / pageSize))}`);
  for (let next = version; next < migrations.length; next += 1) {
    const sql = `BEGIN IMMEDIATE; ${migrations[next]}; PRAGMA user_version=${next + 1}; PRAGMA application_id=${options.applicationId}; COMMIT`;
    database.exec(sql);
  }
}

function checkIntegrity(database: DatabaseSync, path: string): void {
  const rows = database.prepare("PRAGMA quick_check(1)").all() as { quick_check: string }[];
  const verdict = rows[0]?.quick_check ?? "no answer";
  if (verdict !== "ok") throw new PlatformError("unavailable", `the database ${path} is damaged: ${verdict}`, { hint: damagedHint });
}

const damagedHint = "nothing was changed; restore the file from a backup";

function pragma(database: DatabaseSync, name: string): number {
  return Number(Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0] ?? 0);
}

function makePrivate(path: string): void {
  const folder = dirname(path);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    refuseForeign(folder, 0o077);
    closeSync(openSync(path, "ax", 0o600));
    chmodSync(path, 0o600);
  } catch (thrown) {
    if (thrown instanceof PlatformError) throw thrown;
    if ((thrown as NodeJS.ErrnoException).code === "EEXIST") {
      refuseForeign(path, 0o077);
      for (const beside of [`${path}-wal`, `${path}-shm`]) refuseForeign(beside, 0o077);
      return;
    }
    throw databaseError(path, thrown);
  }
}

function refuseForeign(path: string, forbidden: number): void {
  const facts = lstatSync(path, { throwIfNoEntry: false });
  if (facts === undefined) return;
  const refuse = (why: string, hint: string): never => {
    throw new PlatformError("denied", `${path} ${why}`, { hint });
  };
  const me = process.getuid?.();
  if (facts.isSymbolicLink()) refuse("is a symbolic link", "replace it with the real file or folder");
  if (me !== undefined && facts.uid !== me)
    refuse(`belongs to user ${facts.uid}, this program runs as ${me}`, `if that is right: chown -R ${me} ${path}`);
  if ((facts.mode & forbidden) !== 0) {
    refuse(`can be read by others (mode ${(facts.mode & 0o777).toString(8)})`, `it holds private keys; if nobody copied them: chmod go= ${path}`);
  }
}

/**
 * Runs synchronous database work and converts errors of SQLite and the file system to PlatformError. `onFull`: called when the disk is full;
 * true: some space is free now, and the work, of which nothing was done, is repeated.
 */
export function guarded<T>(path: string, work: () => T, onFull: () => boolean = () => false): T {
  try {
    return work();
  } catch (thrown) {
    if (isFull(thrown) && onFull()) return guarded(path, work);
    throw databaseError(path, thrown);
  }
}

function isFull(thrown: unknown): boolean {
  const { code, errcode = 0 } = thrown as { code?: string; errcode?: number };
  if (code !== "ERR_SQLITE_ERROR") return code === "ENOSPC" || code === "EDQUOT";
  return (errcode & 0xff) === sqlite.full || errcode === growShared;
}

/** SQLite's primary result codes (sqlite.org/rescode.html); `errcode` may hold an extended one in its upper bytes. */
const sqlite = { busy: 5, locked: 6, readonly: 8, ioerr: 10, corrupt: 11, full: 13, cantopen: 14, notadb: 26 } as const;
/** SQLITE_IOERR_SHMSIZE: the file beside the log could not grow. */
const growShared = 10 | (19 << 8);

function databaseError(path: string, thrown: unknown): unknown {
  if (thrown instanceof PlatformError || !(thrown instanceof Error)) return thrown;
  const unavailable = (what: string, hint: string): PlatformError =>
    new PlatformError("unavailable", `the database ${path} ${what}`, { hint, cause: thrown });
  const { code, errcode } = thrown as { code?: string; errcode?: number };
  if (code === "ENOSPC" || code === "EDQUOT") return unavailable("cannot grow: the disk is full", "free some space; nothing was lost");
  if (code === "EACCES" || code === "EPERM" || code === "EROFS")
    return unavailable(`cannot be opened: ${errorText(thrown)}`, "check its owner and mode");
  if (code !== "ERR_SQLITE_ERROR" || errcode === undefined) return thrown;
  switch (errcode & 0xff) {
    case sqlite.full:
      return unavailable("cannot grow: the disk is full", "free some space; nothing was lost");
    case sqlite.corrupt:
    case sqlite.notadb:
      return unavailable(`is damaged: ${errorText(thrown)}`, "nothing was changed; restore the file from a backup");
    case sqlite.busy:
    case sqlite.locked:
      return unavailable("is held by another process", "stop the other process that uses this data_dir");
    case sqlite.readonly:
    case sqlite.ioerr:
    case sqlite.cantopen:
      return unavailable(`cannot be used: ${errorText(thrown)}`, "check the disk and the mode of the folder");
    default:
      return thrown;
  }
}
