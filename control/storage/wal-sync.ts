import { type FileHandle, open } from "node:fs/promises";
import type { DatabaseSync } from "node:sqlite";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { guarded } from "./open-database.ts";

/** What a database of WAL mode is asked for, and how its log gets to the disk; a test has its own. */
export interface WalSyncOptions {
  readonly database: Pick<DatabaseSync, "exec" | "prepare" | "isOpen">;
  readonly path: string;
  /** Opens the log beside the database. */
  readonly openLog?: (path: string) => Promise<Pick<FileHandle, "datasync" | "close">>;
}

/**
 * Commits whose wait for the disk does not hold up the process: SQLite writes the commit into the log without a sync, a thread of libuv syncs the log,
 * and then the commit is durable. Every other commit of the same database is synced by SQLite itself, as before. One sync is for all commits before it.
 */
export class WalSync {
  readonly #options: WalSyncOptions;
  #log: Promise<Pick<FileHandle, "datasync" | "close">> | undefined;
  #running: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;
  /** A sync has failed: what it was for is in the log's pages, which the kernel may take for written. */
  #isDoubtful = false;

  constructor(options: WalSyncOptions) {
    this.#options = options;
  }

  /** Runs a transaction at once. Durable when it resolves. Rejects with what `work` throws, or when the disk fails. */
  async run(work: () => void): Promise<void> {
    const { database } = this.#options;
    database.exec("PRAGMA synchronous=NORMAL");
    try {
      work();
    } finally {
      if (database.isOpen) database.exec("PRAGMA synchronous=FULL");
    }
    await this.#synced();
  }

  async close(): Promise<void> {
    await this.#running;
    await (await this.#log?.catch(() => undefined))?.close();
  }

  #synced(): Promise<void> {
    if (this.#next !== undefined) return this.#next;
    const next = this.#running.then(async () => {
      this.#next = undefined;
      await this.#sync();
    });
    this.#next = next;
    this.#running = next.catch(() => {});
    return next;
  }

  async #sync(): Promise<void> {
    const { path, openLog = (file) => open(file, "r") } = this.#options;
    try {
      this.#log ??= openLog(`${path}-wal`);
      await (await this.#log).datasync();
    } catch {
      this.#isDoubtful = true;
    }
    if (this.#isDoubtful) this.#checkpoint();
  }

  /** Copies the log into the database, which SQLite syncs: that needs nothing of what the log lost on the disk. Throws `unavailable`. */
  #checkpoint(): void {
    const { database, path } = this.#options;
    const failed = (): never => {
      throw new PlatformError("unavailable", `could not make a change of ${path} durable`, { hint: "check the disk" });
    };
    if (!database.isOpen) failed();
    const row = guarded(path, () => database.prepare("PRAGMA wal_checkpoint(FULL)").get());
    if (row?.busy !== 0) failed();
    this.#isDoubtful = false;
  }
}
