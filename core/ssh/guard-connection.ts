import type { Duplex } from "node:stream";
import { PlatformError } from "../errors/platform-error.ts";
import { channelCount, refuseUnseen, subscribe, transportOf, waitingMessages, windowLeft } from "./ssh2/hooks.ts";
import type { SshEnd, Subscriber } from "./subscriber.ts";

/** Maximum concurrent channels: further ones are refused one by one; the connection stays. */
const mostChannels = 4096;
/** Minimum packet size of a peer: smaller packets have more overhead than data. RFC 4253 asks for 32768. Bytes. */
const leastPacket = 1024;
/** Maximum answers that a peer may leave unread while it delays a key exchange. */
const mostHeldBack = 4096;
const resourceShortage = 4;
/** Time from an error to the end of the stream, ms. */
const lingerMs = 3000;

/**
 * Makes a connection survive a misbehaving peer: a window that is overrun (ssh2 issue 1505), empty packets, channels or
 * endless requests, a stream that never closes. The connection's `error` always has a listener after this.
 */
export function guardConnection(connection: SshEnd): void {
  subscribe(connection, guard);
  connection.on("error", endInTime);
}

function fail(connection: SshEnd, message: string): void {
  connection.emit("error", new PlatformError("invalid", message));
  transportOf(connection).destroy();
}

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

/** Timers of connections that have failed, until their stream is closed. */
const lingering = new WeakMap<Duplex, NodeJS.Timeout>();

function endInTime(this: SshEnd, error: Error & { level?: string }): void {
  const stream = transportOf(this);
  // A silent peer would not read a disconnect message.
  if (error.level === "client-timeout") stream.destroy();
  if (lingering.has(stream)) return;
  lingering.set(
    stream,
    setTimeout(() => stream.destroy(), lingerMs),
  );
  stream.once("close", forgetTimer);
}

function forgetTimer(this: Duplex): void {
  clearTimeout(lingering.get(this));
}
