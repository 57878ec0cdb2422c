import { crc32, deflateRawSync, inflateRawSync, constants as zlib } from "node:zlib";
import { PlatformError } from "../errors/platform-error.ts";

/*
 * A recording is a file of gzip members (RFC 1952), which zcat reads as one. Each holds whole lines and can be read by itself; its
 * extra field has the start of the next one, so that a reader can continue after damage. Integers are little-endian, as gzip has them.
 *
 *   1f 8b 08 04   00 00 00 00   00 ff    gzip, deflate, FEXTRA; no time; any system
 *   0c 00                                 length of the extra field
 *   'P' 'L' 08 00                         our subfield and its length
 *   u32 length of the whole member        u32 number of the member, from 0
 *   deflated text   u32 crc32   u32 length of the text
 */

const prefix = Buffer.from("1f8b080400000000" + "00ff" + "0c00" + "504c0800", "hex");
const headerLength = prefix.length + 8;
const trailerLength = 8;

/** Longest text of a member, and longest member, bytes. */
export const maxMemberText = 1024 * 1024;
const maxMember = maxMemberText + 65_536;

/** Throws `limit` for a text that is too long for readers. */
export function encodeMember(text: Buffer, number: number): Buffer {
  if (text.length > maxMemberText) throw new PlatformError("limit", `a part of a recording of ${text.length} bytes; ${maxMemberText} are allowed`);
  // zlib's buffer lives until V8's next full collection, and is 16 KiB by default: much for a member of a few keys.
  const body = deflateRawSync(text, { chunkSize: Math.min(16_384, text.length + 64) });
  const member = Buffer.concat([prefix, Buffer.alloc(8), body, Buffer.alloc(trailerLength)]);
  member.writeUInt32LE(member.length, prefix.length);
  member.writeUInt32LE(number, prefix.length + 4);
  member.writeUInt32LE(crc32(text), member.length - 8);
  member.writeUInt32LE(text.length, member.length - 4);
  return member;
}

/** Length of a whole member and of its text, bytes, as it states them: unchecked. */
export interface MemberSketch {
  readonly length: number;
  readonly textLength: number;
  /** The first characters of its text, as many as a few compressed bytes give. */
  start(): string;
}

/** Compressed bytes from which the beginning of a text is read: enough for the first field of a line, fewer where each is much text. */
const sketchBytes = { most: 256, least: 96, text: 16_384 } as const;

/** Sketch of the member that begins `bytes`; `more`: it is not there in full yet; undefined: none begins here. Never throws. */
export function sketchMember(bytes: Buffer): MemberSketch | "more" | undefined {
  if (!startsMember(bytes)) return bytes.length === 0 ? "more" : undefined;
  if (bytes.length < headerLength) return "more";
  const length = bytes.readUInt32LE(prefix.length);
  if (length < headerLength + trailerLength || length > maxMember) return undefined;
  if (bytes.length < length) return "more";
  const textLength = Math.min(bytes.readUInt32LE(length - 4), maxMemberText);
  const wanted = Math.max(sketchBytes.least, Math.min(sketchBytes.most, Math.floor((sketchBytes.text * length) / (textLength + 1))));
  const body = bytes.subarray(headerLength, Math.min(headerLength + wanted, length - trailerLength));
  return { length, textLength, start: () => inflated(body, zlib.Z_SYNC_FLUSH)?.toString("utf8", 0, sketchBytes.most) ?? "" };
}

/** Number of bytes before the next place, from 1 on, at which a member may begin. */
export function bytesToMember(bytes: Buffer): number {
  const at = bytes.indexOf(prefix, 1);
  return at >= 0 ? at : bytes.length - tailOf(bytes, 1).length;
}

/** The text of a member, or damage: something is missing here. */
export type MemberItem = { readonly text: Buffer } | { readonly damage: true };

/** Finds the members in bytes of any chunks. Holds no more than one member and one chunk; never throws. */
export class MemberReader {
  #held: Buffer = Buffer.alloc(0);
  #next = 0;
  #isDamaged = false;

  push(chunk: Buffer): MemberItem[] {
    this.#held = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    const items: MemberItem[] = [];
    while (this.#step(items, false));
    return items;
  }

  /** The rest: the complete part of a truncated member. */
  end(): MemberItem[] {
    const items: MemberItem[] = [];
    while (this.#step(items, true));
    if (this.#held.length > 0) this.#damage(items);
    return items;
  }

  /** Whether the held bytes can be processed further. */
  #step(items: MemberItem[], isEnd: boolean): boolean {
    const held = this.#held;
    if (!startsMember(held)) {
      if (held.length < prefix.length && !isEnd) return false;
      if (held.length > 0) this.#damage(items);
      return this.#skipToNext(held.length === 0 ? 0 : 1);
    }
    if (held.length < headerLength) return false;
    const length = held.readUInt32LE(prefix.length);
    const isPossible = length >= headerLength + trailerLength && length <= maxMember;
    if (isPossible && held.length < length && !isEnd) return false;
    const text = isPossible && held.length >= length ? wholeText(held.subarray(0, length)) : undefined;
    if (text !== undefined) {
      this.#take(items, text, held.readUInt32LE(prefix.length + 4));
      this.#held = held.subarray(length);
      return this.#held.length > 0;
    }
    this.#damage(items);
    if (isEnd && held.length < length && held.indexOf(prefix, 1) < 0) {
      const part = partialText(held.subarray(headerLength));
      if (part.length > 0) items.push({ text: part });
    }
    return this.#skipToNext(1);
  }

  #take(items: MemberItem[], text: Buffer, number: number): void {
    if (number !== this.#next) this.#damage(items);
    this.#next = number + 1;
    this.#isDamaged = false;
    items.push({ text });
  }

  /** Reports damage once per stretch. */
  #damage(items: MemberItem[]): void {
    if (!this.#isDamaged) items.push({ damage: true });
    this.#isDamaged = true;
  }

  #skipToNext(from: number): boolean {
    const at = this.#held.indexOf(prefix, from);
    this.#held = at >= 0 ? this.#held.subarray(at) : tailOf(this.#held, from);
    return at >= 0;
  }
}

/** Processes what is possible: a member may be incomplete. */
function startsMember(bytes: Buffer): boolean {
  const length = Math.min(bytes.length, prefix.length);
  return length > 0 && bytes.compare(prefix, 0, length, 0, length) === 0;
}

/** The tail that may be the start of a member. */
function tailOf(bytes: Buffer, from: number): Buffer {
  for (let at = Math.max(from, bytes.length - prefix.length + 1); at < bytes.length; at += 1) {
    if (startsMember(bytes.subarray(at))) return Buffer.from(bytes.subarray(at));
  }
  return Buffer.alloc(0);
}

function wholeText(member: Buffer): Buffer | undefined {
  const text = inflated(member.subarray(headerLength, -trailerLength), zlib.Z_FINISH);
  const isRight =
    text !== undefined && crc32(text) === member.readUInt32LE(member.length - 8) && text.length === member.readUInt32LE(member.length - 4);
  return isRight ? text : undefined;
}

/** Unverified, because its checksum is missing: whole lines only. */
function partialText(body: Buffer): Buffer {
  const text = inflated(body, zlib.Z_SYNC_FLUSH) ?? Buffer.alloc(0);
  return text.subarray(0, text.lastIndexOf(0x0a) + 1);
}

function inflated(body: Buffer, finishFlush: number): Buffer | undefined {
  try {
    return inflateRawSync(body, { maxOutputLength: maxMemberText, finishFlush });
  } catch {
    return undefined;
  }
}

/**
 * Facts in the header of a recording of any format, plain or compressed: its first line is a JSON object whose `platform` has them.
 * Undefined when there are none. Takes the start of the file; never throws.
 */
export function headerFacts(start: Buffer): unknown {
  const text = start[0] === 0x7b ? start : firstMember(start);
  const end = text.indexOf(0x0a);
  try {
    const header: unknown = JSON.parse((end < 0 ? text : text.subarray(0, end)).toString("utf8"));
    return typeof header === "object" && header !== null && "platform" in header ? header.platform : undefined;
  } catch {
    return undefined;
  }
}

function firstMember(start: Buffer): Buffer {
  const reader = new MemberReader();
  const [first] = [...reader.push(start), ...reader.end()];
  return first !== undefined && "text" in first ? first.text : Buffer.alloc(0);
}
