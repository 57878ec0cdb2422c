import { X509Certificate } from "node:crypto";
import { type CertificateFacts, certifiedIdentity, subjectOf } from "../../../core/identity/certified-identity.ts";
import type { UserIdentity } from "../../../core/identity/identity.ts";

/** The identity in a client's X.509 certificate. Throws `unauthenticated` with the reason. Pure. */
export function clientIdentity(facts: CertificateFacts): UserIdentity {
  return certifiedIdentity("user", facts, "log in again with: tsh login");
}

/** The name that a certificate claims, for the audit log only: it is not proven. */
export function claimedName(certificate: Buffer | undefined): string | undefined {
  if (certificate === undefined) return undefined;
  try {
    const name = subjectOf(new X509Certificate(certificate)).CN;
    return typeof name === "string" ? name.slice(0, 200) : undefined;
  } catch {
    return undefined;
  }
}
