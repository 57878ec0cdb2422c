import { isIPv4 } from "node:net";

/**
 * The server's half of SOCKS 4, 4a and 5 (RFC 1928), for CONNECT only and without authentication. Bytes in, steps out; pure.
 *
 *   4:  04 01 port(2) address(4) user 00 [name 00, when the address is 0.0.0.x]
 *   5:  05 n methods(n)            -> 05 00
 *       05 01 00 type(1) address port(2), type 1 IPv4, 3 name with its length, 4 IPv6
 */
export type SocksStep =
  /** More bytes are needed; `reply` is sent first. */
  | { readonly want: "more"; readonly reply?: Buffer }
  /** `rest` holds the bytes that followed the request. */
  | {
      readonly want: "connect";
      readonly reply?: Buffer;
      readonly host: string;
      readonly port: number;
      readonly version: 4 | 5;
      readonly rest: Buffer;
    }
  /** Send `reply` and close. */
  | { readonly want: "close"; readonly reply: Buffer };

/** A user name or host name of version 4 has no length before it. */
const longestText = 255;

export interface SocksParser {
  feed(chunk: Buffer): SocksStep;
}

export function createSocksParser(): SocksParser {
  let held: Buffer = Buffer.alloc(0);
  let isGreeted = false;
  return {
    feed: (chunk) => {
      held = Buffer.concat([held, chunk]);
      const [version] = held;
      if (version === undefined) return { want: "more" };
      if (version === 4 && !isGreeted) return readVersion4(held);
      if (version !== 5) return { want: "close", reply: Buffer.alloc(0) };
      if (isGreeted) return readVersion5(held);
      const count = held[1];
      if (count === undefined || held.length < 2 + count) return { want: "more" };
      if (!held.subarray(2, 2 + count).includes(0)) return { want: "close", reply: Buffer.of(5, 0xff) };
      isGreeted = true;
      held = held.subarray(2 + count);
      const reply = Buffer.of(5, 0);
      const next = held.length === 0 ? ({ want: "more" } as const) : readVersion5(held);
      return next.want === "close" ? { want: "close", reply: Buffer.concat([reply, next.reply]) } : { ...next, reply };
    },
  };
}

/** The answer to a request. */
export function socksReply(version: 4 | 5, outcome: "connected" | "refused" | "prohibited"): Buffer {
  if (version === 4) return Buffer.of(0, outcome === "connected" ? 90 : 91, 0, 0, 0, 0, 0, 0);
  const code = { connected: 0, prohibited: 2, refused: 5 }[outcome];
  return Buffer.of(5, code, 0, 1, 0, 0, 0, 0, 0, 0);
}

function readVersion4(bytes: Buffer): SocksStep {
  const refused: SocksStep = { want: "close", reply: socksReply(4, "refused") };
  if (bytes.length >= 2 && bytes[1] !== 1) return refused;
  if (bytes.length < 9) return { want: "more" };
  const user = bytes.indexOf(0, 8);
  if (user < 0) return bytes.length > 8 + longestText ? refused : { want: "more" };
  if (user - 8 > longestText) return refused;
  const port = bytes.readUInt16BE(2);
  const isNamed = bytes.readUInt32BE(4) < 256 && bytes[7] !== 0;
  if (!isNamed) return { want: "connect", host: bytes.subarray(4, 8).join("."), port, version: 4, rest: bytes.subarray(user + 1) };
  const name = bytes.indexOf(0, user + 1);
  if (name < 0) return bytes.length > user + 1 + longestText ? refused : { want: "more" };
  const host = hostName(bytes.subarray(user + 1, name));
  return host === undefined ? refused : { want: "connect", host, port, version: 4, rest: bytes.subarray(name + 1) };
}

function readVersion5(bytes: Buffer): SocksStep {
  const refusal = (code: number): SocksStep => ({ want: "close", reply: Buffer.of(5, code, 0, 1, 0, 0, 0, 0, 0, 0) });
  if (bytes[0] !== 5) return refusal(1);
  if (bytes.length >= 2 && bytes[1] !== 1) return refusal(7);
  if (bytes.length < 5) return { want: "more" };
  const type = bytes[3];
  const start = type === 3 ? 5 : 4;
  const length = type === 1 ? 4 : type === 4 ? 16 : type === 3 ? (bytes[4] as number) : undefined;
  if (length === undefined) return refusal(8);
  const end = start + length;
  if (bytes.length < end + 2) return { want: "more" };
  const address = bytes.subarray(start, end);
  const host = type === 3 ? hostName(address) : type === 1 ? address.join(".") : ipv6Text(address);
  if (host === undefined) return refusal(1);
  return { want: "connect", host, port: bytes.readUInt16BE(end), version: 5, rest: bytes.subarray(end + 2) };
}

function hostName(bytes: Buffer): string | undefined {
  const text = bytes.toString("latin1");
  return bytes.length <= longestText && (isIPv4(text) || /^[A-Za-z0-9._:-]+$/.test(text)) ? text : undefined;
}

function ipv6Text(bytes: Buffer): string {
  return Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(2 * index).toString(16)).join(":");
}
