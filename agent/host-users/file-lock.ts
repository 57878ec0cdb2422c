import { closeSync, mkdirSync, openSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { PlatformError } from "../../core/errors/platform-error.ts";
import type { HostAddon } from "../host/host-addon.ts";

export interface FileLock extends Disposable {
  /** Upgrades to an exclusive lock; false when another process or session holds one too. */
  alone(): boolean;
}

/** Time between two attempts, and for all of them, ms. */
const retryMs = 50;
const limitMs = 30_000;

/** Locks of all agent processes of this host, as files of a folder that only root may enter. */
export class FileLocks {
  readonly #folder: string;
  readonly #addon: Pick<HostAddon, "tryLock">;

  constructor(folder: string, addon: Pick<HostAddon, "tryLock">) {
    this.#folder = folder;
    this.#addon = addon;
  }

  /** Waits for the lock. Throws `timeout`. */
  async exclusive(name: string): Promise<FileLock> {
    const fd = this.#open(name);
    for (let waited = 0; !this.#try(fd, true); waited += retryMs) {
      if (waited >= limitMs) {
        closeSync(fd);
        throw new PlatformError("timeout", `could not lock ${join(this.#folder, name)} within ${limitMs / 1000} s`);
      }
      await sleep(retryMs);
    }
    return this.#lockOf(fd);
  }

  /** A shared lock; undefined when another holder has it exclusively. */
  shared(name: string): FileLock | undefined {
    const fd = this.#open(name);
    if (this.#try(fd, false)) return this.#lockOf(fd);
    closeSync(fd);
    return undefined;
  }

  #lockOf(fd: number): FileLock {
    let isOpen = true;
    return {
      alone: () => this.#try(fd, true),
      [Symbol.dispose]: () => {
        if (isOpen) closeSync(fd);
        isOpen = false;
      },
    };
  }

  #open(name: string): number {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    const { uid, mode } = statSync(this.#folder);
    if (uid !== process.geteuid?.() || (mode & 0o022) !== 0) throw new PlatformError("denied", `${this.#folder} can be written by others`);
    return openSync(join(this.#folder, name), "a", 0o600);
  }

  #try(fd: number, exclusive: boolean): boolean {
    try {
      return this.#addon.tryLock(fd, exclusive);
    } catch (thrown) {
      closeSync(fd);
      throw thrown;
    }
  }
}
