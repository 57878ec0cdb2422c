/*
 * A recording is a file of gzip members, each of whole lines; an extra field has the length of each (core/recording/member.ts has the layout). The browser
 * inflates them one by one.
 */

const prefix = [0x1f, 0x8b, 0x08, 0x04, 0, 0, 0, 0, 0, 0xff, 0x0c, 0, 0x50, 0x4c, 0x08, 0];
const headLength = prefix.length + 8;
/** Shortest and longest member, bytes. */
const [minMember, maxMember] = [headLength + 8, 1024 * 1024 + 65_536];

/** A member and where it ends in the file, or bytes that are none. */
export type SplitItem = { readonly member: Uint8Array<ArrayBuffer>; readonly end: number } | { readonly damage: true };

/** Finds the members in bytes of any chunks, from an offset of the file on. Holds no more than one member and one chunk; never throws. */
export class MemberSplitter {
  #held: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  #offset: number;
  #isDamaged = false;

  constructor(offset: number) {
    this.#offset = offset;
  }

  push(chunk: Uint8Array<ArrayBuffer>): readonly SplitItem[] {
    this.#held = joined(this.#held, chunk);
    const items: SplitItem[] = [];
    while (this.#step(items));
    return items;
  }

  /** Whether more can be done with the held bytes. */
  #step(items: SplitItem[]): boolean {
    const held = this.#held;
    if (!beginsMember(held, 0)) {
      if (!this.#isDamaged) items.push({ damage: true });
      this.#isDamaged = true;
      this.#drop(nextMember(held));
      return this.#held.length > 0 && this.#held.length >= prefix.length;
    }
    if (held.length < headLength) return false;
    const length = new DataView(held.buffer, held.byteOffset).getUint32(prefix.length, true);
    if (length < minMember || length > maxMember) {
      this.#isDamaged = true;
      items.push({ damage: true });
      this.#drop(nextMember(held));
      return this.#held.length > 0;
    }
    if (held.length < length) return false;
    this.#isDamaged = false;
    this.#drop(length);
    items.push({ member: held.subarray(0, length), end: this.#offset });
    return this.#held.length > 0;
  }

  #drop(length: number): void {
    this.#held = this.#held.subarray(length);
    this.#offset += length;
  }
}

/** Whether a member, or as much of one as there is, begins here. */
function beginsMember(bytes: Uint8Array, at: number): boolean {
  const length = Math.min(prefix.length, bytes.length - at);
  for (let place = 0; place < length; place += 1) if (bytes[at + place] !== prefix[place]) return false;
  return true;
}

/** Where the next member may begin, after the first byte. */
function nextMember(bytes: Uint8Array): number {
  for (let at = bytes.indexOf(0x1f, 1); at >= 0; at = bytes.indexOf(0x1f, at + 1)) if (beginsMember(bytes, at)) return at;
  return bytes.length;
}

function joined(first: Uint8Array<ArrayBuffer>, second: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  if (first.length === 0) return second;
  const both = new Uint8Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}
