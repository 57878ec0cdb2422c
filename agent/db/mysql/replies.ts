import { Reader } from "../../../core/bytes/fields.ts";
import { type Capabilities, capability } from "../../../core/databases/mysql/capabilities.ts";
import { errorPacket, type MysqlError } from "../../../core/databases/mysql/error-packet.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { StatementResult } from "../../../core/recording/statements.ts";
import type { Settle } from "../engine.ts";
import type { Frame, Verdict } from "../frame-filter.ts";
import { extension, has, hasExtension } from "./capabilities.ts";
import { okStatus, okWritten } from "./server-answer.ts";
import { errorResult, noCounts, okResult } from "./statement-result.ts";
import { lenenc, maxPayload, u16, u32 } from "./wire.ts";

/** The server's answer to a request for a prepared statement. */
export interface Prepared {
  readonly statement: number;
  readonly parameters: number;
}

/**
 * A command that the server is going to answer: with one packet (`ok`, `text`), result sets (`result`), only rows (`rows`), only columns (`columns`), or the
 * numbers of a prepared statement (`prepared`).
 */
export interface Expected {
  readonly shape: "ok" | "text" | "result" | "rows" | "columns" | "prepared";
  /** Takes the place of the answer: the command was refused, and another one went to the server. */
  readonly instead?: MysqlError;
  /** Undefined: the server refused it. */
  readonly onPrepared?: (prepared: Prepared | undefined) => void;
  /** For the session's recording. */
  result?: Settle | undefined;
}

/** Bytes of a packet of the server that are looked at, and of one that can be an error in place of an answer. */
const keptOfAnswer = 32;
const keptOfFirst = 640;

/** More result sets follow; the rows wait for a fetch. */
const moreResults = 8;
const cursorExists = 64;

type Phase = "first" | "definitions" | "end of definitions" | "rows";

/** Follows which answer belongs to which command, packet by packet, and knows the number of the next packet. */
export class Replies {
  readonly #session: Capabilities;
  readonly #expected: Expected[] = [];
  #phase: Phase = "first";
  /** Definitions that are still to come, by group: those of parameters, then those of columns. */
  #definitions: number[] = [];
  #continues = false;
  #hasFarewell = false;
  #next = 0;
  #commandNext = 1;
  #counts = noCounts();

  constructor(session: Capabilities) {
    this.#session = session;
  }

  /** Number of commands without a complete answer. */
  get waiting(): number {
    return this.#expected.length;
  }

  /** Whether a packet of the server is not complete though its frame is: nothing may be inserted. */
  get continues(): boolean {
    return this.#continues;
  }

  /** Whether the server has given a reason for its end. */
  get hasFarewell(): boolean {
    return this.#hasFarewell;
  }

  /** Bytes of the next packet that are looked at. */
  get kept(): number {
    return this.#phase === "first" ? keptOfFirst : keptOfAnswer;
  }

  /** The number that the client expects of the next packet. */
  get nextSequence(): number {
    return this.#next;
  }

  expect(expected: Expected): void {
    this.#expected.push(expected);
  }

  /** The command is whole; its last packet had this number. */
  sent(sequence: number): void {
    this.#commandNext = (sequence + 1) & 255;
    if (this.#expected.length === 1 && this.#phase === "first") this.#next = this.#commandNext;
  }

  /** Decides about a packet of the server. Throws PlatformError `invalid` for one that servers do not send; the client does not get it. */
  judge(frame: Frame): Verdict {
    const sequence = frame.header[3] ?? 0;
    this.#next = (sequence + 1) & 255;
    try {
      return this.#follow(frame, sequence);
    } catch (thrown) {
      this.#next = sequence;
      throw thrown;
    }
  }

  #follow({ header, body, length }: Frame, sequence: number): Verdict {
    const payload = length - header.length;
    const continued = this.#continues;
    this.#continues = payload === maxPayload;
    if (continued) return "pass";
    const current = this.#expected[0];
    if (current === undefined) return this.#unasked(body);
    if (body[0] === 0xff && this.#isProgress(body)) return "pass";
    if (body[0] === 0xff && current.shape !== "text") {
      if (this.#phase === "first") current.onPrepared?.(undefined);
      this.#finish(errorResult(this.#counts, body, payload));
      return "pass";
    }
    if (current.instead !== undefined) {
      this.#finish();
      return errorPacket(sequence, current.instead);
    }
    if (this.#phase === "first") this.#first(current, body, payload);
    else this.#further(body, payload);
    return "pass";
  }

  /** The server's own last words. */
  #unasked(body: Buffer): Verdict {
    this.#hasFarewell ||= body[0] === 0xff;
    if (body[0] === 0xff) return "pass";
    throw new PlatformError("invalid", "the database sent an answer without a command");
  }

  #isProgress(body: Buffer): boolean {
    return hasExtension(this.#session, extension.progress) && body.length >= 3 && body.readUInt16LE(1) === 0xffff;
  }

  #first(current: Expected, body: Buffer, payload: number): void {
    const { shape } = current;
    if (shape === "ok" || shape === "text") this.#finish();
    else if (shape === "prepared") this.#onPrepared(current, body);
    else if (shape === "result") this.#onResult(body);
    else {
      this.#phase = "rows";
      this.#row(body, payload);
    }
  }

  /** `00 | statement u32 | columns u16 | parameters u16`. */
  #onPrepared({ onPrepared }: Expected, body: Buffer): void {
    const reader = new Reader(body);
    if (reader.u8() !== 0) throw new PlatformError("invalid", "the database answered a prepared statement with something else");
    const statement = u32(reader);
    const columns = u16(reader);
    const parameters = u16(reader);
    onPrepared?.({ statement, parameters });
    this.#definitions = [parameters, columns].filter((count) => count > 0);
    this.#nextDefinitions();
  }

  /** `00 …`: OK; `FB …`: a request for a file; else `columns lenenc | 1 if their definitions follow (cached metadata)`. */
  #onResult(body: Buffer): void {
    if (body[0] === 0) {
      this.#counts.affected = (this.#counts.affected ?? 0) + okWritten(body);
      this.#endOfResult(okStatus(body));
      return;
    }
    if (body[0] === 0xfb) {
      throw new PlatformError("invalid", "the database asked for a file of this computer, and got none: LOAD DATA LOCAL is not allowed");
    }
    const reader = new Reader(body);
    const columns = lenenc(reader);
    const skipped = hasExtension(this.#session, extension.cachedMetadata) && !reader.done && reader.u8() === 0;
    this.#definitions = [skipped ? 0 : columns];
    this.#phase = "definitions";
    if (skipped) this.#endOfDefinitions();
  }

  #further(body: Buffer, payload: number): void {
    if (this.#phase === "rows") this.#row(body, payload);
    else if (this.#phase === "end of definitions") this.#eofOfDefinitions(body);
    else this.#definition();
  }

  #definition(): void {
    const left = (this.#definitions[0] ?? 0) - 1;
    this.#definitions[0] = left;
    if (left <= 0) this.#endOfDefinitions();
  }

  #endOfDefinitions(): void {
    if (has(this.#session, capability.deprecateEof)) this.#afterDefinitions(0);
    else this.#phase = "end of definitions";
  }

  /** `FE | warnings u16 | status u16`. */
  #eofOfDefinitions(body: Buffer): void {
    if (body[0] !== 0xfe || body.length < 5) throw new PlatformError("invalid", "the database did not end the definitions of a result");
    this.#afterDefinitions(body.readUInt16LE(3));
  }

  #afterDefinitions(status: number): void {
    this.#definitions.shift();
    if (this.#expected[0]?.shape === "prepared") this.#nextDefinitions();
    else if ((status & cursorExists) !== 0) this.#finish();
    else this.#phase = "rows";
  }

  #nextDefinitions(): void {
    if (this.#definitions.length === 0) this.#finish();
    else this.#phase = "definitions";
  }

  /** A row, or the end: `FE`, as an OK packet or the older short one. */
  #row(body: Buffer, payload: number): void {
    const isNew = has(this.#session, capability.deprecateEof);
    if (body[0] !== 0xfe || payload >= (isNew ? maxPayload : 9)) {
      this.#counts.rows += 1;
      return;
    }
    this.#counts.sets += 1;
    if (!isNew && body.length < 5) throw new PlatformError("invalid", "the database did not end a result as the protocol demands");
    this.#endOfResult(isNew ? okStatus(body) : body.readUInt16LE(3));
  }

  #endOfResult(status: number): void {
    if ((status & moreResults) !== 0 && this.#expected[0]?.shape === "result") this.#phase = "first";
    else this.#finish();
  }

  #finish(failure?: StatementResult): void {
    const done = this.#expected.shift();
    done?.result?.(failure ?? okResult(done.shape === "columns" ? noCounts() : this.#counts));
    this.#counts = noCounts();
    this.#phase = "first";
    this.#next = this.#expected.length === 0 ? 0 : this.#commandNext;
  }
}
