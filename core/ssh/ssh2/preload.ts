/**
 * Patches parts of ssh2 1.17.0 that its other parts copy when they are loaded. So this runs before them: only hooks.ts imports
 * it, first. Nothing of ssh2's files is changed. Each patch has its reason beside it.
 */

import type { Readable, Writable } from "node:stream";
import type { RawChannel } from "ssh2/lib/Channel.js";
import channelModule from "ssh2/lib/Channel.js";
import constants from "ssh2/lib/protocol/constants.js";
import handlers from "ssh2/lib/protocol/handlers.misc.js";
import keyParser from "ssh2/lib/protocol/keyParser.js";
import { Reader } from "../../bytes/fields.ts";
import { PlatformError } from "../../errors/platform-error.ts";
import { gatherPieces } from "../../node-internals/gather-pieces.ts";
import { certificateSuffix, hostCertificateTypes } from "../algorithms.ts";
import { channelRequest, readChannelRequest } from "../channel-requests.ts";
import { channelWindow } from "../channel-window.ts";
import { readPublicFields } from "../keys.ts";
import { grantAfterRead, grantWindow, sendData, wakeChannel } from "./channel-flow.ts";
import { poolPadding } from "./padding.ts";

const stderrType = 1;

/** The exchange's signature is checked with the key inside of the certificate. */
function readCertificatesToo(): void {
  const parsePlain = keyParser.parseDERKey;
  keyParser.parseDERKey = (data, type) => {
    if (!type.endsWith(certificateSuffix)) return parsePlain(data, type);
    try {
      const reader = new Reader(data);
      reader.string();
      const start = reader.position;
      const keyType = type.slice(0, -certificateSuffix.length);
      readPublicFields(keyType, reader);
      return parsePlain(Buffer.from(data.subarray(start, reader.position)), keyType);
    } catch (thrown) {
      if (thrown instanceof PlatformError) return thrown;
      throw thrown;
    }
  };
  constants.SUPPORTED_SERVER_HOST_KEY.push(...hostCertificateTypes.filter((type) => !constants.SUPPORTED_SERVER_HOST_KEY.includes(type)));
}

/** Error of writes to a closed channel. */
const failedWrites = new WeakSet<Error>();

type WriteMethod = Writable["_write"];

/** Windows, back-pressure and the end of a channel: see channel-flow.ts. */
function replaceFlow(): void {
  channelModule.MAX_WINDOW = channelWindow;
  channelModule.WINDOW_THRESHOLD = channelWindow / 2;
  channelModule.windowAdjust = grantWindow;

  const channel = channelModule.Channel.prototype;
  channel._read = function read(this: RawChannel) {
    grantAfterRead(this);
  };
  // A window is counted in bytes, and a peer may fill it with packets of one byte.
  gatherPieces(channel);
  channel._write = function write(this: RawChannel, ...[data, , done]: Parameters<WriteMethod>) {
    const written = (error?: Error): void => {
      if (error !== undefined) failedWrites.add(error);
      done(error);
      // Node treats it as the end of both directions: data that the peer sent before would never be read, nor `end` and `close` emitted.
      if (error !== undefined) this._readableState.errored = null;
    };
    sendData(this, data, (part) => this._client._protocol.channelData(this.outgoing.id, part), written);
  };
  // Many small writes of one tick become one packet.
  channel._writev = function writev(this: RawChannel, ...[chunks, done]: Parameters<NonNullable<Writable["_writev"]>>) {
    this._write(Buffer.concat(chunks.map(({ chunk }) => chunk)), "utf8", done);
  };
  // ssh2 closes a server's channel as soon as our side has sent everything.
  channel.keepHalfOpen = function keepHalfOpen(this: RawChannel) {
    this.server = false;
  };
  const close = channel.close;
  channel.close = function closeAndWake(this: RawChannel) {
    close.call(this);
    wakeChannel(this);
  };
  const destroy = channel.destroy;
  channel.destroy = function destroyAndDrain(this: RawChannel, error?: Error) {
    destroy.call(this, error);
    // Unread data would keep `close` from being emitted. A write that failed ends the other direction alone.
    if (error === undefined || !failedWrites.has(error)) this.resume();
    return this;
  };
}

/** The classes of `channel.stderr` are not exported: they are found from samples. */
function replaceStderrFlow(): void {
  const info = { type: "session", incoming: {}, outgoing: {} };
  const prototypeOf = (server: boolean): object => Object.getPrototypeOf(new channelModule.Channel({}, info, { server }).stderr);
  const server = prototypeOf(true) as Writable & { readonly _channel: RawChannel };
  server._write = function write(this: typeof server, ...[data, , done]: Parameters<WriteMethod>) {
    const channel = this._channel;
    // Its only error is that the channel has closed, which the channel itself reports.
    if (this.listenerCount("error") === 0) this.on("error", () => {});
    sendData(channel, data, (part) => channel._client._protocol.channelExtData(channel.outgoing.id, part, stderrType), done);
  };
  const client = prototypeOf(false) as Readable & { readonly _channel: RawChannel };
  client._read = function read(this: typeof client) {
    grantAfterRead(this._channel);
  };
  gatherPieces(client);
}

/** A server's requests of a session, read without loss: see channel-requests.ts. Malformed ones are left to ssh2, which ends the connection. */
function readRequestsWhole(): void {
  const plain = handlers[channelRequest];
  if (plain === undefined) throw new Error("ssh2 does not have a handler for channel requests");
  handlers[channelRequest] = (protocol, payload) => {
    const request = protocol._server ? readChannelRequest(payload) : undefined;
    if (request === undefined) return plain(protocol, payload);
    const { channel, name, wantsReply, data } = request;
    const handler = protocol._handlers.CHANNEL_REQUEST as RequestHandler | undefined;
    handler?.(protocol, channel, name, wantsReply, data);
  };
}

type RequestHandler = (...values: [protocol: object, channel: number, name: string, wantsReply: boolean, data: unknown]) => void;

readCertificatesToo();
readRequestsWhole();
replaceFlow();
replaceStderrFlow();
poolPadding();
