import { PlatformError } from "../../core/errors/platform-error.ts";
import type { Log } from "../../core/log/log.ts";
import { LateEvents } from "./late-events.ts";
import type { SpoolLine } from "./mass-shares.ts";
import { type SegmentWriter, segmentEvents } from "./segment-writer.ts";
import type { SpoolRoom } from "./spool-room.ts";

export interface GroupCommitOptions {
  readonly folder: string;
  readonly log: Log;
  readonly segments: SegmentWriter;
  /** Has room taken for each line: what is not written gives it back. */
  readonly room: SpoolRoom;
  /** Called when events have come to the disk. */
  readonly written: () => void;
}

interface Waiting {
  readonly line: SpoolLine;
  readonly isPast: boolean;
  readonly done: () => void;
  readonly failed: (error: unknown) => void;
}

/** Lines on their way to the disk. One writer at a time; lines that arrive meanwhile go with the next write, under one fsync. */
export class GroupCommit {
  readonly #options: GroupCommitOptions;
  readonly #late = new LateEvents(() => this.#offerLate());
  #waiting: Waiting[] = [];
  #writing: Promise<void> | undefined;
  /** Something waits whose patience is over. */
  #isDue = false;
  /** Runs while only lines with patience wait. */
  #patience: NodeJS.Timeout | undefined;

  constructor(options: GroupCommitOptions) {
    this.#options = options;
  }

  /** Settles when the running write is over; `undefined`: nothing is being written. */
  get writing(): Promise<void> | undefined {
    return this.#writing;
  }

  /** Whether half of the memory for what the disk does not take is used up. */
  get isCrowded(): boolean {
    return this.#late.isCrowded;
  }

  /** Resolves once the line is on disk, or kept in memory if it `isPast` (`LateEvents`). Throws `unavailable`. */
  add(line: SpoolLine, { patienceMs, isPast }: { readonly patienceMs: number; readonly isPast: boolean }): Promise<void> {
    return new Promise<void>((done, failed) => {
      this.#waiting.push({ line, isPast, done, failed });
      if (patienceMs === 0 || this.#waiting.length >= segmentEvents) this.#write();
      else this.#patience ??= setTimeout(() => this.#write(), patienceMs);
    });
  }

  /** Writes all that waits, for the last time. */
  async close(): Promise<void> {
    if (this.#late.count > 0) this.#offerLate();
    if (this.#waiting.length > 0) this.#write();
    while (this.#writing !== undefined) await this.#writing;
    const lost = this.#late.take().length;
    if (lost > 0) this.#options.log.error("audit events are lost: the disk did not take them until the end", { events: lost });
  }

  #offerLate(): void {
    const { log } = this.#options;
    const done = (): void => {};
    const failed = (): void => log.error("an audit event is lost: the disk has not taken it, and too many others wait", {});
    this.#waiting.push(...this.#late.take().map((line) => ({ line, isPast: true, done, failed })));
    this.#write();
  }

  #write(): void {
    clearTimeout(this.#patience);
    this.#patience = undefined;
    this.#isDue = true;
    this.#writing ??= this.#writeAll();
  }

  async #writeAll(): Promise<void> {
    // Events recorded in the same turn go with it.
    await Promise.resolve();
    while (this.#isDue) {
      this.#isDue = false;
      const all = this.#waiting.splice(0);
      while (all.length > 0) await this.#store(all.splice(0, this.#options.segments.room));
    }
    // In the same step as the last look: an event in between would wait for the next one.
    this.#writing = undefined;
  }

  async #store(batch: readonly Waiting[]): Promise<void> {
    const { folder, log, room, segments, written } = this.#options;
    try {
      const segment = await segments.append(batch.map(({ line }) => line.text).join(""), batch.length);
      for (const { line, done } of batch) {
        room.written(segment, line);
        done();
      }
      written();
    } catch (cause) {
      log.error("could not write an audit event", { folder, error: cause });
      const error = new PlatformError("unavailable", "this host cannot record sessions right now; see its log for the reason", { cause });
      for (const { line, isPast, done, failed } of batch) {
        if (isPast && this.#late.keep(line)) {
          done();
          continue;
        }
        room.giveBack(line);
        failed(error);
      }
      await segments.close().catch(() => {});
    }
  }
}
