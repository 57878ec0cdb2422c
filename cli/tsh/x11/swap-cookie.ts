import { timingSafeEqual } from "node:crypto";

/** The beginning of an X11 connection: byte order, version, then the name and the data of the authentication, each padded to four bytes. */
const headLength = 12;
/** Upper bound, above the lengths that X11 uses. */
const longest = 1024;

export type SwapStep = { readonly want: "more" } | { readonly want: "refuse" } | { readonly want: "pass"; readonly bytes: Buffer };

export interface Cookies {
  /** The cookie given to the host. */
  readonly fake: Buffer;
  /** The cookie that the local X server knows; of the same length. */
  readonly real: Buffer;
}

/**
 * Checks the first bytes from the host: only a client with the fake cookie passes, and gets the real one, which the host never learns.
 * Bytes in, decision out.
 */
export function createCookieSwap(protocol: string, { fake, real }: Cookies): (chunk: Buffer) => SwapStep {
  let held = Buffer.alloc(0);
  return (chunk) => {
    held = Buffer.concat([held, chunk]);
    if (held.length < headLength) return { want: "more" };
    const order = held[0];
    if (order !== 0x42 && order !== 0x6c) return { want: "refuse" };
    const read = (at: number): number => (order === 0x42 ? held.readUInt16BE(at) : held.readUInt16LE(at));
    const [nameLength, dataLength] = [read(6), read(8)];
    if (nameLength > longest || dataLength > longest) return { want: "refuse" };
    const dataAt = headLength + padded(nameLength);
    if (held.length < dataAt + padded(dataLength)) return { want: "more" };
    const name = held.subarray(headLength, headLength + nameLength).toString("latin1");
    const data = held.subarray(dataAt, dataAt + dataLength);
    if (name !== protocol || data.length !== fake.length || !timingSafeEqual(data, fake)) return { want: "refuse" };
    const bytes = Buffer.from(held);
    real.copy(bytes, dataAt);
    return { want: "pass", bytes };
  };
}

function padded(length: number): number {
  return (length + 3) & ~3;
}
