/**
 * The only way to ssh2 1.17.0, and to its private parts: everything else of ours subscribes here (test/architecture refuses another way).
 *
 * The order of what a connection passes through. "Latest first" means that the subscriber that came last is called first.
 *
 *   bytes in     `read` of the subscribers, latest first → decryption
 *   message in   1. `interceptMessages`: may hide it from all below
 *                2. `arrived`, latest first
 *                3. `drops`, latest first: one that returns true hides it from the rest of them, and from 4
 *                4. ssh2's own handler, which emits the public events
 *                5. the window of a channel that we opened: settled by the answer, even by one that was dropped
 *   channel out  `window` of the latest subscriber that has one chooses how much the peer may send, then ssh2 sends the message
 *   refusal out  the reason and text of `refuseOpen` → ssh2 sends it → `refused`, earliest first
 *   message out  `sending`, latest first → ssh2 encodes and encrypts it
 *   rekeying     ssh2 sends our offer → `rekeying`, earliest first; its end is the public event `handshake`, at which waiting data goes on
 *                before other listeners are called, and after them the exchange is forgotten
 *   bytes out    `interceptWrites` → the stream
 *   failures     the public event `error`; the stream's `drain` and `close` let waiting writes go on or fail
 */
import "./preload.ts";
import type { Duplex, Writable } from "node:stream";
import type { Channel, ParsedKey, Session } from "ssh2";
import agents from "ssh2/lib/agent.js";
import type { ChannelEnd } from "ssh2/lib/Channel.js";
import clientClass from "ssh2/lib/client.js";
import crypto from "ssh2/lib/protocol/crypto.js";
import exchange from "ssh2/lib/protocol/kex.js";
import keyParser from "ssh2/lib/protocol/keyParser.js";
import serverClass from "ssh2/lib/server.js";
import { channelWindow } from "../channel-window.ts";
import type { SshEnd, Subscriber } from "../subscriber.ts";
import { closeTransport, wakeTransport } from "./channel-flow.ts";
import { answerWithOffer, negotiatePlainKey, sendMessage, signWithPlainNames } from "./exchange.ts";
import { forgetExchange } from "./forget-exchange.ts";
import { hookMessages, hooksOf } from "./messages.ts";
import { channelIn, type RawConnection, rawChannel, rawConnection, sessionEnds } from "./raw-connection.ts";

// ssh2 depends on its classes' names: a build that renames them crashes at the first lost connection.
if (serverClass.name !== "Server") throw new Error("ssh2 must be bundled with its class names kept (esbuild: keepNames)");

export const Client = clientClass;
export type Client = InstanceType<typeof clientClass>;
export const Server = serverClass;
// Used where a server's interval is 0: then it must not have a keep-alive or a timer, as with a client.
Server.KEEPALIVE_CLIENT_INTERVAL = 0;
export const { BaseAgent } = agents;

/** Whether ssh2's compiled addon runs the ciphers, or Node's own crypto called from JavaScript (slower, equally correct). */
export function sshCryptoKind(): "native" | "javascript" {
  return crypto.bindingAvailable ? "native" : "javascript";
}

/** Converts a key file's text for ssh2. Throws for a key that it cannot read: a bug, since callers pass keys that they made. */
export function parseKeyText(text: string): ParsedKey {
  const key = keyParser.parseKey(text);
  if (key instanceof Error) throw key;
  return key;
}

// A connection.

/** Connections by stream, for listeners that all streams share. */
const byStream = new WeakMap<Duplex, RawConnection>();

/** Prepares a new connection for all below. Call it once: on a server when the client's version has arrived, on a client after `connect`. */
export function hookConnection(connection: SshEnd): void {
  hookMessages(connection);
  connection.on("handshake", endExchange);
  const raw = rawConnection(connection);
  byStream.set(raw._sock, raw);
  raw._sock.on("drain", wakeAfterDrain).on("close", closed);
}

function endExchange(this: SshEnd): void {
  const raw = rawConnection(this);
  wakeTransport(raw);
  forgetExchange(raw._protocol);
}

function wakeAfterDrain(this: Duplex): void {
  const raw = byStream.get(this);
  if (raw !== undefined) wakeTransport(raw);
}

function closed(this: Duplex): void {
  const raw = byStream.get(this);
  if (raw !== undefined) closeTransport(raw);
}

export function subscribe(connection: SshEnd, subscriber: Subscriber): void {
  const hooks = hooksOf(connection);
  hooks.subscribers = [subscriber, ...hooks.subscribers];
}

/** The stream that carries the connection. */
export function transportOf(connection: SshEnd): Duplex {
  return rawConnection(connection)._sock;
}

// Bytes and messages.

/** `pass` is called for what ssh2 writes to a stream, in place of the stream's own `write`, which it gets. Call it before the connection is made. */
export function interceptWrites(stream: Duplex, pass: (chunk: Buffer, write: (chunk: Buffer) => boolean) => boolean): void {
  const plain: (chunk: Buffer) => boolean = stream.write;
  const write = (chunk: Buffer): boolean => plain.call(stream, chunk);
  stream.write = (chunk: Buffer): boolean => pass(chunk, write);
}

/** A message type without a handler: ssh2 drops such messages. */
const dropped: Buffer = Buffer.of(255);

/** `hides` sees each message, from its type byte on, during the call only. Returns true to hide it from ssh2. */
export function interceptMessages(connection: SshEnd, hides: (payload: Buffer) => boolean): void {
  const reader = { read: (payload: Buffer): Buffer => (hides(payload) ? dropped : payload), cleanup: () => {} };
  // ssh2 sets a new one at each key exchange, for compression, which is not used.
  Object.defineProperty(rawConnection(connection)._protocol._packetRW, "read", { get: () => reader, set: () => {} });
}

/** Sends a message, from its type byte on; during a key exchange it waits for the end of that. */
export function sendPayload(connection: SshEnd, payload: Buffer): void {
  sendMessage(rawConnection(connection)._protocol, payload);
}

/** Messages of ours that wait for the end of a key exchange. */
export function waitingMessages(connection: SshEnd): number {
  return rawConnection(connection)._protocol._queue?.length ?? 0;
}

// Key exchanges.

export const { KexInit: KeyExchangeInit } = exchange;
/** One side's offer, ready to be sent to any peer. */
export type KeyExchangeInit = InstanceType<typeof KeyExchangeInit>;

/** The peer's version line: `SSH-2.0-OpenSSH_9.6`. */
export function peerVersion(connection: SshEnd): string {
  return rawConnection(connection)._protocol._remoteIdentRaw?.toString("latin1") ?? "";
}

/** The algorithms that this side offers from now on. */
export function offer(connection: SshEnd, algorithms: KeyExchangeInit): void {
  rawConnection(connection)._protocol._offer = algorithms;
}

export interface OfferAnswer {
  /** Gets the peer's offer, as a message; undefined if it has not arrived in time. */
  readonly choose: (peers: Buffer | undefined) => KeyExchangeInit;
  readonly silenceMs: number;
}

/** For a server: withholds its offer until the client's has arrived. */
export function answerOffer(connection: SshEnd, { choose, silenceMs }: OfferAnswer): void {
  answerWithOffer(rawConnection(connection)._protocol, choose, silenceMs);
}

/** For a client that verifies a host certificate, and calls it before it accepts: the signature is of the plain key. */
export function verifyWithPlainKey(connection: SshEnd): void {
  negotiatePlainKey(rawConnection(connection)._protocol);
}

/** For a server with a host certificate: the same for its signatures. */
export function signWithPlainKey(connection: SshEnd): void {
  signWithPlainNames(rawConnection(connection)._protocol);
}

/** Whether both ends use strict key exchange, after the first one. */
export function isStrict(connection: SshEnd): boolean {
  return rawConnection(connection)._protocol._strictMode === true;
}

export function rekey(connection: SshEnd): void {
  rawConnection(connection)._protocol.rekey();
}

export function isExchanging(connection: SshEnd): boolean {
  return rawConnection(connection)._protocol._kexinit !== undefined;
}

// Channels.

export function channelCount(connection: SshEnd): number {
  return rawConnection(connection)._chanMgr._count;
}

/** Bytes that the peer may send now, by our number of the channel; undefined for one that is not open. */
export function windowLeft(connection: SshEnd, channel: number): number | undefined {
  return channelIn(rawConnection(connection)._chanMgr.get(channel))?.incoming.window;
}

/** ssh2's account of both directions; writable, for tests. */
export function channelEnds(channel: Channel): { readonly incoming: ChannelEnd; readonly outgoing: ChannelEnd } {
  return rawChannel(channel);
}

/** The numbers of a server's session at both sides. */
export function channelNumbers(session: Session): { readonly own: number; readonly peers: number } {
  const { incoming, outgoing } = sessionEnds(session);
  return { own: incoming.id, peers: outgoing.id };
}

/** The end of one direction leaves the other open: ssh2 would close a server's channel as soon as our side has sent everything. */
export function keepHalfOpen(channel: Channel): void {
  rawChannel(channel).keepHalfOpen();
}

/** Limits the unsent bytes in a channel, for stdout and stderr each. */
export function limitBuffers(channel: Channel, bytes: number): void {
  const raw = rawChannel(channel);
  raw._writableState.highWaterMark = bytes;
  const stderr = raw.stderr as Writable & { readonly _writableState?: { highWaterMark: number } };
  if (stderr._writableState !== undefined) stderr._writableState.highWaterMark = bytes;
}

/** A reason by its number (RFC 4254 section 5.1). */
export interface Refusal {
  readonly reason: number;
  readonly text: string;
}

/** Refuses the channel whose `reject` is ssh2's function for it, which knows one reason and no text. It answers within the call. */
export function refuseOpen(connection: SshEnd, reject: () => void, refusal: Refusal): void {
  const hooks = hooksOf(connection);
  hooks.refusal = refusal;
  try {
    reject();
  } finally {
    hooks.refusal = undefined;
  }
}

/** Refuses a channel that ssh2 has not seen, by the peer's number. */
export function refuseUnseen(connection: SshEnd, channel: number, { reason, text }: Refusal): void {
  rawConnection(connection)._protocol.channelOpenFail(channel, reason, text);
}

/** Maximum data packet that we accept, bytes. */
const packetSize = 32 * 1024;

/** Opens a channel to the client's SSH agent (`auth-agent@openssh.com`), for which ssh2's server has no method. */
export function openAgentChannel(connection: SshEnd, done: (error: Error | undefined, channel: Channel) => void): void {
  const { _chanMgr: channels, _protocol: protocol } = rawConnection(connection);
  const opened = Object.assign((error: Error | undefined, channel: Channel) => done(error, channel), { type: "auth-agent@openssh.com" });
  protocol.openssh_authAgent(channels.add(opened), channelWindow, packetSize);
}
