import { Readable } from "node:stream";
import { HeldBytes } from "./held-bytes.ts";

/** Unread bytes from which on small pieces are put together, the longest small one, and the size of what they become. */
const [gatherFrom, smallPiece, gatheredPiece] = [16_384, 1_024, 65_536] as const;

/** What waits behind the stream's own unread bytes: at least `gatherFrom` of those, since each `read` takes it out. */
const gathered = new WeakMap<Readable, HeldBytes>();

/**
 * Makes a stream of bytes, or the prototype of such streams, put small pieces together while they are not read. Node keeps each of them with a buffer of its own:
 * of single bytes that is several hundred times what the limit, in bytes, allows.
 */
export function gatherPieces<Stream extends Readable>(stream: Stream): Stream {
  return Object.assign(stream, { push, read });
}

/** Unread bytes. */
export function unreadBytes(stream: Readable): number {
  return stream.readableLength + (gathered.get(stream)?.length ?? 0);
}

function push(this: Readable, chunk: Buffer | null, encoding?: BufferEncoding): boolean {
  const isSmall = chunk !== null && chunk.length <= smallPiece && this.readableLength >= gatherFrom;
  if (!isSmall) {
    release(this);
    return Readable.prototype.push.call(this, chunk, encoding);
  }
  const held = gathered.get(this) ?? new HeldBytes();
  gathered.set(this, held);
  held.add(chunk, gatheredPiece);
  if (held.length > gatheredPiece - smallPiece) release(this);
  return false;
}

function read(this: Readable, size?: number): unknown {
  release(this);
  return Readable.prototype.read.call(this, size);
}

function release(stream: Readable): void {
  const held = gathered.get(stream);
  if (held === undefined) return;
  gathered.delete(stream);
  Readable.prototype.push.call(stream, held.take());
}
