import type { Duplex } from "node:stream";
import { isExchanging, rekey, subscribe, transportOf } from "./ssh2/hooks.ts";
import type { SshEnd, Subscriber } from "./subscriber.ts";

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
  readonly connection: SshEnd;
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

/** ssh2 never renews its keys by itself. Call when the connection is authenticated; `countWritten` reports the sent bytes. */
export function scheduleRekey(connection: SshEnd, limits: RekeyLimits): void {
  const stream = transportOf(connection);
  const renewal: Renewal = { connection, limits, bytes: 0, renewedAt: performance.now() };
  byStream.set(stream, renewal);
  const { renewals } = periods.get(limits.ms) ?? startPeriod(limits.ms);
  renewals.add(renewal);
  connection.on("handshake", startAnew);
  stream.on("close", stop);
  subscribe(connection, countRead);
}

/** For a stream of any connection, also before its login: those bytes do not count. */
export function countWritten(stream: Duplex, bytes: number): void {
  count(byStream.get(stream), bytes);
}

/** Shared by all connections. */
const countRead: Subscriber = { read: (connection, bytes) => count(byStream.get(transportOf(connection)), bytes) };

function count(renewal: Renewal | undefined, bytes: number): void {
  if (renewal === undefined) return;
  const before = renewal.bytes;
  renewal.bytes += bytes;
  const most = renewal.limits.bytes;
  // Not within ssh2's own call: it may be in the middle of a packet.
  if (before < most && renewal.bytes >= most) process.nextTick(renew, renewal);
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
  const { connection } = renewal;
  const stream = transportOf(connection);
  if (isExchanging(connection) || stream.destroyed) return;
  renewal.bytes = 0;
  renewal.timer = setTimeout(() => stream.destroy(), exchangeMs);
  rekey(connection);
}

function startAnew(this: SshEnd): void {
  const renewal = byStream.get(transportOf(this));
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
