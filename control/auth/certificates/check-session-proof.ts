import { PlatformError } from "../../../core/errors/platform-error.ts";
import { decodeSessionProof, isProven, type ProvenSession, proofId, withoutProof } from "../../../core/identity/session-proof.ts";
import { formatDuration } from "../../../core/resources/duration.ts";
import { freshMs } from "./used-proofs.ts";

export interface ProofFacts {
  /** As the agent passes it on; empty: the user made none. */
  readonly proof: Buffer;
  /** DER; it has been verified. */
  readonly certificate: Buffer;
  /** With the account that the agent asks for. */
  readonly session: ProvenSession;
  readonly now: Date;
}

/**
 * The id of a user's proof that this session is wanted now, by which it can be used once. Throws `unsupported` without a proof, `invalid` for bytes that
 * are none, `unauthenticated` for the proof of another session. Pure.
 */
export function checkSessionProof({ proof: bytes, certificate, session, now }: ProofFacts): string {
  if (bytes.length === 0) throw withoutProof();
  const proof = decodeSessionProof(bytes);
  if (!isProven(session, certificate, proof)) {
    throw new PlatformError("unauthenticated", "the user has not signed this session: the proof is for another host or database, or of another key", {
      hint: "connect again",
    });
  }
  if (proof.account !== "" && proof.account !== session.account) {
    throw new PlatformError("unauthenticated", "the user has signed a session with another database user", { hint: "connect again" });
  }
  requireFresh(proof.time.getTime() - now.getTime());
  return proofId(session, certificate, proof);
}

/** `aheadMs`: how far the user's clock is ahead of this service's, unless the agent has kept the proof. */
function requireFresh(aheadMs: number): void {
  if (Math.abs(aheadMs) <= freshMs) return;
  const by = formatDuration(Math.abs(aheadMs) / 1000);
  const clocks = `the clock of the user's computer is ${by} ${aheadMs > 0 ? "ahead of" : "behind"} the cluster's`;
  throw new PlatformError("unauthenticated", `${clocks}; at databases they may differ by ${formatDuration(freshMs / 1000)}`, {
    hint: "set the clock of that computer, for example with NTP, and connect again",
  });
}
