import { X509Certificate } from "node:crypto";
// Loaded first: in Node 24, `toLegacyObject` before it leaves the whole process without `createSecureContext`.
import "node:tls";
import { PlatformError } from "../errors/platform-error.ts";
import { fromX509Subject, type HostIdentity, type UserIdentity, type X509Subject } from "./identity.ts";

export interface CertificateFacts {
  /** DER or PEM; undefined when the peer presented none. TLS has verified that it holds the key. */
  readonly certificate: Buffer | undefined;
  /** PEM of the authority for this kind of identity. */
  readonly authorities: readonly string[];
  readonly cluster: string;
  readonly now: Date;
}

/** The identity in the X.509 certificate of a TLS peer. Throws `unauthenticated` with the reason. Pure. */
export function certifiedIdentity(kind: "user", facts: CertificateFacts, hint: string): UserIdentity;
export function certifiedIdentity(kind: "host", facts: CertificateFacts, hint: string): HostIdentity;
export function certifiedIdentity(kind: "user" | "host", facts: CertificateFacts, hint: string): UserIdentity | HostIdentity {
  const { certificate, authorities, cluster, now } = facts;
  const refuse = (why: string): never => {
    throw new PlatformError("unauthenticated", why, { hint });
  };
  if (certificate === undefined) return refuse("no client certificate was presented");
  const leaf = new X509Certificate(certificate);
  const issued = authorities.some((pem) => isIssuedBy(leaf, new X509Certificate(pem)));
  if (!issued || leaf.ca) return refuse("the client certificate was not issued by this cluster");
  const [from, to] = [new Date(leaf.validFrom), new Date(leaf.validTo)];
  const identity = fromX509Subject(subjectOf(leaf), to);
  if (identity.kind !== kind) return refuse(`a ${kind} certificate is required; this is a ${identity.kind} certificate`);
  if (identity.cluster !== cluster) return refuse(`the client certificate is for cluster ${identity.cluster}, this is ${cluster}`);
  const who = identity.kind === "user" ? identity.name : `host ${identity.id}`;
  if (now < from) return refuse(`the certificate of ${who} is valid only from ${from.toISOString()}: check this computer's clock`);
  if (now >= to) return refuse(`the certificate of ${who} expired at ${to.toISOString()}`);
  return identity;
}

/** The subject of a certificate, with every attribute. */
export function subjectOf(certificate: X509Certificate): X509Subject {
  return { ...(certificate.toLegacyObject().subject as X509Subject) };
}

function isIssuedBy(leaf: X509Certificate, authority: X509Certificate): boolean {
  return leaf.checkIssued(authority) && leaf.verify(authority.publicKey);
}

/** DER of the certificate that the TLS peer presented. */
export function peerCertificate(socket: { getPeerCertificate(): object }): Buffer | undefined {
  const { raw } = socket.getPeerCertificate() as { raw?: Buffer };
  return raw;
}
