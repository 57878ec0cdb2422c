/**
 * The only way to ssh2 for programs: its exports have our patches applied. ssh2-preload.ts comes first, because parts of ssh2
 * copy the patched functions when they are loaded.
 */
import "./ssh2-preload.ts";
import type { Connection, ParsedKey } from "ssh2";
import type { ChannelConnection, RawChannel } from "ssh2/lib/Channel.js";
import clientClass from "ssh2/lib/client.js";
import exchange from "ssh2/lib/protocol/kex.js";
import keyParser from "ssh2/lib/protocol/keyParser.js";
import Protocol, { type Protocol as RawProtocol, type SignStep } from "ssh2/lib/protocol/Protocol.js";
import utils from "ssh2/lib/protocol/utils.js";
import serverClass from "ssh2/lib/server.js";
import { string } from "../bytes/writer.ts";
import { certificateSuffix } from "./certificate.ts";

// ssh2 depends on its classes' names: a build that renames them crashes at the first lost connection.
if (serverClass.name !== "Server") throw new Error("ssh2 must be bundled with its class names kept (esbuild: keepNames)");

export const Client = clientClass;
export type Client = InstanceType<typeof clientClass>;
export const Server = serverClass;
// Used where a server's interval is 0: then it must not have a keep-alive or a timer, as with a client.
Server.KEEPALIVE_CLIENT_INTERVAL = 0;

export const { KexInit: KeyExchangeInit, kexinit: sendKeyExchangeInit } = exchange;

/** The common part of a client's and a server's connection, with the private parts that core/ssh needs. */
export interface RawConnection extends ChannelConnection {
  readonly _chanMgr: {
    readonly _count: number;
    readonly _channels: Readonly<Record<string, unknown>>;
    get(id: number): unknown;
    /** A function is called with an error or with the channel. */
    add(entry: unknown): number;
  };
}

/** A server's session holds its channel in `_channel`; a channel that is being opened is not yet an object. */
export function channelOf(entry: unknown): RawChannel | undefined {
  if (typeof entry !== "object" || entry === null) return undefined;
  const channel = "_channel" in entry ? entry._channel : entry;
  return typeof channel === "object" && channel !== null && "outgoing" in channel ? (channel as RawChannel) : undefined;
}

export function rawConnection(connection: Client | Connection): RawConnection {
  // ssh2 types only the public half; both classes have the fields of RawConnection (1.17.0, pinned; its tests would fail).
  return connection as unknown as RawConnection;
}

/** Converts a key file's text for ssh2. Throws for a key that it cannot read: a bug, since callers pass keys that they made. */
export function parseKeyText(text: string): ParsedKey {
  const key = keyParser.parseKey(text);
  if (key instanceof Error) throw key;
  return key;
}

/** `rsa-sha2-512-cert-v01@openssh.com` signs as `rsa-sha2-512`. */
export function plainAlgorithm(algorithm: string): string {
  return algorithm.endsWith(certificateSuffix) ? algorithm.slice(0, -certificateSuffix.length) : algorithm;
}

/** Sends a packet of the authentication phase. */
export function sendPayload(protocol: RawProtocol, payload: Buffer): void {
  const { write } = protocol._packetRW;
  const start = write.allocStart;
  const packet = write.alloc(payload.length);
  packet.set(payload, start);
  utils.sendPacket(protocol, write.finalize(packet));
}

/** With a certificate, the request names the certificate's algorithm and the signature the plain one; ssh2 knows only one name. */
function signWithCertificatesToo(): void {
  const { authPK } = Protocol.prototype;
  Protocol.prototype.authPK = function authWithCertificate(this: RawProtocol, ...values: Parameters<typeof authPK>) {
    const [user, key, algorithm, sign] = values;
    const step: SignStep | undefined = typeof algorithm === "function" ? algorithm : sign;
    const name = typeof algorithm === "string" ? algorithm : key.type;
    if (step === undefined || !name.endsWith(certificateSuffix)) {
      authPK.apply(this, values);
      return;
    }
    authPK.call(this, user, key, name, (data) =>
      step(data, (signature) => {
        const request = data.subarray(4 + this._kex.sessionID.length);
        this._authsQueue.push("publickey");
        sendPayload(this, Buffer.concat([request, string(Buffer.concat([string(plainAlgorithm(name)), string(signature)]))]));
      }),
    );
  };
}

signWithCertificatesToo();
