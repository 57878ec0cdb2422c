import { isIPv4, isIPv6 } from "node:net";
import { PlatformError } from "../../errors/platform-error.ts";
import { canonicalIp } from "../canonical-ip.ts";
import type { HostPort } from "../host-port.ts";

/**
 * The header of the PROXY protocol, which a balancer sends before the bytes of its client (HAProxy's specification, versions 1 and 2).
 *
 *   version 1  "PROXY TCP4|TCP6 <source> <destination> <source port> <destination port>\r\n", at most 107 bytes
 *              "PROXY UNKNOWN…\r\n": the balancer does not know
 *   version 2  12 bytes: 0D 0A 0D 0A 00 0D 0A 51 55 49 54 0A
 *              u8  version 2 << 4 | command: 0 LOCAL, a connection of the balancer's own; 1 PROXY
 *              u8  family << 4 | transport: 0x11 TCP over IPv4, 0x21 TCP over IPv6, 0x31 Unix, 0x00 unspecified
 *              u16 length of what follows: source, destination (4 or 16 bytes each), u16 source port, u16 destination port, extensions
 */
export interface ProxyHeader {
  /** Its length, bytes. */
  readonly length: number;
  /** The client, its address as `canonicalIp` writes it; undefined: the balancer itself, or it does not know. */
  readonly client: HostPort | undefined;
}

const versionOne = Buffer.from("PROXY ");
const versionTwo = Buffer.from("0d0a0d0a000d0a515549540a", "hex");
const maxLine = 107;
/** Bytes after the fixed 16: addresses take 36, the rest are extensions, which are skipped. */
const maxRest = 4_096;

/** Undefined when more bytes are needed. Throws `invalid` for anything else than such a header. Pure. */
export function parseProxyHeader(bytes: Buffer): ProxyHeader | undefined {
  if (startsLike(bytes, versionTwo)) return bytes.length < 16 ? undefined : readBinary(bytes);
  if (startsLike(bytes, versionOne)) return readLine(bytes);
  throw invalid("the connection does not start with it");
}

/** Whether the bytes are the beginning of such a header, or may become it. Pure. */
export function mayBeProxyHeader(bytes: Buffer): boolean {
  return startsLike(bytes, versionTwo) || startsLike(bytes, versionOne);
}

/** Whether the bytes are the start, or may become it. */
function startsLike(bytes: Buffer, start: Buffer): boolean {
  const length = Math.min(bytes.length, start.length);
  return bytes.subarray(0, length).equals(start.subarray(0, length));
}

function readLine(bytes: Buffer): ProxyHeader | undefined {
  const end = bytes.subarray(0, maxLine).indexOf("\r\n");
  if (end < 0 && bytes.length < maxLine) return undefined;
  if (end < 0) throw invalid(`its line has more than ${maxLine} bytes`);
  const [, family = "", source = "", destination = "", sourcePort = "", destinationPort = "", ...more] = bytes.toString("latin1", 0, end).split(" ");
  const length = end + 2;
  if (family === "UNKNOWN") return { length, client: undefined };
  const isAddress = family === "TCP4" ? isIPv4 : family === "TCP6" ? isIPv6 : () => false;
  const isWhole = isAddress(source) && isAddress(destination) && isPort(sourcePort) && isPort(destinationPort) && more.length === 0;
  // An address with a zone belongs to the balancer's machine.
  if (!isWhole || source.includes("%")) throw invalid("its line cannot be read");
  return { length, client: { host: canonicalIp(source), port: Number(sourcePort) } };
}

function isPort(text: string): boolean {
  return /^(0|[1-9]\d{0,4})$/.test(text) && Number(text) <= 65_535;
}

function readBinary(bytes: Buffer): ProxyHeader | undefined {
  const [version, family, rest] = [bytes.readUInt8(12), bytes.readUInt8(13), bytes.readUInt16BE(14)];
  if (version !== 0x20 && version !== 0x21) throw invalid("its version or command is unknown");
  if (rest > maxRest) throw invalid(`it has more than ${maxRest} bytes`);
  const length = 16 + rest;
  if (bytes.length < length) return undefined;
  if (version === 0x20 || family === 0x00 || family === 0x31) return { length, client: undefined };
  const size = family === 0x11 ? 4 : family === 0x21 ? 16 : undefined;
  if (size === undefined) throw invalid("its kind of addresses is unknown");
  if (rest < 2 * size + 4) throw invalid("it is too short for its addresses");
  return { length, client: { host: addressOf(bytes.subarray(16, 16 + size)), port: bytes.readUInt16BE(16 + 2 * size) } };
}

function addressOf(bytes: Buffer): string {
  if (bytes.length === 4) return bytes.join(".");
  return canonicalIp(Array.from({ length: 8 }, (_, group) => bytes.readUInt16BE(2 * group).toString(16)).join(":"));
}

function invalid(why: string): PlatformError {
  return new PlatformError("invalid", `the header of the PROXY protocol is missing or wrong: ${why}`, {
    hint: "let the balancer send it, or take its address out of proxy_service.proxy_protocol",
  });
}
