import "./preload.ts";
import type { ParsedKey } from "ssh2";
import exchange from "ssh2/lib/protocol/kex.js";
import type { KexInit, Protocol as RawProtocol, SignStep } from "ssh2/lib/protocol/Protocol.js";
import Protocol from "ssh2/lib/protocol/Protocol.js";
import utils from "ssh2/lib/protocol/utils.js";
import { string } from "../../bytes/fields.ts";
import { certificateSuffix, keyExchangeInit, plainAlgorithm } from "../algorithms.ts";

/** Encrypts and sends a message, from its type byte on. */
export function sendMessage(protocol: RawProtocol, payload: Buffer): void {
  const { write } = protocol._packetRW;
  const start = write.allocStart;
  const packet = write.alloc(payload.length);
  packet.set(payload, start);
  utils.sendPacket(protocol, write.finalize(packet));
}

/**
 * ssh2 sends its offer as soon as the version line is read: that one is discarded, and another is chosen and sent when the peer's has arrived, or
 * has not within the time (undefined).
 */
export function answerWithOffer(protocol: RawProtocol, choose: (peers: Buffer | undefined) => KexInit, silenceMs: number): void {
  const { _cipher: cipher, _packetRW: packets } = protocol;
  const plain = packets.read;
  protocol._cipher = Object.create(cipher, { encrypt: { value: () => {} } });
  const answer = (peers: Buffer | undefined): void => {
    clearTimeout(timer);
    packets.read = plain;
    protocol._cipher = cipher;
    protocol._offer = choose(peers);
    exchange.kexinit(protocol);
  };
  const timer = setTimeout(() => {
    if (protocol._destruct !== undefined) answer(undefined);
  }, silenceMs).unref();
  packets.read = {
    cleanup: () => plain.cleanup(),
    read: (payload) => {
      if (payload[0] === keyExchangeInit) answer(payload);
      return plain.read(payload);
    },
  };
}

/** The exchange's signature names the plain algorithm of a host certificate's key; ssh2 would compare or write the negotiated one. */
export function negotiatePlainKey(protocol: RawProtocol): void {
  const { negotiated } = protocol._kex;
  negotiated.serverHostKey = plainAlgorithm(negotiated.serverHostKey);
}

/** The same for each signature of a server's keys. */
export function signWithPlainNames(protocol: RawProtocol): void {
  const named = Object.entries(protocol._hostKeys ?? {}).map(([type, key]): [string, ParsedKey] => {
    const sign = (data: Buffer | string): Buffer | Error => {
      negotiatePlainKey(protocol);
      return key.sign(data);
    };
    return [type, Object.create(key, { sign: { value: sign } })];
  });
  protocol._hostKeys = Object.fromEntries(named);
}

/** With a certificate, the request names the certificate's algorithm and the signature the plain one; ssh2 knows only one name. */
function signLoginsWithCertificates(): void {
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
        sendMessage(this, Buffer.concat([request, string(Buffer.concat([string(plainAlgorithm(name)), string(signature)]))]));
      }),
    );
  };
}

signLoginsWithCertificates();
