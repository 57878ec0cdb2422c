import { type FileHandle, open } from "node:fs/promises";
import { PlatformError, toPlatformError } from "../errors/platform-error.ts";
import { type CastHeader, encodeCastEvent, encodeCastHeader } from "../recording/cast.ts";
import { encodeMember } from "../recording/member.ts";
import { TerminalText } from "../recording/terminal-text.ts";

export interface WriterOptions {
  readonly file: string;
  readonly header: CastHeader;
  /** Throws `limit` when there is no room for that many more bytes. */
  readonly refuseMore: (bytes: number) => void;
  /** Called with the number of bytes on disk. */
  readonly onWritten: (bytes: number) => void;
  /** Called at most once, when nothing more is written. */
  readonly onFailed: (why: PlatformError) => void;
}

/** Maximum delay until output is on disk, ms. */
const flushMs = 1_000;
/** Amount of text that is written as a member at once, and that makes the terminal wait for the disk, characters. */
const flushLength = 128 * 1024;
const waitLength = 512 * 1024;
/** Longest text of one event, bytes: JSON may make it six times as long. */
const eventBytes = 64 * 1024;

/** Writes the output of one terminal into a file, as it comes. It never sees the input. */
export class RecordingWriter {
  readonly #options: WriterOptions;
  readonly #handle: FileHandle;
  readonly #began = performance.now();
  readonly #text = new TerminalText();
  #lines: string[] = [];
  #length = 0;
  #members = 0;
  #bytes = 0;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;
  #hasFailed = false;

  /** Creates the file, which must not exist, with the header on disk. Throws PlatformError. */
  static async open(options: WriterOptions): Promise<RecordingWriter> {
    const handle = await open(options.file, "wx", 0o600).catch((cause: unknown) => {
      throw cannotWrite(cause);
    });
    const writer = new RecordingWriter(options, handle);
    writer.#add(encodeCastHeader(options.header));
    await writer.#flush();
    return writer;
  }

  private constructor(options: WriterOptions, handle: FileHandle) {
    this.#options = options;
    this.#handle = handle;
  }

  /** Records output. If it returns a promise, wait for it before more. */
  show(chunk: Buffer): Promise<void> | undefined {
    for (let at = 0; at < chunk.length; at += eventBytes) this.#event("o", this.#text.take(chunk.subarray(at, at + eventBytes)));
    return this.#length >= waitLength ? this.#flush() : undefined;
  }

  resize(columns: number, rows: number): void {
    this.#event("r", `${columns}x${rows}`);
  }

  /** Ends the recording, with all of it on disk if possible. Never throws. */
  async end(): Promise<void> {
    this.#event("o", this.#text.end());
    clearTimeout(this.#timer);
    await this.#flush();
    await this.#handle.close().catch(() => {});
  }

  #event(kind: string, data: string): void {
    if (data === "" || this.#hasFailed) return;
    this.#add(encodeCastEvent({ time: (performance.now() - this.#began) / 1000, kind, data }));
    if (this.#length >= flushLength) void this.#flush();
    else this.#timer ??= setTimeout(() => void this.#flush(), flushMs);
  }

  #add(line: string): void {
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
    await this.#handle.datasync();
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
