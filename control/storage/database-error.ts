import { errorText, PlatformError } from "../../core/errors/platform-error.ts";

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

export function databaseError(path: string, thrown: unknown): unknown {
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
