import type { Algorithms } from "ssh2";
import { usualAlgorithms } from "./algorithms.ts";

export interface Keepalive {
  readonly intervalMs: number;
  /** Unanswered ones before the connection counts as dead. */
  readonly missed: number;
}

/** A dead peer is known within a minute. */
export const usualKeepalive: Keepalive = { intervalMs: 15_000, missed: 3 };

/** What our clients offer, in the order in which they want it. */
export const clientAlgorithms: Algorithms = {
  kex: usualAlgorithms.kexAlgos as NonNullable<Algorithms["kex"]> & string[],
  cipher: usualAlgorithms.ciphers as NonNullable<Algorithms["cipher"]> & string[],
  hmac: usualAlgorithms.macAlgos as NonNullable<Algorithms["hmac"]> & string[],
  compress: ["none"],
};
