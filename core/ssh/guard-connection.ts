import type { Duplex } from "node:stream";
import type { Connection } from "ssh2";
import type { Protocol } from "ssh2/lib/protocol/Protocol.js";
import { PlatformError } from "../errors/platform-error.ts";
import { closeTransport, wakeTransport } from "./channel-flow.ts";
import { type Client, channelOf, type RawConnection, rawConnection } from "./ssh2.ts";

/** Maximum concurrent channels: further ones are refused one by one; the connection stays. */
const mostChannels = 4096;
/** Minimum packet size of a peer: smaller packets have more overhead than data. RFC 4253 asks for 32768. Bytes. */
const leastPacket = 1024;
/** Maximum answers that a peer may leave unread while it delays a key exchange. */
const mostHeldBack = 4096;
const resourceShortage = 4;
/** Time from an error to the end of the stream, ms. */
const lingerMs = 3000;

type Handler = (protocol: Protocol, ...values: unknown[]) => void;
/** Returns true if it has handled the message. */
type Check = (guard: Guard, first: unknown, second: unknown) => boolean;

interface Guard {
  readonly connection: Client | Connection;
  readonly raw: RawConnection;
  /** ssh2's own, by message. */
  readonly handlers: Record<string, Handler | undefined>;
  /** Time from an error to the end of the stream, ms. */
  timer?: NodeJS.Timeout;
}

// The memory of an idle connection matters: all of them share these functions, and each has one object.
const byProtocol = new WeakMap<Protocol, Guard>();
const byStream = new WeakMap<Duplex, Guard>();

/**
 * Makes a connection survive a misbehaving peer: a window that is overrun (ssh2 issue 1505), empty packets, channels or
 * endless requests, a stream that never closes. The connection's `error` always has a listener after this.
 */
export function guardConnection(connection: Client | Connection): void {
  const raw = rawConnection(connection);
  const handlers = raw._protocol._handlers as Record<string, Handler | undefined>;
  const guard: Guard = { connection, raw, handlers: {} };
  for (const [name, guarded] of guardedHandlers) {
    // A message that ssh2 ignores stays ignored.
    if (handlers[name] === undefined) continue;
    guard.handlers[name] = handlers[name];
    handlers[name] = guarded;
  }
  byProtocol.set(raw._protocol, guard);
  byStream.set(raw._sock, guard);
  connection.on("error", endInTime).on("handshake", wakeAfterExchange);
  raw._sock.on("drain", wakeAfterDrain).on("close", closed);
}

function fail({ connection, raw }: Guard, message: string): void {
  connection.emit("error", new PlatformError("invalid", message));
  raw._sock.destroy();
}

const overrun: Check = (guard, id, data) => {
  const channel = typeof id === "number" ? channelOf(guard.raw._chanMgr.get(id)) : undefined;
  if (channel === undefined || !Buffer.isBuffer(data) || data.length <= channel.incoming.window) return false;
  fail(guard, "the SSH peer sent more than its window allows");
  return true;
};

const tooSmall: Check = (guard, info) => {
  const { packetSize } = info as { packetSize: number };
  if (packetSize >= leastPacket) return false;
  fail(guard, `the SSH peer's maximum packet size (${packetSize} bytes) is too small`);
  return true;
};

const tooMany: Check = ({ raw }, info) => {
  if (raw._chanMgr._count < mostChannels) return false;
  raw._protocol.channelOpenFail((info as { sender: number }).sender, resourceShortage, "too many channels");
  return true;
};

const heldBack: Check = (guard) => {
  if ((guard.raw._protocol._queue?.length ?? 0) <= mostHeldBack) return false;
  fail(guard, "the SSH peer sent too many requests during a key exchange");
  return true;
};

const checks: Readonly<Record<string, Check>> = {
  CHANNEL_DATA: overrun,
  CHANNEL_EXTENDED_DATA: overrun,
  CHANNEL_OPEN: (guard, info, more) => tooSmall(guard, info, more) || tooMany(guard, info, more),
  CHANNEL_OPEN_CONFIRMATION: tooSmall,
  GLOBAL_REQUEST: heldBack,
  CHANNEL_REQUEST: heldBack,
};

const guardedHandlers: readonly (readonly [name: string, handler: Handler])[] = Object.entries(checks).map(([name, stops]) => [
  name,
  (protocol, ...values) => {
    const guard = byProtocol.get(protocol);
    if (guard !== undefined && !stops(guard, values[0], values[1])) guard.handlers[name]?.(protocol, ...values);
  },
]);

function endInTime(this: Client | Connection, error: Error & { level?: string }): void {
  const { _sock: stream } = rawConnection(this);
  // A silent peer would not read a disconnect message.
  if (error.level === "client-timeout") stream.destroy();
  const guard = byStream.get(stream);
  if (guard !== undefined) guard.timer ??= setTimeout(() => stream.destroy(), lingerMs);
}

function wakeAfterExchange(this: Client | Connection): void {
  wakeTransport(rawConnection(this));
}

function wakeAfterDrain(this: Duplex): void {
  const guard = byStream.get(this);
  if (guard !== undefined) wakeTransport(guard.raw);
}

function closed(this: Duplex): void {
  const guard = byStream.get(this);
  if (guard === undefined) return;
  clearTimeout(guard.timer);
  closeTransport(guard.raw);
}
