import type { Algorithms } from "ssh2";
import { usualAlgorithms } from "./algorithms.ts";
import { certificateSuffix } from "./certificate.ts";

export interface Keepalive {
  readonly intervalMs: number;
  /** Unanswered keep-alives after which the connection counts as dead. */
  readonly missed: number;
}

/** Interval of keep-alives: a dead peer is detected within a minute. */
export const usualKeepalive: Keepalive = { intervalMs: 15_000, missed: 3 };

/** Algorithms that our clients offer, in order of preference. */
export const clientAlgorithms: Algorithms = {
  kex: usualAlgorithms.kexAlgos as NonNullable<Algorithms["kex"]> & string[],
  cipher: usualAlgorithms.ciphers as NonNullable<Algorithms["cipher"]> & string[],
  hmac: usualAlgorithms.macAlgos as NonNullable<Algorithms["hmac"]> & string[],
  compress: ["none"],
};

/** Host certificates that our client can verify. RSA is not among them: ssh2 compares its type too early. */
export const hostCertificateTypes = ["ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521"].map(
  (type) => `${type}${certificateSuffix}`,
);
