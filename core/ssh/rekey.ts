import type { Connection } from "ssh2";
import { type Client, rawConnection } from "./ssh2.ts";

export interface RekeyLimits {
  /** Bytes in both directions together. */
  readonly bytes: number;
  readonly ms: number;
}

/** RFC 4253 section 9: after each gigabyte and after each hour. */
export const usualRekeyLimits: RekeyLimits = { bytes: 1024 ** 3, ms: 3_600_000 };
/** The peer's part of one key exchange. */
const exchangeMs = 60_000;

/** ssh2 never renews its keys by itself. Call when the connection is authenticated; feed `count` with what is sent. */
export function scheduleRekey(connection: Client | Connection, limits: RekeyLimits): { count: (bytes: number) => void } {
  const raw = rawConnection(connection);
  let since = 0;
  let answer: NodeJS.Timeout | undefined;
  const renew = (): void => {
    if (raw._protocol._kexinit !== undefined || raw._sock.destroyed) return;
    since = 0;
    answer = setTimeout(() => raw._sock.destroy(), exchangeMs);
    raw._protocol.rekey();
  };
  const hourly = setInterval(renew, limits.ms);
  hourly.unref();
  connection.on("handshake", () => {
    since = 0;
    clearTimeout(answer);
    hourly.refresh();
  });
  raw._sock.on("close", () => {
    clearTimeout(answer);
    clearInterval(hourly);
  });
  const count = (bytes: number): void => {
    const before = since;
    since += bytes;
    // Not within ssh2's own call: it may be in the middle of a packet.
    if (before < limits.bytes && since >= limits.bytes) process.nextTick(renew);
  };
  const protocol = raw._protocol;
  const parse = protocol.parse.bind(protocol);
  protocol.parse = (chunk, start, end) => {
    count(end - start);
    parse(chunk, start, end);
  };
  return { count };
}
