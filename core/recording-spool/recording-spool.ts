import { renameSync } from "node:fs";
import { mkdir, open, readdir, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { errorText, PlatformError } from "../errors/platform-error.ts";
import type { Log } from "../log/log.ts";
import { startOf } from "../processes/start-of.ts";
import { recordingFormat, recordingFormats } from "../recording/formats.ts";
import { headerFacts } from "../recording/member.ts";
import type { RecordingEnd, RecordingFacts } from "../resources/recording.ts";
import type { RecordingFileOptions } from "./recording-file.ts";

/** A recording on this host that is being sent to the auth service. */
export interface SpooledRecording {
  readonly facts: RecordingFacts;
  file: string;
  /** Bytes on disk. */
  written: number;
  /** Bytes that the auth service has. */
  sent: number;
  /** The recording is complete. */
  end?: RecordingEnd;
  /** All of it, while it is not in its file. */
  memory?: Buffer | undefined;
  /** The auth service refused it: do not retry before this time, ms of the steady clock. */
  notBefore?: number;
  /** Not to be sent yet. */
  isHeld?: boolean;
}

/** Writes a recording in its format. */
export interface RecordingWriter {
  /** Ends the recording, with all of it on disk if possible. Never throws. */
  end(): Promise<void>;
}

export interface NewRecording<Writer extends RecordingWriter> {
  readonly facts: RecordingFacts;
  /** Opens the file, with the facts in its header. Throws PlatformError. */
  readonly open: (file: RecordingFileOptions) => Promise<Writer>;
  /** Called when nothing more is recorded. */
  readonly onFailed: (why: PlatformError) => void;
  /** Not to be sent before `release`: whether a session begins is not known yet. */
  readonly isHeld?: boolean;
}

export interface OpenRecording<Writer extends RecordingWriter> {
  readonly spooled: SpooledRecording;
  readonly writer: Writer;
  /** There is a session: a held recording is sent from now on. */
  release(): void;
  /** The session has ended, or there was none and the recording is still held: then it is dropped. Never throws. */
  end(): Promise<void>;
}

export interface RecordingSpoolOptions {
  readonly folder: string;
  readonly log: Log;
  /** Maximum bytes of one recording; default 64 MiB. */
  readonly maxRecording?: number;
  /** Maximum bytes on this host; default 1 GiB. */
  readonly maxTotal?: number;
}

export interface ShortRecording {
  readonly facts: RecordingFacts;
  /** The whole file. */
  readonly bytes: Buffer;
}

/** Time for which a whole recording waits in memory for the auth service, before it goes to the disk, ms; and bytes of all that do. */
const memoryMs = 3_000;
const mostMemory = 1024 * 1024;

const sidPattern = /^[0-9a-f-]{36}$/;
const usualTotal = 1024 * 1024 * 1024;
/** Its writer by process and start, or `ended`. */
const pattern = /^([0-9a-f-]{36})\.(?:ended|(\d{1,10})-(\d{1,20}))\.([a-z.]+)$/;
const endings: readonly string[] = Object.values(recordingFormats).map(({ ending }) => ending);
/** Maximum length within which the header must be, bytes. */
const headBytes = 65_536;

/** Recordings on this host until the auth service has them. */
export class RecordingSpool {
  onNews: () => void = () => {};
  readonly #options: RecordingSpoolOptions;
  readonly #own: string;
  readonly #held = new Map<string, SpooledRecording>();
  #bytes = 0;
  #memory = 0;
  #flushing: NodeJS.Timeout | undefined;

  /** Creates the folder and finds recordings that earlier processes left behind. */
  static async open(options: RecordingSpoolOptions): Promise<RecordingSpool> {
    await mkdir(options.folder, { recursive: true, mode: 0o700 });
    const spool = new RecordingSpool(options, `${process.pid}-${await startOf(process.pid)}`);
    await spool.adopt(true);
    return spool;
  }

  private constructor(options: RecordingSpoolOptions, own: string) {
    this.#options = options;
    this.#own = own;
  }

  /** Begins a recording; its header is on the disk then. Throws PlatformError. */
  async begin<Writer extends RecordingWriter>({ facts, open, onFailed, isHeld = false }: NewRecording<Writer>): Promise<OpenRecording<Writer>> {
    // The id of a session comes from a proxy, and becomes the name of a file.
    if (!sidPattern.test(facts.sid)) throw new PlatformError("invalid", "the id of the session is not a UUID");
    const file = join(this.#options.folder, `${facts.sid}.${this.#own}.${endingOf(facts)}`);
    const spooled: SpooledRecording = { facts, file, written: 0, sent: 0, isHeld };
    let failed: PlatformError | undefined;
    const writer = await open({
      file,
      refuseMore: (bytes) => this.#refuseMore(spooled, bytes),
      onWritten: (bytes) => {
        this.#bytes += bytes - spooled.written;
        spooled.written = bytes;
        this.onNews();
      },
      onFailed: (why) => {
        failed ??= why;
        onFailed(why);
      },
    });
    if (failed !== undefined) {
      await writer.end();
      await rm(file, { force: true });
      throw failed;
    }
    this.#held.set(facts.sid, spooled);
    this.onNews();
    const release = (): void => {
      spooled.isHeld = false;
      this.onNews();
    };
    const end = async (): Promise<void> => {
      await writer.end();
      if (spooled.isHeld) await this.forget(spooled).catch(() => {});
      else this.#finish(spooled, { ended: new Date().toISOString(), interrupted: failed !== undefined });
    };
    return { spooled, writer, release, end };
  }

  /**
   * Takes a whole recording of a session that may go on without one: the auth service usually has it before a file of it would be written. Returns false
   * where it needs a file: there are too many of them, or it has a limit.
   */
  keep({ facts, bytes }: ShortRecording): boolean {
    const { maxTotal = usualTotal } = this.#options;
    const isRefused = this.#memory + bytes.length > mostMemory || this.#bytes + bytes.length > maxTotal || this.#held.has(facts.sid);
    if (isRefused || !sidPattern.test(facts.sid)) return false;
    const file = join(this.#options.folder, `${facts.sid}.ended.${endingOf(facts)}`);
    const end = { ended: new Date().toISOString(), interrupted: false };
    this.#held.set(facts.sid, { facts, file, written: bytes.length, sent: 0, end, memory: bytes });
    this.#bytes += bytes.length;
    this.#memory += bytes.length;
    this.#flushing ??= setTimeout(() => void this.flush(), memoryMs);
    this.onNews();
    return true;
  }

  /** Writes what is in memory alone. Never throws: what cannot be written stays there. */
  async flush(): Promise<void> {
    clearTimeout(this.#flushing);
    this.#flushing = undefined;
    for (const recording of [...this.#held.values()]) {
      const { memory, file, facts } = recording;
      if (memory === undefined) continue;
      try {
        await writeFile(file, memory, { mode: 0o600 });
        this.#leaveMemory(recording);
        if (!this.#held.has(facts.sid)) await rm(file, { force: true });
      } catch (error) {
        this.#options.log.error("could not write a recording", { file, error: errorText(error) });
        this.#flushing ??= setTimeout(() => void this.flush(), memoryMs);
      }
    }
  }

  #leaveMemory(recording: SpooledRecording): void {
    this.#memory -= recording.memory?.length ?? 0;
    recording.memory = undefined;
  }

  /** Recordings that the auth service does not have in full. */
  waiting(now: number): SpooledRecording[] {
    return [...this.#held.values()].filter(
      ({ written, sent, end, notBefore = now, isHeld }) => isHeld !== true && notBefore <= now && (written > sent || end !== undefined),
    );
  }

  /** The auth service has all of it. */
  async forget(recording: SpooledRecording): Promise<void> {
    this.#held.delete(recording.facts.sid);
    this.#bytes -= recording.written;
    if (recording.memory === undefined) await rm(recording.file, { force: true });
    else this.#leaveMemory(recording);
  }

  /** Takes over recordings of ended processes. At opening, a file with this process's name belongs to an earlier one. */
  async adopt(isOpening = false): Promise<void> {
    for (const name of await readdir(this.#options.folder)) {
      const [, sid, pid, start, ending = ""] = pattern.exec(name) ?? [];
      if (sid === undefined || !endings.includes(ending) || this.#held.has(sid)) continue;
      const isEnded = pid === undefined;
      const isOwn = `${pid}-${start}` === this.#own;
      if (isOwn ? !isOpening : !isEnded && (await startOf(Number(pid))) === start) continue;
      await this.#adoptFile(join(this.#options.folder, name), !isEnded).catch((error: unknown) =>
        this.#options.log.error("could not read a recording that was left behind", { file: name, error: errorText(error) }),
      );
    }
  }

  async #adoptFile(file: string, interrupted: boolean): Promise<void> {
    const facts = await readFacts(file);
    if (facts === undefined) {
      this.#options.log.warn("dropped an empty recording: nothing is lost", { file });
      return await rm(file, { force: true });
    }
    const { size, mtime } = await stat(file);
    this.#bytes += size;
    this.#held.set(facts.sid, { facts, file, written: size, sent: 0, end: { ended: mtime.toISOString(), interrupted } });
    this.onNews();
  }

  #refuseMore(recording: SpooledRecording, bytes: number): void {
    const { maxRecording = 64 * 1024 * 1024, maxTotal = usualTotal } = this.#options;
    if (recording.written + bytes > maxRecording) throw new PlatformError("limit", `this recording has reached its limit of ${maxRecording} bytes`);
    if (this.#bytes + bytes > maxTotal) throw new PlatformError("limit", "too many recordings on this host are waiting for the auth service");
  }

  /** Its name marks it as complete, whatever happens to this process. */
  #finish(recording: SpooledRecording, end: RecordingEnd): void {
    const ended = join(this.#options.folder, `${recording.facts.sid}.ended.${endingOf(recording.facts)}`);
    if (!end.interrupted && renamed(recording.file, ended)) recording.file = ended;
    recording.end = end;
    this.onNews();
  }
}

/** At once: a reader that misses the file under its old name finds the new name in the recording. */
function renamed(from: string, to: string): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch {
    return false;
  }
}

function endingOf({ format }: RecordingFacts): string {
  const known = recordingFormat(format);
  if (known === undefined) throw new Error(`no recording format ${format}`);
  return recordingFormats[known].ending;
}

/** Facts in the header of a recording; undefined when it has none. */
async function readFacts(file: string): Promise<RecordingFacts | undefined> {
  await using handle = await open(file, "r");
  const { bytesRead, buffer } = await handle.read(Buffer.alloc(headBytes), 0, headBytes, 0);
  // Loaded when needed: its schemas take memory that an idle agent can save.
  const { recordingFactsSchema } = await import("../resources/recording.ts");
  return recordingFactsSchema.safeParse(headerFacts(buffer.subarray(0, bytesRead))).data;
}
