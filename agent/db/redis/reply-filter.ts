import { HeldBytes } from "../../../core/bytes/held-bytes.ts";
import { type Aggregate, OpenValues } from "../../../core/databases/redis/open-values.ts";
import { valueShapes } from "../../../core/databases/redis/value-boundaries.ts";
import type { Filter } from "../frame-filter.ts";
import { byte, maxHeaderBytes, parseLength, protocolError } from "./resp.ts";

export interface ReplyFollower {
  /** The beginning of an error that answers a command, at most `errorBytes` of its line. A buffer takes the place of the whole reply. */
  readonly onError: (line: Buffer) => Buffer | undefined;
  /** A whole reply has gone on; not called for what a server sends unasked (a push of RESP3). */
  readonly onReply: () => void;
  /** A reply begins that is not an error. The function gets the whole of it, undefined if it has more than `maxKept` bytes, and returns what goes on. */
  readonly keep?: () => ((reply: Buffer | undefined) => Buffer) | undefined;
}

interface KeptReply {
  /** Undefined: it has become too long. */
  bytes: HeldBytes | undefined;
  readonly take: (reply: Buffer | undefined) => Buffer;
}

/** Bytes of an error that wait for the decision about it: one that names a host is complete in them. */
export const errorBytes = 512;
/** Longest reply that is kept whole. */
export const maxKept = 1024 * 1024;
/** Deepest nesting of a reply. Scripts reach some hundreds. */
const maxDepth = 10_000;

const nothing: Buffer = Buffer.alloc(0);
const [minus, push] = ["-".charCodeAt(0), ">".charCodeAt(0)];

/**
 * Follows the replies of a server from header to header, RESP2 and RESP3, whatever the chunks in which they arrive. They pass untouched, except
 * errors for which `onError` has another text.
 */
export class ReplyFilter implements Filter {
  readonly #follower: ReplyFollower;
  /** An incomplete header. */
  #held: Buffer = nothing;
  readonly #open = new OpenValues(maxDepth);
  #isPush = false;
  /** Bytes of a value that are still to come, its CR LF included. */
  #left = 0;
  #inLine = false;
  /** What is to come of this line does not go on. */
  #drops = false;
  /** Undefined: the reply goes on as it comes. */
  #kept: KeptReply | undefined;

  /** The session is over: after the reply that has begun, nothing goes on. */
  #isLast = false;

  constructor(follower: ReplyFollower) {
    this.#follower = follower;
  }

  finish(): void {
    this.#isLast = true;
  }

  get atBoundary(): boolean {
    return (this.#open.isEmpty && this.#left === 0 && !this.#inLine) || this.#drops || this.#kept !== undefined;
  }

  get heldBytes(): number {
    return this.#held.length + (this.#kept?.bytes?.length ?? 0);
  }

  /** The bytes that go on, in order. Throws `invalid` for what is not RESP. */
  push(chunk: Buffer): Buffer[] {
    const all = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    const out: Buffer[] = [];
    this.#held = nothing;
    /** Beginning of the passing bytes that are not in `out` yet. */
    let from = 0;
    let at = 0;
    while (at < all.length) {
      if (this.#isLast && this.atBoundary) break;
      if (this.#left > 0 || this.#inLine) {
        at = this.#skip(all, at);
        if (this.#drops) from = at;
        if (this.#left === 0 && !this.#inLine) this.#completed();
      } else {
        const { header, instead } = this.#header(all, at);
        if (header === 0) break;
        if (at > from && (instead !== undefined || this.#kept !== undefined)) out.push(all.subarray(from, at));
        if (instead !== undefined || this.#kept !== undefined) from = at;
        at += header;
        if (instead !== undefined) {
          out.push(instead);
          from = at;
          this.#drops = true;
        }
      }
      if (this.#kept === undefined) continue;
      this.#keep(this.#kept, all.subarray(from, at));
      from = at;
      // A reply is complete: it was the kept one.
      if (!this.#open.isEmpty) continue;
      out.push(this.#kept.take(this.#kept.bytes?.bytes));
      this.#kept = undefined;
    }
    if (at > from) out.push(all.subarray(from, at));
    this.#held = this.#isLast && this.atBoundary ? nothing : Buffer.from(all.subarray(at));
    return out;
  }

  #keep(kept: KeptReply, piece: Buffer): void {
    if ((kept.bytes?.length ?? 0) + piece.length > maxKept) kept.bytes = undefined;
    // The first piece is held as it is, and must not hold its chunk.
    kept.bytes?.add(kept.bytes.length === 0 ? Buffer.from(piece) : piece);
  }

  #skip(all: Buffer, at: number): number {
    if (!this.#inLine) {
      const step = Math.min(this.#left, all.length - at);
      this.#left -= step;
      return at + step;
    }
    const end = all.indexOf(byte.lf, at);
    this.#inLine = end < 0;
    return end < 0 ? all.length : end + 1;
  }

  /** The header at `at`: its length, 0 if it is not complete, and what takes the place of the reply that it begins. */
  #header(all: Buffer, at: number): { readonly header: number; readonly instead?: Buffer | undefined } {
    const type = all[at] ?? 0;
    const shape = valueShapes.get(type);
    if (shape === undefined) throw protocolError(`a reply of type ${type}`);
    const isFirst = this.#open.isEmpty;
    if (shape === "line") {
      const error = type === minus && isFirst ? errorAt(all, at) : nothing;
      if (error === undefined) return { header: 0 };
      if (isFirst) this.#begin(type);
      this.#inLine = true;
      return { header: 1, instead: type === minus && isFirst ? this.#follower.onError(error) : undefined };
    }
    const end = all.subarray(at, at + maxHeaderBytes).indexOf(byte.lf);
    if (end < 0 && all.length - at < maxHeaderBytes) return { header: 0 };
    if (end < 0) throw protocolError("invalid length in a reply");
    const length = parseLength(all.subarray(at, at + end + 1), Number.MAX_SAFE_INTEGER, "length in a reply");
    if (isFirst) this.#begin(type);
    if (shape === "text") this.#value(length);
    else this.#elements(shape, length);
    return { header: end + 1 };
  }

  #begin(type: number): void {
    this.#open.begin();
    this.#isPush = type === push;
    if (type === push || type === minus) return;
    const take = this.#follower.keep?.();
    if (take !== undefined) this.#kept = { bytes: new HeldBytes(), take };
  }

  #value(length: number): void {
    if (length < 0) this.#completed();
    else this.#left = length + 2;
  }

  #elements(shape: Aggregate, length: number): void {
    const added = this.#open.add(shape, length);
    if (added === "empty") this.#completed();
    else if (added === "too deep") throw protocolError("a reply is nested too deeply");
  }

  /** An element is complete, and with it maybe those around it. */
  #completed(): void {
    if (!this.#open.complete()) return;
    this.#drops = false;
    if (!this.#isPush) this.#follower.onReply();
  }
}

/** The beginning of an error; undefined if not enough of it is here. */
function errorAt(all: Buffer, at: number): Buffer | undefined {
  const text = all.subarray(at, at + errorBytes);
  const end = text.indexOf(byte.lf);
  if (end >= 0) return text.subarray(0, end);
  return text.length < errorBytes ? undefined : text;
}
