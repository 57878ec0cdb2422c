import "./preload.ts";
import type { OpenChannel, Protocol } from "ssh2/lib/protocol/Protocol.js";
import protocolClass from "ssh2/lib/protocol/Protocol.js";
import type { WindowLimit } from "../channel-window.ts";
import type { ArrivedMessages, SentMessages, SshEnd, Subscriber } from "../subscriber.ts";
import { setWindowLimit } from "./channel-flow.ts";
import { incomingOf, rawConnection } from "./raw-connection.ts";

/** State of one connection. The memory of an idle one matters: this object is all that it has. */
export interface Hooks {
  readonly connection: SshEnd;
  /** ssh2's own, by message. */
  readonly handlers: Record<string, Handler | undefined>;
  /** Latest first. */
  subscribers: readonly Subscriber[];
  /** For the channel that is being refused right now. */
  refusal: { readonly reason: number; readonly text: string } | undefined;
  /** Windows of the channels that we are opening, by our number. */
  opening: Map<number, WindowLimit> | undefined;
}

type Handler = (protocol: Protocol, ...message: unknown[]) => void;

const state = Symbol("hooks");
interface Hooked extends Protocol {
  [state]?: Hooks;
}

export function hooksOf(connection: SshEnd): Hooks {
  const protocol: Hooked = rawConnection(connection)._protocol;
  const hooks = protocol[state];
  if (hooks === undefined) throw new Error("hookConnection comes before all use of a connection's hooks");
  return hooks;
}

/** Puts our functions, which all connections share, before those of ssh2. A message that ssh2 ignores stays ignored. */
export function hookMessages(connection: SshEnd): void {
  const protocol: Hooked = rawConnection(connection)._protocol;
  const handlers = protocol._handlers as Record<string, Handler | undefined>;
  const hooks: Hooks = { connection, handlers: {}, subscribers: [], refusal: undefined, opening: undefined };
  for (const [name, dispatch] of dispatchers) {
    if (handlers[name] === undefined) continue;
    hooks.handlers[name] = handlers[name];
    handlers[name] = dispatch;
  }
  protocol[state] = hooks;
}

const dispatchers: readonly (readonly [name: string, dispatch: Handler])[] = [
  dispatcher("CHANNEL_OPEN"),
  dispatcher("CHANNEL_OPEN_CONFIRMATION", (hooks, { recipient }) => openWindow(hooks, recipient)),
  dispatcher("CHANNEL_OPEN_FAILURE", (hooks, channel) => takeOpening(hooks, channel)?.end()),
  dispatcher("CHANNEL_DATA"),
  dispatcher("CHANNEL_EXTENDED_DATA"),
  dispatcher("CHANNEL_REQUEST"),
  dispatcher("GLOBAL_REQUEST"),
];

function dispatcher<Name extends keyof ArrivedMessages>(name: Name, after?: (hooks: Hooks, ...message: ArrivedMessages[Name]) => void) {
  const dispatch = (protocol: Hooked, ...message: ArrivedMessages[Name]): void => {
    const hooks = protocol[state];
    if (hooks === undefined) return;
    const { connection, subscribers } = hooks;
    for (const { arrived } of subscribers) arrived?.[name]?.(connection, ...message);
    let isDropped = false;
    for (const { drops } of subscribers) isDropped ||= drops?.[name]?.(connection, ...message) === true;
    if (!isDropped) hooks.handlers[name]?.(protocol, ...message);
    after?.(hooks, ...message);
  };
  // ssh2 calls each with the values of its message.
  return [name, dispatch as Handler] as const;
}

function newWindow({ connection, subscribers }: Hooks): WindowLimit | undefined {
  return subscribers.find(({ window }) => window !== undefined)?.window?.(connection);
}

function takeOpening({ opening }: Hooks, channel: number): WindowLimit | undefined {
  const limit = opening?.get(channel);
  opening?.delete(channel);
  return limit;
}

/** A channel of ours is being opened: its window waits for the peer's answer. */
function beginOpening(hooks: Hooks | undefined, channel: number): WindowLimit | undefined {
  const limit = hooks === undefined ? undefined : newWindow(hooks);
  if (hooks === undefined || limit === undefined) return undefined;
  hooks.opening ??= new Map();
  hooks.opening.set(channel, limit);
  return limit;
}

/** The peer has confirmed a channel of ours. */
function openWindow(hooks: Hooks, channel: number): void {
  const limit = takeOpening(hooks, channel);
  if (limit !== undefined) limitChannel(hooks, channel, limit);
}

function limitChannel({ connection }: Hooks, channel: number, limit: WindowLimit): void {
  const found = incomingOf(rawConnection(connection)._chanMgr.get(channel));
  if (found === undefined) {
    limit.end();
    return;
  }
  found.incoming.window = limit.bytes;
  setWindowLimit(found.incoming, limit);
  found.entry.once("close", () => limit.end());
}

function announce<Name extends keyof SentMessages>(protocol: Hooked, name: Name, ...message: SentMessages[Name]): void {
  const hooks = protocol[state];
  if (hooks === undefined) return;
  for (const { sending } of hooks.subscribers) sending?.[name]?.(hooks.connection, ...message);
}

/** The methods of ssh2 that send, for all connections: one without hooks is as before. */
function hookSending(prototype: Protocol): void {
  const { channelData, channelExtData, channelWindowAdjust, channelOpenFail } = prototype;
  prototype.channelData = function sendData(this: Hooked, channel, data) {
    announce(this, "channelData", channel, data);
    channelData.call(this, channel, data);
  };
  prototype.channelExtData = function sendExtData(this: Hooked, channel, data, type) {
    announce(this, "channelExtData", channel, data, type);
    channelExtData.call(this, channel, data, type);
  };
  prototype.channelWindowAdjust = function adjustWindow(this: Hooked, channel, bytes) {
    announce(this, "channelWindowAdjust", channel, bytes);
    channelWindowAdjust.call(this, channel, bytes);
  };
  prototype.channelOpenFail = function refuse(this: Hooked, channel, reason, text) {
    const hooks = this[state];
    channelOpenFail.call(this, channel, hooks?.refusal?.reason ?? reason, hooks?.refusal?.text ?? text);
    if (hooks !== undefined) for (const { refused } of hooks.subscribers.toReversed()) refused?.(hooks.connection);
  };
}

function hookWindows(prototype: Protocol): void {
  const { channelOpenConfirm } = prototype;
  prototype.channelOpenConfirm = function confirm(this: Hooked, remote, local, ...[window, packetSize]) {
    const hooks = this[state];
    const limit = hooks === undefined ? undefined : newWindow(hooks);
    const bytes = limit?.bytes ?? window;
    if (hooks !== undefined && limit !== undefined) limitChannel(hooks, local, limit);
    channelOpenConfirm.call(this, remote, local, bytes, packetSize);
  };
  const opening = (open: OpenChannel): OpenChannel =>
    function openChannel(this: Hooked, channel, window, ...more) {
      const limit = beginOpening(this[state], channel);
      open.call(this, channel, limit?.bytes ?? window, ...more);
    };
  prototype.forwardedTcpip = opening(prototype.forwardedTcpip);
  prototype.openssh_forwardedStreamLocal = opening(prototype.openssh_forwardedStreamLocal);
  prototype.openssh_authAgent = opening(prototype.openssh_authAgent);
  prototype.x11 = opening(prototype.x11);
}

function hookTransport(prototype: Protocol): void {
  const { parse, rekey } = prototype;
  prototype.parse = function read(this: Hooked, chunk, start, end) {
    const hooks = this[state];
    if (hooks !== undefined) for (const subscriber of hooks.subscribers) subscriber.read?.(hooks.connection, end - start);
    parse.call(this, chunk, start, end);
  };
  prototype.rekey = function begin(this: Hooked) {
    rekey.call(this);
    const hooks = this[state];
    if (hooks !== undefined) for (const { rekeying } of hooks.subscribers.toReversed()) rekeying?.(hooks.connection);
  };
}

hookSending(protocolClass.prototype);
hookWindows(protocolClass.prototype);
hookTransport(protocolClass.prototype);
