/**
 * The private parts of ssh2 1.17.0 that this folder touches, and nothing more: @types/ssh2 covers the public ones.
 * The version is pinned exactly; shape.test.ts fails when a part moves.
 */
declare module "ssh2/lib/protocol/crypto.js" {
  interface Cipher {
    allocPacket(payloadLength: number): Buffer;
    free(): void;
  }

  interface Outbound {
    readonly cipherInfo: unknown;
    readonly cipherKey: Buffer;
    readonly cipherIV: Buffer;
    readonly seqno: number;
    readonly onWrite: (data: Buffer) => void;
  }

  const crypto: {
    readonly bindingAvailable: boolean;
    readonly CIPHER_INFO: Readonly<Record<string, unknown>>;
    createCipher(config: { readonly outbound: Outbound }): Cipher;
  };
  export default crypto;
}

declare module "ssh2/lib/protocol/constants.js" {
  const constants: { readonly SUPPORTED_SERVER_HOST_KEY: string[] };
  export default constants;
}

declare module "ssh2/lib/protocol/handlers.misc.js" {
  import type { Protocol } from "ssh2/lib/protocol/Protocol.js";

  /** Handlers by message number. */
  const handlers: Record<number, ((protocol: Protocol, payload: Buffer) => void) | undefined>;
  export default handlers;
}

declare module "ssh2/lib/protocol/utils.js" {
  import type { Protocol } from "ssh2/lib/protocol/Protocol.js";

  const utils: { sendPacket(protocol: Protocol, packet: Buffer): boolean };
  export default utils;
}

declare module "ssh2/lib/protocol/keyParser.js" {
  import type { ParsedKey } from "ssh2";

  const keyParser: {
    /** `data` is a blob without its type; errors are returned, not thrown. */
    parseDERKey(data: Buffer, type: string): unknown;
    parseKey(data: string): ParsedKey | Error;
  };
  export default keyParser;
}

declare module "ssh2/lib/protocol/Protocol.js" {
  import type { ParsedKey } from "ssh2";
  /** One side's offer, ready to be sent. */
  export interface KexInit {
    readonly totalSize: number;
  }
  export interface Protocol {
    _offer: KexInit;
    /** Cipher of sent packets. */
    _cipher: { encrypt(packet: Buffer): void };
    /** Undefined once the connection has failed. */
    readonly _destruct: unknown;
    /** Whether both ends use strict key exchange; undefined before the first one. */
    readonly _strictMode: boolean | undefined;
    /** Defined while a key exchange runs. */
    readonly _kexinit: Buffer | undefined;
    /** Packets held back during a key exchange. */
    readonly _queue: readonly Buffer[] | undefined;
    _kex: { readonly sessionID: Buffer; readonly negotiated: { serverHostKey: string } };
    _remoteIdentRaw: Buffer | undefined;
    readonly _decipher: { _tag?: Buffer } | undefined;
    /** A server's keys by algorithm; the server's one table unless it is replaced. */
    _hostKeys: Readonly<Record<string, ParsedKey>> | undefined;
    readonly _packetRW: {
      read: { read(payload: Buffer): Buffer; cleanup(): void };
      readonly write: { readonly allocStart: number; alloc(size: number): Buffer; finalize(packet: Buffer): Buffer };
    };
    readonly _authsQueue: string[];
    readonly _server: boolean;
    readonly _handlers: Record<string, ((protocol: Protocol, ...values: never[]) => void) | undefined>;
    parse(chunk: Buffer, start: number, end: number): void;
    rekey(): void;
    channelData(id: number, data: Buffer): void;
    channelExtData(id: number, data: Buffer, type: number): void;
    channelWindowAdjust(id: number, amount: number): void;
    channelOpenConfirm(remote: number, local: number, window: number, packetSize: number): void;
    channelOpenFail(id: number, reason: number, text: string): void;
    forwardedTcpip: OpenChannel;
    openssh_forwardedStreamLocal: OpenChannel;
    openssh_authAgent: OpenChannel;
    x11: OpenChannel;
    authPK(user: string, key: SigningKey, algorithm?: string | SignStep, sign?: SignStep): void;
  }
  /** Opens a channel to the peer. */
  export type OpenChannel = (id: number, window: number, packetSize: number, target?: object) => void;
  export interface SigningKey {
    readonly type: string;
  }
  /** Gets the bytes to sign, and a callback for the raw signature. */
  export type SignStep = (data: Buffer, done: (signature: Buffer) => void) => void;
  const protocolClass: { readonly prototype: Protocol };
  export default protocolClass;
}

declare module "ssh2/lib/protocol/kex.js" {
  import type { KexInit, Protocol } from "ssh2/lib/protocol/Protocol.js";

  interface Lists {
    readonly cipher: readonly string[];
    readonly mac: readonly string[];
    readonly compress: readonly string[];
    readonly lang: readonly string[];
  }
  const exchange: {
    readonly KexInit: new (lists: {
      readonly kex: readonly string[];
      readonly serverHostKey: readonly string[];
      readonly cs: Lists;
      readonly sc: Lists;
    }) => KexInit;
    /** Sends our offer. */
    kexinit(protocol: Protocol): void;
  };
  export default exchange;
}

declare module "ssh2/lib/Channel.js" {
  import type { Duplex, Readable, Writable } from "node:stream";
  import type { Protocol } from "ssh2/lib/protocol/Protocol.js";
  export interface ChannelConnection {
    readonly _sock: Duplex;
    readonly _protocol: Protocol;
  }
  export interface ChannelEnd {
    readonly id: number;
    window: number;
    readonly packetSize: number;
    state: "open" | "eof" | "closing" | "closed";
  }
  export interface RawChannel extends Duplex {
    readonly _client: ChannelConnection;
    readonly incoming: ChannelEnd;
    readonly outgoing: ChannelEnd;
    stderr: Readable | Writable;
    /** A server's channel is closed as soon as it has sent everything. */
    server: boolean;
    readonly _readableState: { highWaterMark: number; errored: Error | null };
    readonly _writableState: { highWaterMark: number };
    /** ssh2 calls `_chunkcb` on the next window adjustment when this is set. */
    _waitWindow: boolean;
    _waitChanDrain: boolean;
    _chunkcb: (() => void) | undefined;
    /** Ours: the end of one direction leaves the other open. */
    keepHalfOpen(): void;
    close(): void;
  }
  interface ChannelModule {
    readonly Channel: { new (connection: object, info: object, options?: { server: boolean }): RawChannel; readonly prototype: RawChannel };
    MAX_WINDOW: number;
    WINDOW_THRESHOLD: number;
    windowAdjust: (channel: RawChannel) => void;
  }
  const module: ChannelModule;
  export default module;
}

declare module "ssh2/lib/agent.js" {
  import type { BaseAgent } from "ssh2";

  const agents: { readonly BaseAgent: typeof BaseAgent };
  export default agents;
}

declare module "ssh2/lib/client.js" {
  import { Client } from "ssh2";
  export default Client;
}

declare module "ssh2/lib/server.js" {
  import { Server } from "ssh2";
  export default Server;
}
