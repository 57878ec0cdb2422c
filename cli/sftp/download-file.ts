import { closeSync, constants, fchmodSync, futimesSync, openSync, type Stats, statSync, writeSync } from "node:fs";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { type Attributes, kindOf } from "../../core/sftp/attributes.ts";
import { openFlags } from "../../core/sftp/numbers.ts";
import type { Response } from "../../core/sftp/response.ts";
import { closeHandle, failureOf, openFile, statHandle } from "../../core/sftp-client/sftp-calls.ts";
import { type CopyFacts, UnderWay } from "./copy-state.ts";
import { atTarget } from "./file-queue.ts";
import { hasSameStart, mayResume } from "./find-resume.ts";

interface Download {
  readonly source: Buffer;
  /** Attributes of the file itself, not of a link to it. */
  readonly attributes: Attributes;
  readonly target: Buffer;
  /** Name for messages and the progress. */
  readonly name: string;
}

/** Fetches a file into an existing or new one; see `uploadFile`. Throws PlatformError and the system's errors of the local file. */
export async function downloadFile(facts: CopyFacts, { source, attributes, target, name }: Download): Promise<void> {
  const { client, progress, preserve } = facts;
  if (kindOf(attributes) === "special") throw new PlatformError("invalid", "not a regular file");
  const size = Number(attributes.size ?? 0n);
  progress.begin(name, size);
  const handle = await openFile(client, source, { flags: openFlags.read });
  let fd: number | undefined;
  try {
    const opened = await openTarget(facts, { handle, size, target, mode: attributes.mode });
    fd = opened.fd;
    progress.moved(opened.start, true);
    await fetchPieces(facts, { fd, handle, start: opened.start, size, attributes });
    if (preserve) keep(fd, attributes);
  } finally {
    if (fd !== undefined) closeSync(fd);
    await closeHandle(client, handle).catch(() => {});
  }
}

function keep(fd: number, { mode, times }: Attributes): void {
  if (mode !== undefined) fchmodSync(fd, mode & 0o7777);
  if (times !== undefined) futimesSync(fd, times.accessed, times.modified);
}

interface Remote {
  readonly handle: Buffer;
  readonly size: number;
  readonly target: Buffer;
  readonly mode: number | undefined;
}

async function openTarget({ client }: CopyFacts, { handle, size, target, mode }: Remote): Promise<{ fd: number; start: number }> {
  const there: Stats | undefined = statSync(target, { throwIfNoEntry: false });
  // Opening a FIFO blocks until there is a reader, and it does not support writes at an offset.
  if (there?.isFIFO() === true || there?.isSocket() === true)
    throw new PlatformError("invalid", `could not write ${target.toString()}: not a regular file`);
  if (there?.isFile() === true && mayResume(client, there.size, size)) {
    const fd = openOwn(target);
    if (fd !== undefined && (await hasSameStart({ client, handle, fd }, there.size))) return { fd, start: there.size };
    if (fd !== undefined) closeSync(fd);
  }
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC;
  return { fd: await atTarget(target, () => openSync(target, flags, ((mode ?? 0o666) & 0o777) | 0o200)), start: 0 };
}

function openOwn(target: Buffer): number | undefined {
  try {
    return openSync(target, constants.O_RDWR);
  } catch {
    return undefined;
  }
}

interface Fetching {
  /** Local file, open for writing. */
  readonly fd: number;
  readonly handle: Buffer;
  readonly start: number;
  /** Those at the start. */
  readonly attributes: Attributes;
  /** Size at the start: data appended meanwhile is not fetched. */
  readonly size: number;
}

/**
 * Many reads are in flight; data is written in order, so that an interrupted copy has no holes.
 * A file without a size, such as those of /proc, is read piece by piece to its end.
 */
async function fetchPieces(facts: CopyFacts, fetching: Fetching): Promise<void> {
  const { client, budget } = facts;
  const { start, size, fd } = fetching;
  const order = new InOrder(start, (data, at) => writeAll(fd, data, at));
  const pieces = { ...fetching, order, underWay: new UnderWay(), isAtEnd: false };
  const piece = client.limits.read;
  for (let offset = start; !pieces.isAtEnd && pieces.underWay.failure === undefined && (size === 0 || offset < size); offset += piece) {
    await budget.take(piece);
    if (size === 0) offset = order.end;
    ask(facts, pieces, { offset, length: size === 0 ? piece : Math.min(piece, size - offset) });
    if (size === 0) await pieces.underWay.settle();
  }
  await pieces.underWay.settle();
  if (size > 0 && order.end < size && !(await statesMore(facts, fetching)))
    throw new PlatformError("conflict", "became shorter while it was being read");
}

/** Whether a short file is unchanged: some of the kernel's own, such as those of /sys, state a size that they do not have. */
async function statesMore({ client }: CopyFacts, { handle, attributes }: Fetching): Promise<boolean> {
  const now = await statHandle(client, handle);
  return now.size === attributes.size && now.times?.modified === attributes.times?.modified;
}

interface Pieces extends Fetching {
  readonly order: InOrder;
  readonly underWay: UnderWay;
  isAtEnd: boolean;
}
interface Piece {
  readonly offset: number;
  readonly length: number;
}

/** A server may return less: the rest is requested again. */
function ask(facts: CopyFacts, pieces: Pieces, { offset, length }: Piece): void {
  const { client, budget, progress } = facts;
  pieces.underWay.begin();
  client.send({ type: "read", handle: pieces.handle, offset: BigInt(offset), length }, (response) => {
    const taken = take(pieces, response, { offset, length });
    if (typeof taken === "number") {
      progress.moved(taken);
      const rest = length - taken;
      if (rest > 0 && taken > 0 && pieces.size > 0) ask(facts, pieces, { offset: offset + taken, length: rest });
      else budget.give(client.limits.read);
      pieces.underWay.end();
    } else {
      budget.give(client.limits.read);
      pieces.underWay.end(taken);
    }
  });
}

/** The received bytes, 0 at the end of the file. */
function take(pieces: Pieces, response: Response | PlatformError, { offset, length }: Piece): number | Error {
  if (response instanceof PlatformError) return response;
  if (response.type === "status" && response.status === "end_of_file") {
    pieces.isAtEnd = true;
    return 0;
  }
  if (response.type !== "data" || response.data.length === 0 || response.data.length > length) return failureOf(response);
  try {
    pieces.order.add(offset, response.data);
    return response.data.length;
  } catch (thrown) {
    return thrown instanceof Error ? thrown : new Error(String(thrown));
  }
}

function writeAll(fd: number, data: Buffer, at: number): void {
  for (let written = 0; written < data.length; ) written += writeSync(fd, data, written, data.length - written, at + written);
}

/** Reorders pieces that arrive in any order. It holds early pieces: at most as much as is requested at a time. */
export class InOrder {
  readonly #write: (data: Buffer, at: number) => void;
  readonly #early = new Map<number, Buffer>();
  #end: number;

  constructor(start: number, write: (data: Buffer, at: number) => void) {
    this.#end = start;
    this.#write = write;
  }

  /** Offset of the next byte. */
  get end(): number {
    return this.#end;
  }

  /** `data` is used at once or copied. */
  add(at: number, data: Buffer): void {
    if (at !== this.#end) {
      this.#early.set(at, Buffer.from(data));
      return;
    }
    this.#put(data);
    for (let next = this.#early.get(this.#end); next !== undefined; next = this.#early.get(this.#end)) {
      this.#early.delete(this.#end);
      this.#put(next);
    }
  }

  #put(data: Buffer): void {
    this.#write(data, this.#end);
    this.#end += data.length;
  }
}
