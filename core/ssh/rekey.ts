import type { Duplex } from "node:stream";
import type { Connection } from "ssh2";
import { type Client, rawConnection } from "./ssh2.ts";

export interface RekeyLimits {
  /** Maximum bytes in both directions together. */
  readonly bytes: number;
  readonly ms: number;
}

/** RFC 4253 section 9: after each gigabyte and after each hour. */
export const usualRekeyLimits: RekeyLimits = { bytes: 1024 ** 3, ms: 3_600_000 };
/** Timeout for the peer's part of one key exchange. */
const exchangeMs = 60_000;

/** Precision of the hour: one timer checks all connections. */
const looksPerPeriod = 60;

interface Renewal {
  readonly connection: Client | Connection;
  readonly limits: RekeyLimits;
  /** Since the last key exchange. */
  bytes: number;
  renewedAt: number;
  /** Timer for the peer's answer. */
  timer?: NodeJS.Timeout;
}

const byStream = new WeakMap<Duplex, Renewal>();
/** Connections with one period, and the timer that checks them while there are any. */
interface Period {
  readonly renewals: Set<Renewal>;
  readonly timer: NodeJS.Timeout;
}
const periods = new Map<number, Period>();

/** ssh2 never renews its keys by itself. Call when the connection is authenticated; pass the sent bytes to `count`. */
export function scheduleRekey(connection: Client | Connection, limits: RekeyLimits): { count: (bytes: number) => void } {
  const { _sock: stream, _protocol: protocol } = rawConnection(connection);
  const renewal: Renewal = { connection, limits, bytes: 0, renewedAt: performance.now() };
  byStream.set(stream, renewal);
  const { renewals } = periods.get(limits.ms) ?? startPeriod(limits.ms);
  renewals.add(renewal);
  connection.on("handshake", startAnew);
  stream.on("close", stop);
  const count = (bytes: number): void => {
    const before = renewal.bytes;
    renewal.bytes += bytes;
    // Not within ssh2's own call: it may be in the middle of a packet.
    if (before < limits.bytes && renewal.bytes >= limits.bytes) process.nextTick(renew, renewal);
  };
  const { parse } = protocol;
  protocol.parse = (chunk, start, end) => {
    count(end - start);
    parse.call(protocol, chunk, start, end);
  };
  return { count };
}

function startPeriod(ms: number): Period {
  const renewals = new Set<Renewal>();
  const look = (): void => {
    const due = performance.now() - ms;
    for (const renewal of renewals) if (renewal.renewedAt <= due) renew(renewal);
  };
  const period = { renewals, timer: setInterval(look, ms / looksPerPeriod).unref() };
  periods.set(ms, period);
  return period;
}

function renew(renewal: Renewal): void {
  const { _protocol: protocol, _sock: stream } = rawConnection(renewal.connection);
  if (protocol._kexinit !== undefined || stream.destroyed) return;
  renewal.bytes = 0;
  renewal.timer = setTimeout(() => stream.destroy(), exchangeMs);
  protocol.rekey();
}

function startAnew(this: Client | Connection): void {
  const renewal = byStream.get(rawConnection(this)._sock);
  if (renewal === undefined) return;
  renewal.bytes = 0;
  renewal.renewedAt = performance.now();
  clearTimeout(renewal.timer);
  delete renewal.timer;
}

function stop(this: Duplex): void {
  const renewal = byStream.get(this);
  if (renewal === undefined) return;
  clearTimeout(renewal.timer);
  const { ms } = renewal.limits;
  const period = periods.get(ms);
  period?.renewals.delete(renewal);
  if (period?.renewals.size !== 0) return;
  clearInterval(period.timer);
  periods.delete(ms);
}
