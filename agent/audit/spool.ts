import { mkdir, readFile, rm, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import type { AuditFacts } from "../../core/audit/audit-events.ts";
import type { EventLines } from "../../core/audit/event-lines.ts";
import { PlatformError } from "../../core/errors/platform-error.ts";
import type { Log } from "../../core/log/log.ts";
import { startOf } from "../../core/processes/start-of.ts";
import { GroupCommit } from "./group-commit.ts";
import type { MassOwner } from "./mass-shares.ts";
import { SegmentWriter } from "./segment-writer.ts";
import { type HeldRoom, type RoomAsk, SpoolRoom } from "./spool-room.ts";
import { freeSegments, type Segment, type Writer } from "./spool-segments.ts";

/** Audit events on this host until the auth service has them. */
export interface Spool {
  /**
   * Resolves once the event is on disk. Throws `limit` when the spool is full, `unavailable` when the disk does not take it: an action that cannot be
   * recorded must not happen.
   */
  record(facts: AuditFacts, options?: RecordOptions): Promise<void>;
  /**
   * Holds room for events that come in masses, within the shares of their service and user (`MassShares`); undefined: there is none in this time. Ask before an
   * action whose events are recorded after it, with `isPast`, and dispose of the room when all of them are. Never rejects.
   */
  hold(ask: RoomAsk): Promise<HeldRoom | undefined>;
  /** Whether a batch waits that no event can join any more. */
  readonly hasWhole: boolean;
  /** The oldest batch, or `undefined` when there is nothing to send. The same batch until it is removed. */
  next(): Promise<Batch | undefined>;
  /** Forgets a batch that the auth service has acknowledged. */
  remove(batch: Batch): Promise<void>;
  /** Takes over the segments that ended processes left behind. Returns whether there were any. */
  adopt(): Promise<boolean>;
  /** Called whenever there is something new to send. */
  onRecorded: () => void;
  close(): Promise<void>;
}

export interface RecordOptions {
  /**
   * Of an event that comes in masses. It has room within the shares of its service and user (`MassShares`), and waits for it, for half a minute at most, so that
   * a busy database goes at the pace of the auth service, and leaves room for others.
   */
  readonly mass?: MassEvent;
  /** Of something that has happened already: where the disk does not take it, it waits in memory, and this resolves (`LateEvents`). */
  readonly isPast?: boolean;
  /** The event's bytes are taken from it, as far as it has them. */
  readonly room?: HeldRoom | undefined;
  /** As in `EventLines`. */
  readonly shared?: object;
}

export interface MassEvent {
  readonly owner: MassOwner;
  /** Time for which the event may wait for others to be written with it, ms. */
  readonly patienceMs: number;
}

export interface Batch {
  readonly file: string;
  /** One JSON object each. */
  readonly events: readonly string[];
}

export interface SpoolOptions {
  readonly folder: string;
  readonly clusterName: string;
  readonly log: Log;
  readonly now?: () => Date;
  /** Maximum bytes on disk; default 64 MiB. */
  readonly maxBytes?: number;
  /** Services of this host whose events may come in masses; default: several. */
  readonly massServices?: number;
}

/** Time that events wait for room, ms. */
const roomMs = 30_000;

/** Opens the spool and finds segments that an earlier run left behind. */
export async function openSpool(options: SpoolOptions): Promise<Spool> {
  await mkdir(options.folder, { recursive: true, mode: 0o700 });
  const start = await startOf(process.pid);
  if (start === undefined) throw new PlatformError("unavailable", "could not find this process under /proc", { hint: "is /proc mounted?" });
  const spool = new FileSpool(options, { pid: process.pid, start });
  await spool.adoptAll();
  return spool;
}

class FileSpool implements Spool {
  onRecorded: () => void = () => {};
  readonly #options: SpoolOptions;
  /** Closed segments, oldest first. */
  readonly #closed: string[] = [];
  /** Sizes of segments that other processes wrote. */
  readonly #adopted = new Map<string, number>();
  readonly #own: Writer;
  readonly #segments: SegmentWriter;
  readonly #room: SpoolRoom;
  readonly #commits: GroupCommit;
  #lines: EventLines | undefined;

  constructor(options: SpoolOptions, own: Writer) {
    const { folder, log } = options;
    this.#options = options;
    this.#own = own;
    this.#room = new SpoolRoom(options.maxBytes ?? 64 * 1024 * 1024, log, { isSeveral: (options.massServices ?? 2) > 1 });
    this.#segments = new SegmentWriter(folder, { own, closed: (name) => this.#closed.push(name) });
    this.#commits = new GroupCommit({ folder, log, segments: this.#segments, room: this.#room, written: () => this.onRecorded() });
  }

  async record(facts: AuditFacts, { mass, isPast = false, room, shared }: RecordOptions = {}): Promise<void> {
    const { clusterName, now: clock = () => new Date() } = this.#options;
    // Loaded at the first event: its schemas take megabytes that an idle agent can save.
    if (this.#lines === undefined) {
      const { EventLines: Lines } = await import("../../core/audit/event-lines.ts");
      this.#lines ??= new Lines(clusterName);
    }
    const text = `${this.#lines.write(facts, clock(), shared)}\n`;
    const bytes = Buffer.byteLength(text);
    if (mass === undefined) this.#room.take(bytes, room);
    else if (!this.#room.takeAtOnce(mass.owner, bytes)) await this.#room.takeInTurn({ owner: mass.owner, bytes, waitMs: roomMs });
    // Not awaited: this call would hold the facts until the line is on disk, and thousands may wait at once.
    return this.#commits.add({ text, owner: (mass ?? room)?.owner }, { patienceMs: mass?.patienceMs ?? 0, isPast });
  }

  async hold(ask: RoomAsk): Promise<HeldRoom | undefined> {
    const held = await this.#room.hold(ask, () => !this.#commits.isCrowded);
    if (held === undefined) this.#room.tellCrowded(ask.owner);
    return held;
  }

  get hasWhole(): boolean {
    return this.#closed.length > 0;
  }

  async next(): Promise<Batch | undefined> {
    for (;;) {
      // No await between the last check and the rotation: a segment is never closed under its writer.
      while (this.#commits.writing !== undefined) await this.#commits.writing;
      if (this.#closed.length === 0) await this.#segments.close();
      const name = this.#closed[0];
      if (name === undefined) return undefined;
      const file = join(this.#options.folder, name);
      const text = await readFile(file, "utf8").catch(unlessMissing);
      if (text !== undefined) return { file, events: this.#adopted.has(name) ? soundLines(text, file, this.#options.log) : wholeLines(text) };
      // Another process has taken it over and sent it.
      this.#forget(name, this.#adopted.get(name) ?? 0);
    }
  }

  async remove({ file }: Batch): Promise<void> {
    const facts = await stat(file).catch(unlessMissing);
    await rm(file, { force: true });
    const name = basename(file);
    this.#forget(name, facts?.size ?? this.#adopted.get(name) ?? 0);
  }

  #forget(name: string, bytes: number): void {
    const position = this.#closed.indexOf(name);
    if (position >= 0) this.#closed.splice(position, 1);
    this.#adopted.delete(name);
    this.#room.free(name, bytes);
  }

  async adopt(): Promise<boolean> {
    return this.#take(await freeSegments(this.#options.folder));
  }

  /** At opening, this process has not written anything yet: a segment with its name is a leftover. */
  async adoptAll(): Promise<void> {
    this.#take([...(await freeSegments(this.#options.folder, this.#own))]);
  }

  #take(found: readonly Segment[]): boolean {
    const fresh = found.filter(({ name }) => !this.#closed.includes(name));
    for (const { name, bytes } of fresh) {
      this.#closed.push(name);
      this.#adopted.set(name, bytes);
      this.#room.add(bytes);
      this.#segments.follow(name);
    }
    this.#closed.sort();
    return fresh.length > 0;
  }

  async close(): Promise<void> {
    await this.#commits.close();
    await this.#segments.close();
  }
}

/** Lines of a segment of this process. Only a write that failed can leave a torn one, the last: its events have failed, or are written again. */
function wholeLines(text: string): string[] {
  const lines = text.split("\n");
  lines.pop();
  return lines;
}

/** Lines of another process. A crash can tear the last line only, and no action that waited for it has happened: it is dropped. */
function soundLines(text: string, file: string, log: Log): string[] {
  if (!text.endsWith("\n") && text !== "") log.warn("dropped the torn last audit event of a file: it was never acknowledged", { file });
  return wholeLines(text).filter((line) => {
    if (isJsonObject(line)) return true;
    if (line !== "") log.error("skipped a damaged line of the audit spool", { file });
    return false;
  });
}

function unlessMissing(cause: NodeJS.ErrnoException): undefined {
  if (cause.code !== "ENOENT") throw cause;
}

function isJsonObject(line: string): boolean {
  try {
    return typeof JSON.parse(line) === "object";
  } catch {
    return false;
  }
}
