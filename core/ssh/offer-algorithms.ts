import type { Connection, NegotiatedAlgorithms } from "ssh2";
import { string, u8, u32 } from "../bytes/fields.ts";
import { PlatformError } from "../errors/platform-error.ts";
import { ciphersFor, isAead, needsStrictExchange, readClientOffer, type SshAlgorithms } from "./algorithms.ts";
import { answerOffer, isStrict, KeyExchangeInit, offer as offerFrom, peerVersion, sendPayload, transportOf } from "./ssh2/hooks.ts";

/** The offer of one server: its host keys' algorithms, best first, and the algorithms that it may negotiate. */
export interface ServerOffer {
  readonly hostKeys: readonly string[];
  readonly algorithms: SshAlgorithms;
  /** Offers by list of ciphers, made once for all connections. */
  readonly made: Map<string, KeyExchangeInit>;
}

/** Timeout for an OpenSSH that withholds its offer, ms. None does. */
const silenceMs = 1000;
const keyExchangeFailed = 3;
const disconnect = 1;

/**
 * Offers algorithms to a client that has sent its version. OpenSSH never waits for the server's offer: ours answers its own, because
 * the client's order decides, and its order would choose slower ciphers, or ones that need features an old client lacks.
 */
export function offerAlgorithms(connection: Connection, offer: ServerOffer): void {
  const version = peerVersion(connection);
  const { ciphers, macAlgos } = offer.algorithms;
  // paramiko (5.0) refuses a server without MACs, even for a cipher that does not use one.
  const needsMacs = version.startsWith("SSH-2.0-paramiko_") || !ciphers.every(isAead);
  offerFrom(connection, kexInit(offer, { ciphers, macs: needsMacs ? macAlgos : [] }));
  if (!version.startsWith("SSH-2.0-OpenSSH_")) return;
  const choose = (peers: Buffer | undefined): KeyExchangeInit => {
    const fitting = peers === undefined ? ciphers : ciphersOf(peers, offer);
    return kexInit(offer, { ciphers: fitting, macs: fitting.every(isAead) ? [] : macAlgos });
  };
  answerOffer(connection, { choose, silenceMs });
}

/** Ends a connection whose client chose a cipher that needs strict key exchange without supporting it: notifies the client and emits `error`. */
export function requireStrictExchange(connection: Connection): void {
  connection.on("handshake", refuseUnlessStrict);
}

/** Shared by all connections: an idle one holds nothing of it. */
function refuseUnlessStrict(this: Connection, { cs, sc }: NegotiatedAlgorithms): void {
  const weak = [cs.cipher, sc.cipher].find(needsStrictExchange);
  if (weak === undefined || isStrict(this)) return;
  const hint = "update the client, or choose aes128-gcm@openssh.com";
  const error = new PlatformError("unsupported", `${weak} needs strict key exchange, which this SSH client does not have`, { hint });
  sendPayload(this, Buffer.concat([u8(disconnect), u32(keyExchangeFailed), string(`${error.message}: ${hint}`), string("")]));
  this.emit("error", error);
  transportOf(this).end();
}

interface Chosen {
  readonly ciphers: readonly string[];
  readonly macs: readonly string[];
}

function kexInit({ hostKeys, algorithms, made }: ServerOffer, { ciphers, macs }: Chosen): KeyExchangeInit {
  const key = [...ciphers, ...macs].join();
  const known = made.get(key);
  if (known !== undefined) return known;
  const both = { cipher: ciphers, mac: macs, compress: ["none"], lang: [] };
  const fresh = new KeyExchangeInit({ kex: [...algorithms.kexAlgos, "kex-strict-s-v00@openssh.com"], serverHostKey: hostKeys, cs: both, sc: both });
  made.set(key, fresh);
  return fresh;
}

/** ssh2 refuses a malformed one next. */
function ciphersOf(payload: Buffer, { algorithms }: ServerOffer): readonly string[] {
  try {
    return ciphersFor(readClientOffer(payload), algorithms);
  } catch (thrown) {
    if (thrown instanceof PlatformError) return algorithms.ciphers;
    throw thrown;
  }
}
