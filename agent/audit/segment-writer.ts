import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { eventsInCall } from "../../core/audit/events-in-call.ts";
import { segmentName, sequenceOf, type Writer } from "./spool-segments.ts";

/** Bytes or events at which a segment is closed: it is one batch. Usual events go in one call. */
const segmentBytes = 1024 * 1024;
export const segmentEvents: number = eventsInCall;

interface Current {
  readonly name: string;
  readonly handle: FileHandle;
  /** Resolves once its name is on the disk. */
  readonly entry: Promise<void>;
  bytes: number;
  events: number;
}

export interface SegmentWriterOptions {
  readonly own: Writer;
  /** Called with the name of each segment to which nothing is written any more. */
  readonly closed: (name: string) => void;
}

/** Writes the segments of this process, one after the other. One call at a time. */
export class SegmentWriter {
  readonly #folder: string;
  readonly #options: SegmentWriterOptions;
  #current: Current | undefined;
  #sequence = 0;

  constructor(folder: string, options: SegmentWriterOptions) {
    this.#folder = folder;
    this.#options = options;
  }

  /** New segments come after this one. */
  follow(name: string): void {
    this.#sequence = Math.max(this.#sequence, sequenceOf(name));
  }

  /** The most events that the next call may append, at least one. */
  get room(): number {
    return segmentEvents - (this.#current?.events ?? 0);
  }

  /** Resolves with the name of their segment once the lines are on disk. Throws as the file system does; the segment should be closed then. */
  async append(lines: string, events: number): Promise<string> {
    const current = this.#current ?? (await this.#open());
    await current.handle.writeFile(lines);
    await Promise.all([current.handle.datasync(), current.entry]);
    current.bytes += Buffer.byteLength(lines);
    current.events += events;
    if (current.bytes >= segmentBytes || current.events >= segmentEvents) await this.close();
    return current.name;
  }

  /** Closes the segment that is being written, if there is one; it counts as closed from this call on. */
  async close(): Promise<void> {
    const current = this.#current;
    if (current === undefined) return;
    this.#current = undefined;
    this.#options.closed(current.name);
    await current.handle.close();
  }

  async #open(): Promise<Current> {
    this.#sequence += 1;
    const name = segmentName(this.#sequence, this.#options.own);
    const handle = await open(join(this.#folder, name), "wx", 0o600);
    // A session's start waits for this: the name gets to the disk while the first events do.
    const entry = this.#syncFolder();
    entry.catch(() => {});
    this.#current = { name, handle, entry, bytes: 0, events: 0 };
    return this.#current;
  }

  async #syncFolder(): Promise<void> {
    await using folder = await open(this.#folder, constants.O_RDONLY);
    await folder.sync();
  }
}
