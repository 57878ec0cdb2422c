import type { Connection } from "ssh2";
import type { Protocol } from "ssh2/lib/protocol/Protocol.js";
import { PlatformError } from "../errors/platform-error.ts";
import { closeTransport, wakeTransport } from "./channel-flow.ts";
import { type Client, channelOf, type RawConnection, rawConnection } from "./ssh2.ts";

/** More at once are refused one by one; the connection stays. */
const mostChannels = 4096;
/** A peer that takes smaller packets makes us spend more on headers than on data. RFC 4253 asks for 32768. Bytes. */
const leastPacket = 1024;
/** Answers that a peer may owe us reading while it delays a key exchange. */
const mostHeldBack = 4096;
const resourceShortage = 4;
/** From an error to the end of the stream. */
const lingerMs = 3000;

type Handler = (protocol: Protocol, ...values: unknown[]) => void;

/**
 * Makes a connection survive a misbehaving peer: a window that is overrun (ssh2 issue 1505), packets of no size, channels or
 * requests without end, a stream that never closes. The connection's `error` always has a listener after this.
 */
export function guardConnection(connection: Client | Connection): void {
  const raw = rawConnection(connection);
  const fail = (message: string): void => {
    connection.emit("error", new PlatformError("invalid", message));
    raw._sock.destroy();
  };
  wrap(raw, "CHANNEL_DATA", (id, data) => overrun(raw, id, data, fail));
  wrap(raw, "CHANNEL_EXTENDED_DATA", (id, data) => overrun(raw, id, data, fail));
  wrap(raw, "CHANNEL_OPEN", (info) => tooSmall(info, fail) || tooMany(raw, info));
  wrap(raw, "CHANNEL_OPEN_CONFIRMATION", (info) => tooSmall(info, fail));
  wrap(raw, "GLOBAL_REQUEST", () => heldBack(raw, fail));
  wrap(raw, "CHANNEL_REQUEST", () => heldBack(raw, fail));
  closeInTime(connection, raw);
}

/** `stops` is true when it has dealt with the message. A message that ssh2 ignores stays ignored. */
function wrap(raw: RawConnection, name: string, stops: (first: unknown, second: unknown) => boolean): void {
  const handlers = raw._protocol._handlers as Record<string, Handler | undefined>;
  const handle = handlers[name];
  if (handle === undefined) return;
  handlers[name] = (protocol, ...values) => {
    if (!stops(values[0], values[1])) handle(protocol, ...values);
  };
}

function overrun(raw: RawConnection, id: unknown, data: unknown, fail: (message: string) => void): boolean {
  const channel = typeof id === "number" ? channelOf(raw._chanMgr.get(id)) : undefined;
  if (channel === undefined || !Buffer.isBuffer(data) || data.length <= channel.incoming.window) return false;
  fail("the SSH peer sent more than its window allows");
  return true;
}

function tooSmall(info: unknown, fail: (message: string) => void): boolean {
  const { packetSize } = info as { packetSize: number };
  if (packetSize >= leastPacket) return false;
  fail(`the SSH peer takes packets of ${packetSize} bytes only`);
  return true;
}

function tooMany(raw: RawConnection, info: unknown): boolean {
  if (raw._chanMgr._count < mostChannels) return false;
  raw._protocol.channelOpenFail((info as { sender: number }).sender, resourceShortage, "too many channels");
  return true;
}

function heldBack(raw: RawConnection, fail: (message: string) => void): boolean {
  if ((raw._protocol._queue?.length ?? 0) <= mostHeldBack) return false;
  fail("the SSH peer asks on and on during a key exchange");
  return true;
}

function closeInTime(connection: Client | Connection, raw: RawConnection): void {
  const stream = raw._sock;
  let timer: NodeJS.Timeout | undefined;
  connection.on("error", (error: Error & { level?: string }) => {
    // A silent peer reads no farewell.
    if (error.level === "client-timeout") stream.destroy();
    timer ??= setTimeout(() => stream.destroy(), lingerMs);
  });
  connection.on("handshake", () => wakeTransport(raw));
  stream.on("drain", () => wakeTransport(raw));
  stream.on("close", () => {
    clearTimeout(timer);
    closeTransport(raw);
  });
}
