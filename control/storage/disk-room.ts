import { closeSync, openSync, statfsSync, statSync, truncateSync, writeSync } from "node:fs";
import { join } from "node:path";
import { errorText, PlatformError } from "../../core/errors/platform-error.ts";
import type { Log } from "../../core/log/log.ts";

/** Space of a file system, bytes. */
export interface DiskFacts {
  readonly free: number;
  readonly total: number;
}

export interface DiskRoomOptions {
  readonly folder: string;
  readonly log: Log;
  readonly facts?: (folder: string) => DiskFacts;
}

const mib = 1024 * 1024;
/** Free space that hosts may not use: less on a small disk. */
const mostLeft = 512 * mib;
const leastShare = 0.1;
/** Reserve that is released when the disk is full nevertheless. */
const reserveBytes = 8 * mib;
/** Recordings, which are large, are refused while there is still space for events. */
const shares = { events: 1, recordings: 1.5 } as const;

/**
 * Free space on the disk of this service. Data from hosts is refused while little is left, so that they keep it. When something else fills the
 * disk, a reserve file is deleted: locks, removals and logins need little, and must always work.
 */
export class DiskRoom {
  readonly #options: DiskRoomOptions;
  readonly #file: string;
  #isLow = false;

  constructor(options: DiskRoomOptions) {
    this.#options = options;
    this.#file = join(options.folder, "reserve");
  }

  /** Throws `limit` while hosts must wait. */
  require(what: keyof typeof shares): void {
    const { free, total } = this.#facts();
    if (free >= floorOf(total) * shares[what]) return;
    const message = `the auth service refuses ${what} of hosts: its disk is nearly full`;
    throw new PlatformError("limit", message, { hint: `free some space there: ${Math.floor(free / mib)} MiB are left` });
  }

  get isLow(): boolean {
    const { free, total } = this.#facts();
    return free < floorOf(total);
  }

  /** Bytes that hosts may still fill. */
  get spare(): number {
    const { free, total } = this.#facts();
    return Math.max(0, free - floorOf(total));
  }

  /** Called when the disk is full; returns whether some space is free now. */
  giveUp(): boolean {
    if (sizeOf(this.#file) === 0) return false;
    truncateSync(this.#file, 0);
    this.#options.log.error("the disk is full: the reserve for the cluster's own records was released", { folder: this.#options.folder });
    return true;
  }

  /** Call this regularly: logs when hosts must wait, and recreates the reserve when there is space. */
  look(): void {
    const { log, folder } = this.#options;
    const { free, total } = this.#facts();
    const isLow = free < floorOf(total);
    if (isLow !== this.#isLow) {
      this.#isLow = isLow;
      const about = { folder, free_mib: Math.floor(free / mib), needed_mib: Math.ceil(floorOf(total) / mib) };
      if (isLow)
        log.error(
          "the disk is nearly full: events and recordings of hosts are refused; hosts keep events, and refuse sessions when they have too many",
          about,
        );
      else log.info("the disk has enough space again", about);
    }
    const wanted = Math.min(reserveBytes, Math.floor(floorOf(total) / 2));
    if (isLow || sizeOf(this.#file) >= wanted || free - wanted < floorOf(total)) return;
    try {
      fill(this.#file, wanted);
    } catch (error) {
      log.warn("could not create the reserve on the disk", { file: this.#file, error: errorText(error) });
    }
  }

  /** Warnings, a sentence each, for `tctl status`. */
  warnings(): readonly string[] {
    const { free, total } = this.#facts();
    const [left, floor] = [Math.floor(free / mib), Math.ceil(floorOf(total) / mib)];
    if (free >= floorOf(total) * shares.recordings) return [];
    const refused = free >= floorOf(total) ? "recordings" : "events and recordings";
    return [
      `the disk of ${this.#options.folder} has ${left} MiB left: ${refused} of hosts are refused until there are ${floor} (recordings: ${Math.ceil(floor * shares.recordings)})`,
    ];
  }

  #facts(): DiskFacts {
    return (this.#options.facts ?? diskFacts)(this.#options.folder);
  }
}

/** Free space that hosts may not use. Pure. */
function floorOf(total: number): number {
  return Math.min(mostLeft, total * leastShare);
}

function diskFacts(folder: string): DiskFacts {
  const { bavail, bsize, blocks } = statfsSync(folder);
  return { free: bavail * bsize, total: blocks * bsize };
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

/** Filled with zeros: a sparse file would not reserve space. */
function fill(file: string, bytes: number): void {
  const handle = openSync(file, "w", 0o600);
  try {
    const zeros = Buffer.alloc(mib);
    for (let at = 0; at < bytes; at += zeros.length) writeSync(handle, zeros, 0, Math.min(zeros.length, bytes - at), at);
  } finally {
    closeSync(handle);
  }
}
