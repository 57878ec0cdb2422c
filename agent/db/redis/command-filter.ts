import { HeldBytes } from "../../../core/bytes/held-bytes.ts";
import type { Filter } from "../frame-filter.ts";
import { ArgumentReader } from "./argument-reader.ts";
import { type Argument, type Command, keptArguments } from "./command.ts";
import { commandOf } from "./command-of.ts";
import {
  byte,
  encodeCommand,
  maxArgumentBytes,
  maxArguments,
  maxHeaderBytes,
  maxInlineBytes,
  openingOf,
  parseLength,
  protocolError,
} from "./resp.ts";
import { scriptPlace } from "./script-place.ts";
import { splitInline } from "./split-inline.ts";

/** Decides about the commands of a client. */
export interface CommandJudge {
  /**
   * Called after each argument until it decides, before any byte of the command goes on; a buffer takes the command's place. "more": not before
   * the next argument; never for a whole command.
   */
  decide(command: Command): "more" | "pass" | Buffer;
  /** A command that passes is complete. `bytes`: of all its arguments. */
  passed(command: Command, bytes: number): void;
}

/** Maximum bytes of a command that wait for its decision. */
const maxHeld = 64 * 1024;

/** The command that is being read. */
interface Current {
  readonly words: Argument[];
  /** Those of them that hold no chunk. */
  detached: number;
  readonly count: number;
  /** Arguments still to come, the one that is being read included. */
  left: number;
  bytes: number;
  fate: "open" | "pass" | "drop";
}

/**
 * Follows the commands of a client whatever the chunks in which they arrive, and lets each of them pass or replaces it. A command goes on as soon as
 * it is decided, so an argument of any length streams through. An inline command goes on as the array of its arguments: the server executes what was
 * judged here.
 */
export class CommandFilter implements Filter {
  readonly #judge: CommandJudge;
  /** Bytes that wait: of a command without a decision, or of an incomplete line. The first `#scanned` of them have been read. */
  readonly #held = new HeldBytes();
  #scanned = 0;
  /** The held bytes were searched up to here for the end of the awaited line. */
  #searched = 0;
  #command: Current | undefined;
  #argument: ArgumentReader | undefined;
  #opening: Buffer = Buffer.alloc(0);

  constructor(judge: CommandJudge) {
    this.#judge = judge;
  }

  get atBoundary(): boolean {
    return this.#command?.fate !== "pass";
  }

  get heldBytes(): number {
    return this.#held.length;
  }

  /** The first word of the command that is being read, for the report of a malformed one; never more, as a secret can follow. */
  get opening(): Buffer {
    return openingOf(this.#opening);
  }

  /** The bytes that go on, in order; those of one chunk that pass stay in one piece. Throws `invalid`, and what the judge throws. */
  push(chunk: Buffer): Buffer[] {
    const isHeld = this.#held.length > 0;
    if (isHeld) this.#held.add(chunk);
    const reading = new Reading(isHeld ? this.#held.bytes : chunk, this.#scanned, this.#searched);
    while (this.#step(reading));
    const { fate } = this.#command ?? {};
    const keep = fate === "open" ? reading.start : reading.at;
    if (fate === "drop") reading.skip();
    reading.flush(keep);
    // Bytes that go on may share this memory.
    if (isHeld && keep > 0) this.#held.take();
    if ((!isHeld || keep > 0) && keep < reading.bytes.length) this.#held.add(Buffer.from(reading.bytes.subarray(keep)));
    this.#scanned = reading.at - keep;
    this.#searched = reading.searched - keep;
    this.#opening = Buffer.from(this.#opening);
    if (this.#command !== undefined) detach(this.#command);
    if (fate === "open" && this.#held.length > maxHeld) throw protocolError("too long a command of its kind");
    return reading.out;
  }

  /** Reads one line, one piece of an argument, or the end of an argument. False: it needs more bytes. */
  #step(reading: Reading): boolean {
    const argument = this.#argument;
    if (argument === undefined) return this.#command === undefined ? this.#begin(reading) : this.#size(reading, this.#command);
    const step = Math.min(argument.left, reading.bytes.length - reading.at);
    const isLast = step === argument.left && reading.bytes.length - reading.at - step >= 2;
    argument.add(reading.bytes.subarray(reading.at, reading.at + step), isLast);
    reading.at += step;
    if (!isLast) return false;
    if (reading.bytes[reading.at] !== byte.cr || reading.bytes[reading.at + 1] !== byte.lf)
      throw protocolError("an argument is longer than announced");
    reading.at += 2;
    this.#argument = undefined;
    if (this.#command !== undefined) this.#added(this.#command, argument.end(), reading);
    return true;
  }

  /** The first line of a command. */
  #begin(reading: Reading): boolean {
    const { bytes } = reading;
    if (reading.at === bytes.length) return false;
    this.#opening = bytes.subarray(reading.at, reading.at + 16);
    const isInline = bytes[reading.at] !== byte.star;
    const line = reading.line(isInline ? maxInlineBytes : maxHeaderBytes);
    if (line === undefined) return false;
    reading.start = reading.at;
    if (isInline) this.#inline(line, reading);
    else {
      const count = parseLength(line, maxArguments, "multibulk length");
      // A server ignores an empty one.
      if (count < 1) reading.flush(reading.at);
      reading.at += line.length;
      if (count < 1) reading.skip();
      else this.#command = { words: [], detached: 0, count, left: count, bytes: 0, fate: "open" };
    }
    return true;
  }

  #inline(line: Buffer, reading: Reading): void {
    const words = splitInline(line.subarray(0, -1));
    reading.flush(reading.at);
    reading.at += line.length;
    reading.skip();
    if (words.length === 0) return;
    const command = commandOf(words);
    const verdict = this.#decided(command);
    reading.out.push(verdict === "pass" ? encodeCommand(words) : verdict);
    if (verdict === "pass") {
      const bytes = words.reduce((sum, word) => sum + word.length, 0);
      this.#judge.passed(command, bytes);
    }
  }

  /** The line with the length of the next argument. */
  #size(reading: Reading, command: Current): boolean {
    const first = reading.bytes[reading.at];
    if (first !== undefined && first !== byte.dollar) throw protocolError("expected '$' before the length of an argument");
    const line = reading.line(maxHeaderBytes);
    if (line === undefined) return false;
    const length = parseLength(line, maxArgumentBytes, "bulk length");
    if (length < 0) throw protocolError("invalid bulk length");
    reading.at += line.length;
    command.bytes += length;
    const index = command.count - command.left;
    // Scripts stand only in these places: an MSET of a million arguments is not asked a million times.
    this.#argument = new ArgumentReader(length, (index <= 2 || command.left === 1) && scriptPlace(command) === index);
    return true;
  }

  #added(command: Current, argument: Argument, reading: Reading): void {
    command.left -= 1;
    if (command.words.length < keptArguments) command.words.push(argument);
    if (command.fate === "open") {
      const verdict =
        command.words.length < command.count && command.words.length < keptArguments ? this.#judge.decide(command) : this.#decided(command);
      if (verdict !== "more") {
        command.fate = verdict === "pass" ? "pass" : "drop";
        if (verdict !== "pass") {
          reading.flush(reading.start);
          reading.out.push(verdict);
        }
      }
    }
    if (command.fate === "drop") reading.skip();
    if (command.left > 0) return;
    this.#command = undefined;
    if (command.fate === "pass") this.#judge.passed(command, command.bytes);
  }

  /** The verdict about a command that is known as far as it ever will be. */
  #decided(command: Command): "pass" | Buffer {
    const verdict = this.#judge.decide(command);
    if (verdict === "more") throw protocolError("too many arguments for a command of its kind");
    return verdict;
  }
}

/** What is kept beyond the call must not hold on to its chunks. */
function detach(command: Current): void {
  const { words } = command;
  for (let index = command.detached; index < words.length; index += 1) {
    const word = words[index];
    if (word !== undefined) words[index] = { ...word, bytes: Buffer.from(word.bytes) };
  }
  command.detached = words.length;
}

/** A chunk while it is read: up to `at`. The bytes between `from` and `at` are not in `out` yet. */
class Reading {
  readonly bytes: Buffer;
  readonly out: Buffer[] = [];
  at: number;
  from = 0;
  /** Where the command begins. */
  start = 0;
  /** How far the line that begins at `at` has been searched for its end. */
  searched: number;

  constructor(bytes: Buffer, at: number, searched: number) {
    this.bytes = bytes;
    this.at = at;
    this.searched = searched;
  }

  /** The line at `at` with its LF; undefined: incomplete. */
  line(limit: number): Buffer | undefined {
    const end = this.bytes.indexOf(byte.lf, Math.max(this.at, this.searched)) + 1;
    if (end === 0) this.searched = this.bytes.length;
    const length = (end > 0 ? end : this.bytes.length) - this.at;
    if (length > limit || (end === 0 && length === limit))
      throw protocolError(limit === maxInlineBytes ? "too big inline request" : "too long a length");
    return end > 0 ? this.bytes.subarray(this.at, end) : undefined;
  }

  flush(to: number): void {
    if (to > this.from) this.out.push(this.bytes.subarray(this.from, to));
    this.from = Math.max(this.from, to);
  }

  /** Drops what was read up to here. */
  skip(): void {
    this.from = this.at;
  }
}
