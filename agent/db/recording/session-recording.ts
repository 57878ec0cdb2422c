import { type PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import { encodeMember } from "../../../core/recording/member.ts";
import { encodeBegin, encodeEnd, encodeStatementsHeader, type StatementResult, type StatementsHeader } from "../../../core/recording/statements.ts";
import { RecordingFile } from "../../../core/recording-spool/recording-file.ts";
import type { OpenRecording } from "../../../core/recording-spool/recording-spool.ts";
import { mustBeRecorded, watchUpload } from "../../../core/recording-spool/required-recording.ts";
import type { RecordingFacts } from "../../../core/resources/recording.ts";
import type { ServiceDeps } from "../../service/service.ts";
import { cappedValue } from "../capped-text.ts";
import type { DatabaseEvent, Settle, StatementLog } from "../engine.ts";
import { statementOf } from "./statement-of.ts";

export interface RecordedSession {
  readonly facts: RecordingFacts;
  readonly header: Omit<StatementsHeader, "platform">;
  /** Whether the session begins with the beginning of its recording on the disk, and ends when it cannot be recorded. */
  readonly isStrict: boolean;
  /** The same, at the auth service. */
  readonly isSync: boolean;
  readonly recordings: ServiceDeps["recordings"];
  /** Nothing more is recorded. Called at most once. */
  readonly onFailed: (why: PlatformError) => void;
  /** Ends the session. */
  readonly end: (why: PlatformError) => void;
}

/** Maximum delay until a statement is on the disk, ms, where the session may go on without a recording; the audit log has its text at once. */
const lazyMs = 5_000;
/** Characters of waiting lines at which the file is opened early, and the client waits. */
const earlyLength = 64 * 1024;
const waitLength = 512 * 1024;
/** Characters of the lines of a whole session up to which it needs no file. */
const shortLength = 16 * 1024;

const ignore: Settle = () => {};

/**
 * The recording of one session's statements, as the mode demands. Where the session may go on without it, its file is opened with the first
 * statements: a login does not wait for it, and a session without statements has none.
 */
export class SessionRecording implements StatementLog {
  readonly #session: RecordedSession;
  readonly #began = performance.now();
  #number = 0;
  /** Not given to a file yet. */
  #lines: string[] = [];
  #length = 0;
  #timer: NodeJS.Timeout | undefined;
  #opening: Promise<void> | undefined;
  #open: OpenRecording<RecordingFile> | undefined;
  #stopWatch: () => void = () => {};
  #failure: PlatformError | undefined;
  /** An engine that was cut may go on for a moment. */
  #isClosed = false;

  constructor(session: RecordedSession) {
    this.#session = session;
  }

  get #isRequired(): boolean {
    return this.#session.isStrict || this.#session.isSync;
  }

  /** At the login. Throws `unavailable` when the session must be recorded and cannot be. */
  async start(): Promise<void> {
    if (!this.#isRequired) return;
    await this.#ensureOpen();
    if (this.#failure !== undefined) throw mustBeRecorded(this.#failure);
  }

  begin(event: DatabaseEvent, bound: Parameters<StatementLog["begin"]>[1] = {}): Settle {
    const statement = this.#failure === undefined ? statementOf(event) : undefined;
    if (statement === undefined) return ignore;
    this.#number += 1;
    const number = this.#number;
    this.#add(encodeBegin({ ...statement, ...bound, number, time: this.#time() }));
    let isOpen = true;
    const settle: Settle = (result) => {
      if (!isOpen) return;
      isOpen = false;
      this.#add(encodeEnd({ ...bounded(result), number, time: this.#time() }));
    };
    if (event.event === "db.session.query" && !event.success) settle({ outcome: "refused", message: event.error ?? "" });
    return settle;
  }

  /** A promise when too much is waiting for the disk: read nothing more from the client until it resolves. It never rejects. */
  behind(): Promise<void> | undefined {
    if (this.#open !== undefined) return this.#open.writer.whenBehind();
    return this.#length >= waitLength ? this.#opening : undefined;
  }

  /** The session has ended: writes the rest to the disk. Never throws. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#lines.length > 0 && !this.#keepShort()) void this.#ensureOpen();
    clearTimeout(this.#timer);
    await this.#opening;
    this.#stopWatch();
    await this.#open?.end();
  }

  #time(): number {
    return (performance.now() - this.#began) / 1000;
  }

  #add(line: string): void {
    if (this.#failure !== undefined || this.#isClosed) return;
    if (this.#open !== undefined) {
      this.#open.writer.add(line);
      return;
    }
    this.#lines.push(line);
    this.#length += line.length;
    if (this.#length >= earlyLength) void this.#ensureOpen();
    else if (this.#opening === undefined) this.#timer ??= setTimeout(() => void this.#ensureOpen(), lazyMs);
  }

  /** A session that ends before its file was opened needs none. */
  #keepShort(): boolean {
    if (this.#opening !== undefined || this.#length > shortLength) return false;
    const { facts, recordings } = this.#session;
    const bytes = encodeMember(Buffer.from([this.#header(), ...this.#lines].join("")), 0);
    if (!recordings.keep({ facts, bytes })) return false;
    this.#taken();
    return true;
  }

  #header(): string {
    const { facts, header } = this.#session;
    return encodeStatementsHeader({ ...header, platform: facts });
  }

  #ensureOpen(): Promise<void> {
    clearTimeout(this.#timer);
    this.#opening ??= this.#openFile();
    return this.#opening;
  }

  /** Never throws. */
  async #openFile(): Promise<void> {
    const { facts, isSync, recordings } = this.#session;
    const start = { lines: [this.#header(), ...this.#taken()], ...(!this.#isRequired && { flushMs: lazyMs, isSynced: false }) };
    const onFailed = (why: PlatformError): void => this.#fail(why);
    try {
      const open = await recordings.begin({ facts, onFailed, open: async (options) => await RecordingFile.open(options, start) });
      this.#open = open;
      for (const line of this.#taken()) open.writer.add(line);
      if (!isSync) return;
      await recordings.sendNow(open.spooled);
      this.#stopWatch = watchUpload(open, onFailed);
    } catch (thrown) {
      this.#fail(toPlatformError(thrown));
    }
  }

  #taken(): readonly string[] {
    this.#length = 0;
    return this.#lines.splice(0);
  }

  #fail(why: PlatformError): void {
    if (this.#failure !== undefined) return;
    this.#failure = why;
    this.#taken();
    this.#session.onFailed(why);
    if (this.#isRequired) this.#session.end(mustBeRecorded(why));
  }
}

const maxMessage = 2_000;

/** No longer than a line of a recording should be. */
function bounded({ tag, code, message, ...rest }: StatementResult): StatementResult {
  return {
    ...rest,
    ...(tag !== undefined && { tag: cappedValue(tag) }),
    ...(code !== undefined && { code: cappedValue(code) }),
    ...(message !== undefined && { message: cappedValue(message, maxMessage) }),
  };
}
