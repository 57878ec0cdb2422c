import { type FileHandle, open } from "node:fs/promises";
import { PlatformError, toPlatformError } from "../errors/platform-error.ts";
import { encodeMember } from "../recording/member.ts";

export interface RecordingFileOptions {
  readonly file: string;
  /** Throws `limit` when there is no room for that many more bytes. */
  readonly refuseMore: (bytes: number) => void;
  /** Called with the number of bytes on disk. */
  readonly onWritten: (bytes: number) => void;
  /** Called at most once, when nothing more is written. */
  readonly onFailed: (why: PlatformError) => void;
}

/** What a file begins with. */
export interface FileStart {
  /** On disk when the file is open. The first of them is the header. */
  readonly lines: readonly string[];
  /** Maximum delay until a line is on disk, ms; default `usualFlushMs`. */
  readonly flushMs?: number;
  /** Whether each line survives a failure of the host itself; default: yes. Without, it survives that of the process. */
  readonly isSynced?: boolean;
}

const usualFlushMs = 1_000;
/** Amount of text that is written as a member at once, and that makes the session wait for the disk, characters. */
const flushLength = 128 * 1024;
const waitLength = 512 * 1024;

/** A recording's file: whole lines of any format, in gzip members, written as they come. */
export class RecordingFile {
  readonly #options: RecordingFileOptions;
  readonly #handle: FileHandle;
  readonly #flushMs: number;
  readonly #isSynced: boolean;
  #lines: string[] = [];
  #length = 0;
  #members = 0;
  #bytes = 0;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;
  #hasFailed = false;

  /** Creates the file, which must not exist. Throws PlatformError. */
  static async open(options: RecordingFileOptions, { lines, flushMs = usualFlushMs, isSynced = true }: FileStart): Promise<RecordingFile> {
    const handle = await open(options.file, "wx", 0o600).catch((cause: unknown) => {
      throw cannotWrite(cause);
    });
    const file = new RecordingFile(options, handle, { flushMs, isSynced });
    for (const line of lines) file.#keep(line);
    await file.#flush();
    return file;
  }

  private constructor(options: RecordingFileOptions, handle: FileHandle, { flushMs, isSynced }: Required<Omit<FileStart, "lines">>) {
    this.#options = options;
    this.#handle = handle;
    this.#flushMs = flushMs;
    this.#isSynced = isSynced;
  }

  /** Adds a line, which ends with a line feed. After a failure it does nothing. */
  add(line: string): void {
    if (this.#hasFailed) return;
    this.#keep(line);
    if (this.#length >= flushLength) void this.#flush();
    else this.#timer ??= setTimeout(() => void this.#flush(), this.#flushMs);
  }

  /** A promise when too much is waiting for the disk: wait for it before adding more. */
  whenBehind(): Promise<void> | undefined {
    return this.#length >= waitLength ? this.#flush() : undefined;
  }

  /** Ends the file, with all of it on disk if possible. Never throws. */
  async end(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#flush();
    await this.#handle.close().catch(() => {});
  }

  #keep(line: string): void {
    this.#lines.push(line);
    this.#length += line.length;
  }

  #flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined;
    });
    return this.#writing;
  }

  async #writeAll(): Promise<void> {
    while (this.#lines.length > 0 && !this.#hasFailed) {
      try {
        await this.#writeMember(this.#take());
      } catch (thrown) {
        this.#fail(thrown instanceof PlatformError ? thrown : cannotWrite(thrown));
      }
    }
  }

  /** Lines for one member: at least one. */
  #take(): string {
    let [count, length] = [0, 0];
    while (count < this.#lines.length && length < flushLength) {
      length += this.#lines[count]?.length ?? 0;
      count += 1;
    }
    this.#length -= length;
    return this.#lines.splice(0, count).join("");
  }

  async #writeMember(text: string): Promise<void> {
    const member = encodeMember(Buffer.from(text), this.#members);
    this.#options.refuseMore(member.length);
    await this.#handle.appendFile(member);
    if (this.#isSynced) await this.#handle.datasync();
    this.#members += 1;
    this.#bytes += member.length;
    this.#options.onWritten(this.#bytes);
  }

  #fail(why: PlatformError): void {
    this.#hasFailed = true;
    this.#lines = [];
    this.#length = 0;
    clearTimeout(this.#timer);
    this.#options.onFailed(why);
  }
}

function cannotWrite(cause: unknown): PlatformError {
  const { code } = cause as NodeJS.ErrnoException;
  const why = code === "ENOSPC" || code === "EDQUOT" ? "the disk is full" : toPlatformError(cause).message;
  return new PlatformError("unavailable", `this host could not write the recording: ${why}`, { cause });
}
