import { randomBytes } from "node:crypto";
import { PlatformError } from "../../errors/platform-error.ts";

/*
 * A cluster's clients dial the addresses that its members state. Behind `tsh` these are local ports, which `tsh` alone knows, while the agent alone parses
 * replies. So the agent writes 127.0.0.1 for the host, and for the port a mark that `tsh` replaces by the five digits of the port which it has opened
 * for that member. A session with marks begins with their secret; the server and the client never see it, so no value that is stored there can be one.
 *
 *   stream  secret: 16 bytes, then the protocol's bytes, with marks in them
 *   mark    secret, u16 length, `host:port` of the member
 */

/** The host of members as clients read it. */
export const markedHost = "127.0.0.1";
/** Digits of a local port: lengths that stand before a mark count on them. */
export const portDigits = 5;
export const markSecretBytes = 16;
/** Members of a cluster, and local ports of a tunnel, at most. */
export const maxMembers = 256;

/** Longest `host:port`. */
const maxMemberText = 270;

/** A new secret, of 112 random bits. No byte of it is ASCII: a reader holds back what may begin a mark, and that must never be the line feed that ends a reply. */
export function newMarkSecret(): Buffer {
  return randomBytes(markSecretBytes).map((byte) => byte | 0x80) as Buffer;
}

/** The mark for a member's port. Throws `invalid` for too long an address. */
export function memberMark(secret: Buffer, member: string): Buffer {
  const text = Buffer.from(member);
  if (text.length > maxMemberText) throw new PlatformError("invalid", "the address of a member of the cluster is too long");
  const length = Buffer.alloc(2);
  length.writeUInt16BE(text.length);
  return Buffer.concat([secret, length, text]);
}

export type MarkedPiece = { readonly bytes: Buffer } | { readonly member: string };

/** Reads a stream with marks in any pieces. It holds a mark that is not complete, 288 bytes at most. */
export class MarkReader {
  #secret: Buffer | undefined;
  #held: Buffer = Buffer.alloc(0);

  /** What is complete now. Throws `invalid` for a mark that is too long. */
  push(chunk: Buffer): readonly MarkedPiece[] {
    let rest = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    this.#held = Buffer.alloc(0);
    if (this.#secret === undefined) {
      if (rest.length < markSecretBytes) return this.#hold(rest, []);
      this.#secret = Buffer.from(rest.subarray(0, markSecretBytes));
      rest = rest.subarray(markSecretBytes);
    }
    const pieces: MarkedPiece[] = [];
    for (let at = rest.indexOf(this.#secret); at >= 0; at = rest.indexOf(this.#secret)) {
      if (at > 0) pieces.push({ bytes: rest.subarray(0, at) });
      const begin = at + markSecretBytes + 2;
      const end = rest.length < begin ? Number.POSITIVE_INFINITY : begin + rest.readUInt16BE(begin - 2);
      if (Number.isFinite(end) && end - begin > maxMemberText)
        throw new PlatformError("invalid", "the agent sent the mark of a member that is too long");
      if (end > rest.length) return this.#hold(rest.subarray(at), pieces);
      pieces.push({ member: rest.toString("utf8", begin, end) });
      rest = rest.subarray(end);
    }
    const open = openPrefix(rest, this.#secret);
    if (open > 0) pieces.push({ bytes: rest.subarray(0, open) });
    return this.#hold(rest.subarray(open), pieces);
  }

  /** What is left at the end of the stream. */
  rest(): Buffer {
    return this.#secret === undefined ? Buffer.alloc(0) : this.#held;
  }

  #hold(bytes: Buffer, pieces: readonly MarkedPiece[]): readonly MarkedPiece[] {
    this.#held = Buffer.from(bytes);
    return pieces;
  }
}

/** Where a secret may begin at the end of `bytes`; their length: nowhere. */
function openPrefix(bytes: Buffer, secret: Buffer): number {
  for (let at = Math.max(0, bytes.length - secret.length + 1); at < bytes.length; at += 1)
    if (bytes.subarray(at).equals(secret.subarray(0, bytes.length - at))) return at;
  return bytes.length;
}
