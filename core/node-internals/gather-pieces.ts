import { Readable } from "node:stream";
import { HeldBytes } from "../bytes/held-bytes.ts";

/** Unread bytes from which on small pieces are put together, the longest small one, and the size of what they become. */
const [gatherFrom, smallPiece, gatheredPiece] = [2_048, 1_024, 65_536] as const;

/** What waits behind the stream's own unread bytes: at least `gatherFrom` of those, since each `read` takes it out. */
const gathered = Symbol("gathered");
/** Whether the reader has asked for more than there was, and waits for `readable`: the next piece is not kept from it. */
const isAwaited = Symbol("isAwaited");

// Properties, not a map: every push and read of every stream looks at them.
interface Gathering extends Readable {
  [gathered]?: HeldBytes | undefined;
  [isAwaited]?: boolean;
}

/**
 * Makes a stream of bytes, or the prototype of such streams, put small pieces together while they are not read. Node keeps each of them with a buffer of its own:
 * of single bytes that is several hundred times what the limit, in bytes, allows. What is put together is not announced: a reader gets `readable` again after a
 * `read` that returned null, or took everything. A stream that does so already stays as it is.
 */
export function gatherPieces<Stream extends Readable>(stream: Stream): Stream {
  if (gathered in stream) return stream;
  return Object.assign(stream, { push, read, [gathered]: undefined, [isAwaited]: false });
}

/** Unread bytes. */
export function unreadBytes(stream: Readable): number {
  return stream.readableLength + ((stream as Gathering)[gathered]?.length ?? 0);
}

function push(this: Gathering, chunk: Buffer | null, encoding?: BufferEncoding): boolean {
  const isKept = chunk !== null && chunk.length <= smallPiece && this.readableLength >= gatherFrom && !this[isAwaited];
  if (!isKept) {
    if (this[isAwaited]) this[isAwaited] = false;
    release(this);
    return Readable.prototype.push.call(this, chunk, encoding);
  }
  const held = this[gathered] ?? new HeldBytes();
  this[gathered] = held;
  held.add(chunk, gatheredPiece);
  if (held.length > gatheredPiece - smallPiece) release(this);
  return false;
}

function read(this: Gathering, size?: number): unknown {
  release(this);
  const got: unknown = Readable.prototype.read.call(this, size);
  if (got === null && size !== 0 && this.readableLength >= gatherFrom) this[isAwaited] = true;
  return got;
}

function release(stream: Gathering): void {
  const held = stream[gathered];
  if (held === undefined) return;
  stream[gathered] = undefined;
  Readable.prototype.push.call(stream, held.take());
}
