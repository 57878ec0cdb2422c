import { setMaxListeners } from "node:events";
import type { Duplex } from "node:stream";
import { PlatformError } from "../errors/platform-error.ts";
import { channelCount, interceptWrites, refuseUnseen, subscribe, transportOf, waitingMessages, windowLeft } from "./ssh2/hooks.ts";
import type { SshEnd, Subscriber } from "./subscriber.ts";

export interface Keepalive {
  readonly intervalMs: number;
  /** Unanswered keep-alives after which the connection counts as dead. */
  readonly missed: number;
}

/** Interval of keep-alives: a dead peer is detected within a minute. */
export const usualKeepalive: Keepalive = { intervalMs: 15_000, missed: 3 };

/** Maximum concurrent channels: further ones are refused one by one; the connection stays. */
const mostChannels = 4096;
/** Minimum packet size of a peer: smaller packets have more overhead than data. RFC 4253 asks for 32768. Bytes. */
const leastPacket = 1024;
/** Maximum answers that a peer may leave unread while it delays a key exchange. */
const mostHeldBack = 4096;
const resourceShortage = 4;
/** Maximum buffered bytes: a peer that sends requests without reading the answers is disconnected. Channel data waits far below this. */
const mostQueued = 16 * 1024 * 1024;
/** Time from our last byte, or from an error, to the end of the stream, ms. */
const lingerMs = 3000;

/**
 * Prepares a stream to carry SSH: no Nagle delay, and data written in one tick leaves in one piece.
 * ssh2 writes a packet in up to three parts; together with Nagle that cost 175 ms for each login.
 */
export function tuneStream(stream: Duplex, onBytes: (stream: Duplex, count: number) => void): void {
  if ("setNoDelay" in stream && typeof stream.setNoDelay === "function") stream.setNoDelay(true);
  // Each connection in it listens for its end in several places.
  setMaxListeners(0, stream);
  // Listeners that all streams share: there are thousands of idle ones.
  stream.on("finish", closeInTime).on("end", closeNow).on("close", forgetTimer);
  let corked = false;
  const uncork = (): void => {
    corked = false;
    stream.uncork();
  };
  interceptWrites(stream, (chunk, write) => {
    if (stream.writableLength > mostQueued) {
      stream.destroy();
      return false;
    }
    if (!corked) {
      corked = true;
      stream.cork();
      process.nextTick(uncork);
    }
    onBytes(stream, chunk.length);
    return write(chunk);
  });
}

/**
 * Makes a connection over a tuned stream survive a misbehaving peer: a window that is overrun (ssh2 issue 1505), empty packets, channels or
 * endless requests, a stream that never closes. The connection's `error` always has a listener after this.
 */
export function guardConnection(connection: SshEnd): void {
  subscribe(connection, guard);
  connection.on("error", endInTime);
}

/** Shared by all connections: there are thousands of idle ones. */
const guard: Subscriber = {
  drops: {
    CHANNEL_DATA: overruns,
    CHANNEL_EXTENDED_DATA: overruns,
    CHANNEL_OPEN: (connection, open) => isTooSmall(connection, open) || isTooMany(connection, open),
    CHANNEL_OPEN_CONFIRMATION: isTooSmall,
    GLOBAL_REQUEST: isHeldBack,
    CHANNEL_REQUEST: isHeldBack,
  },
};

function overruns(connection: SshEnd, channel: number, data: Buffer): boolean {
  const window = windowLeft(connection, channel);
  if (window === undefined || data.length <= window) return false;
  fail(connection, "the SSH peer sent more than its window allows");
  return true;
}

function isTooSmall(connection: SshEnd, { packetSize }: { readonly packetSize: number }): boolean {
  if (packetSize >= leastPacket) return false;
  fail(connection, `the SSH peer's maximum packet size (${packetSize} bytes) is too small`);
  return true;
}

function isTooMany(connection: SshEnd, { sender }: { readonly sender: number }): boolean {
  if (channelCount(connection) < mostChannels) return false;
  refuseUnseen(connection, sender, { reason: resourceShortage, text: "too many channels" });
  return true;
}

function isHeldBack(connection: SshEnd): boolean {
  if (waitingMessages(connection) <= mostHeldBack) return false;
  fail(connection, "the SSH peer sent too many requests during a key exchange");
  return true;
}

function fail(connection: SshEnd, message: string): void {
  connection.emit("error", new PlatformError("invalid", message));
  transportOf(connection).destroy();
}

/** Timers of streams that have ended on our side, or failed, until they are closed. */
const lingering = new WeakMap<Duplex, NodeJS.Timeout>();

function endInTime(this: SshEnd, error: Error & { level?: string }): void {
  const stream = transportOf(this);
  // A silent peer would not read a disconnect message.
  if (error.level === "client-timeout") stream.destroy();
  destroyInTime(stream);
}

/** A half-open stream would keep its channels forever. */
function closeInTime(this: Duplex): void {
  destroyInTime(this);
}

function destroyInTime(stream: Duplex): void {
  if (lingering.has(stream)) return;
  lingering.set(
    stream,
    setTimeout(() => stream.destroy(), lingerMs),
  );
}

/** SSH has no half-close: a peer that has sent everything does not read any more either. */
function closeNow(this: Duplex): void {
  this.destroy();
}

function forgetTimer(this: Duplex): void {
  clearTimeout(lingering.get(this));
}
