import type { Writable } from "node:stream";
import type { ChannelConnection, ChannelEnd, RawChannel } from "ssh2/lib/Channel.js";
import { PlatformError } from "../../errors/platform-error.ts";
import { unreadBytes } from "../../node-internals/gather-pieces.ts";
import { channelWindow, leastWindow, type WindowLimit } from "../channel-window.ts";

/** ssh2 reads packets up to 35,000 bytes. */
const mostPayload = 32 * 1024;
/** Level up to which a channel fills the transport before it waits until it is drained, bytes. */
const mostQueued = 512 * 1024;

type Continue = () => void;
const waitingForWindow = new WeakMap<RawChannel, Continue[]>();
const waitingForTransport = new WeakMap<ChannelConnection, Continue[]>();
/** Channels of a connection that wait for their window. */
const waitingChannels = new WeakMap<ChannelConnection, Set<RawChannel>>();
const closedTransports = new WeakSet<ChannelConnection>();

/**
 * Sends data in packets as window and transport allow, then calls back; a channel or a transport that closes fails it.
 * ssh2's own writer ignores the transport, never calls back on a closed channel, and sends a chunk twice when stdout and
 * stderr wait alternately.
 */
export function sendData(channel: RawChannel, data: Buffer, send: (part: Buffer) => void, done: (error?: Error) => void): void {
  let sent = 0;
  const next = (): void => {
    while (sent < data.length) {
      const { outgoing, _client: connection } = channel;
      const size = Math.min(data.length - sent, outgoing.window, outgoing.packetSize, mostPayload);
      if (!isOpen(channel)) done(closedError());
      else if (isFull(connection, mostQueued)) wait(waitingForTransport, connection, next);
      else if (size <= 0) waitForWindow(channel, next);
      else {
        outgoing.window -= size;
        send(data.subarray(sent, sent + size));
        sent += size;
        continue;
      }
      return;
    }
    if (isFull(channel._client, 0)) wait(waitingForTransport, channel._client, () => done());
    else done();
  };
  next();
}

const limits = new WeakMap<ChannelEnd, WindowLimit>();
/** Level at which the reader of a limited window requests more, bytes. */
const limitedMark = leastWindow / 2;

/** For a channel whose window is not the default. */
export function setWindowLimit(incoming: ChannelEnd, limit: WindowLimit): void {
  limits.set(incoming, limit);
}

/**
 * Grants the peer its window: window and unread bytes of stdout and stderr together never exceed `channelWindow`, or what the
 * channel's limit. Granting less often than at every half costs throughput, more often costs packets.
 */
export function grantWindow(channel: RawChannel): void {
  if (channel.outgoing.state === "closed" || closedTransports.has(channel._client)) return;
  const { stderr } = channel;
  // SFTP objects pass here too; they are not streams.
  const unread = ("readableLength" in channel ? unreadBytes(channel) : 0) + ("readableLength" in stderr ? unreadBytes(stderr) : 0);
  const limit = limits.get(channel.incoming);
  // Node reads more once the unread bytes are below this mark: above half a window, it would never grant.
  if (limit !== undefined) channel._readableState.highWaterMark = limitedMark;
  const before = limit?.bytes ?? channelWindow;
  const free = before - channel.incoming.window - unread;
  if (free < before / 2) return;
  limit?.adjust();
  const amount = free + (limit?.bytes ?? channelWindow) - before;
  if (amount <= 0) return;
  channel.incoming.window += amount;
  channel._client._protocol.channelWindowAdjust(channel.outgoing.id, amount);
}

/** Data was read: grants once the current read has taken its bytes out. */
export function grantAfterRead(channel: RawChannel): void {
  channel._waitChanDrain = false;
  process.nextTick(grantWindow, channel);
}

/** Runs the pending writes of this channel: they fail if it is closed. */
export function wakeChannel(channel: RawChannel): void {
  waitingChannels.get(channel._client)?.delete(channel);
  wake(waitingForWindow, channel);
}

/** The socket has drained, a key exchange is over, or the transport has closed. First come, first served. */
export function wakeTransport(connection: ChannelConnection): void {
  wake(waitingForTransport, connection);
}

/** Nothing is sent on this connection any more; pending writes fail. */
export function closeTransport(connection: ChannelConnection): void {
  closedTransports.add(connection);
  wakeTransport(connection);
  for (const channel of waitingChannels.get(connection) ?? []) wakeChannel(channel);
}

function closedError(): PlatformError {
  return new PlatformError("unavailable", "the SSH channel is closed");
}

function isOpen(channel: RawChannel): boolean {
  return channel.outgoing.state === "open" && !closedTransports.has(channel._client);
}

/** During a key exchange ssh2 would queue packets without a bound. */
function isFull(connection: ChannelConnection, limit: number): boolean {
  if (closedTransports.has(connection)) return false;
  const stream: Writable = connection._sock;
  return (stream.writableNeedDrain && stream.writableLength > limit) || connection._protocol._kexinit !== undefined;
}

function waitForWindow(channel: RawChannel, next: Continue): void {
  wait(waitingForWindow, channel, next);
  const channels = waitingChannels.get(channel._client);
  if (channels === undefined) waitingChannels.set(channel._client, new Set([channel]));
  else channels.add(channel);
  channel._waitWindow = true;
  channel._chunkcb = () => wakeChannel(channel);
}

function wait<Key extends object>(waiting: WeakMap<Key, Continue[]>, key: Key, next: Continue): void {
  const list = waiting.get(key);
  if (list === undefined) waiting.set(key, [next]);
  else list.push(next);
}

function wake<Key extends object>(waiting: WeakMap<Key, Continue[]>, key: Key): void {
  const list = waiting.get(key);
  waiting.delete(key);
  for (const next of list ?? []) next();
}
