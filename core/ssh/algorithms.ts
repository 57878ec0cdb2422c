import type { Algorithms } from "ssh2";
import { Reader } from "../bytes/fields.ts";

/** Algorithms of our SSH servers; a client takes the first of its own that is among them. */
export interface SshAlgorithms {
  readonly ciphers: readonly string[];
  readonly kexAlgos: readonly string[];
  /** MACs for ciphers that do not authenticate by themselves; offered only together with one of those. */
  readonly macAlgos: readonly string[];
}

/** By far the fastest, available in every OpenSSH since 6.2. */
const gcm = ["aes128-gcm@openssh.com", "aes256-gcm@openssh.com"] as const;
const chacha = "chacha20-poly1305@openssh.com";
const ctr = ["aes128-ctr", "aes192-ctr", "aes256-ctr"] as const;
const ecdh = ["curve25519-sha256", "curve25519-sha256@libssh.org", "ecdh-sha2-nistp256", "ecdh-sha2-nistp384", "ecdh-sha2-nistp521"] as const;

/** Configurable algorithms, by the names of RFC 4253 and OpenSSH: only encrypt-then-MAC, no SHA-1, no CBC. */
export const knownAlgorithms = {
  ciphers: [...gcm, chacha, ...ctr],
  kexAlgos: [...ecdh, "diffie-hellman-group14-sha256", "diffie-hellman-group16-sha512"],
  macAlgos: ["hmac-sha2-256-etm@openssh.com", "hmac-sha2-512-etm@openssh.com"],
} as const satisfies SshAlgorithms;

/** Only AEAD. */
export const usualAlgorithms: SshAlgorithms = { ciphers: [...gcm, chacha], kexAlgos: ecdh, macAlgos: knownAlgorithms.macAlgos };

/** With these a prefix of the connection can be cut off unseen (Terrapin, CVE-2023-48795) unless both ends use strict key exchange. */
export function needsStrictExchange(cipher: string): boolean {
  return !isGcm(cipher);
}

/** `tsh` and the cluster's own connections support no others. */
export function isAead(cipher: string): boolean {
  return isGcm(cipher) || cipher === chacha;
}

function isGcm(cipher: string): boolean {
  return gcm.some((one) => one === cipher);
}

/** Algorithms that our clients offer, in order of preference. */
export const clientAlgorithms: Algorithms = {
  kex: usualAlgorithms.kexAlgos as NonNullable<Algorithms["kex"]> & string[],
  cipher: usualAlgorithms.ciphers as NonNullable<Algorithms["cipher"]> & string[],
  hmac: usualAlgorithms.macAlgos as NonNullable<Algorithms["hmac"]> & string[],
  compress: ["none"],
};

/** Ends the type of every certificate: `ssh-ed25519-cert-v01@openssh.com`. */
export const certificateSuffix = "-cert-v01@openssh.com";

/** `rsa-sha2-512-cert-v01@openssh.com` signs as `rsa-sha2-512`. */
export function plainAlgorithm(algorithm: string): string {
  return algorithm.endsWith(certificateSuffix) ? algorithm.slice(0, -certificateSuffix.length) : algorithm;
}

/** Host certificates that our client can verify. RSA is not among them: ssh2 compares its type too early. */
export const hostCertificateTypes = ["ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521"].map(
  (type) => `${type}${certificateSuffix}`,
);

/** Number of the message in which a client offers its algorithms. */
export const keyExchangeInit = 20;
const strictClient = "kex-strict-c-v00@openssh.com";

/** The relevant part of a client's first message. */
export interface ClientOffer {
  readonly ciphers: readonly string[];
  readonly isStrict: boolean;
}

/** Reads a client's SSH_MSG_KEXINIT (RFC 4253 section 7.1). Throws PlatformError `invalid` when it ends too early. */
export function readClientOffer(payload: Buffer): ClientOffer {
  const reader = new Reader(payload);
  // Its number and the cookie.
  reader.take(17);
  const names = (): readonly string[] => reader.string().toString("latin1").split(",");
  const isStrict = names().includes(strictClient);
  // Algorithms of host keys.
  names();
  const [toServer, toClient] = [names(), names()];
  return { ciphers: toServer.filter((cipher) => toClient.includes(cipher)), isStrict };
}

/**
 * The ciphers to offer to a client with a known offer: OpenSSH prefers slower ones, and clients without strict key exchange choose, by
 * their own order, ciphers that need it. All of them, if none would be left.
 */
export function ciphersFor(client: ClientOffer, { ciphers }: SshAlgorithms): readonly string[] {
  const shared = ciphers.filter((cipher) => client.ciphers.includes(cipher) && (client.isStrict || !needsStrictExchange(cipher)));
  const fast = shared.filter(isGcm);
  if (fast.length > 0) return fast;
  return shared.length > 0 ? shared : ciphers;
}
