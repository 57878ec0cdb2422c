import { X509Certificate } from "node:crypto";
import type { TLSSocket } from "node:tls";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { fromX509Subject, type UserIdentity } from "../../../core/identity/identity.ts";

export interface ClientCertificateFacts {
  /** DER or PEM; undefined when the client showed none. */
  readonly certificate: Buffer | undefined;
  /** PEM of the user authority. */
  readonly authorities: readonly string[];
  readonly cluster: string;
  readonly now: Date;
}

const hint = "log in again with: tsh login";

/** Who a client's X.509 certificate speaks for. Throws `unauthenticated` with the reason. Pure. */
export function clientIdentity({ certificate, authorities, cluster, now }: ClientCertificateFacts): UserIdentity {
  const refuse = (why: string): never => {
    throw new PlatformError("unauthenticated", why, { hint });
  };
  if (certificate === undefined) return refuse("no client certificate was shown");
  const leaf = new X509Certificate(certificate);
  const issued = authorities.some((pem) => isIssuedBy(leaf, new X509Certificate(pem)));
  if (!issued || leaf.ca) return refuse("the client certificate was not issued by this cluster");
  const [from, to] = [new Date(leaf.validFrom), new Date(leaf.validTo)];
  const identity = fromX509Subject(leaf.toLegacyObject().subject as Parameters<typeof fromX509Subject>[0], to);
  if (identity.kind !== "user") return refuse("this is a host's certificate; a user's is needed here");
  if (identity.cluster !== cluster) return refuse(`the client certificate is for cluster ${identity.cluster}, this is ${cluster}`);
  if (now < from) return refuse(`the certificate of ${identity.name} is valid only from ${from.toISOString()}: check this computer's clock`);
  if (now >= to) return refuse(`the certificate of ${identity.name} expired at ${to.toISOString()}`);
  return identity;
}

function isIssuedBy(leaf: X509Certificate, authority: X509Certificate): boolean {
  return leaf.checkIssued(authority) && leaf.verify(authority.publicKey);
}

/** The name that a certificate claims, for the audit log only: it is not proven. */
export function claimedName(certificate: Buffer | undefined): string | undefined {
  if (certificate === undefined) return undefined;
  try {
    const name = new X509Certificate(certificate).toLegacyObject().subject.CN;
    return typeof name === "string" ? name.slice(0, 200) : undefined;
  } catch {
    return undefined;
  }
}

export function peerCertificate(socket: TLSSocket): Buffer | undefined {
  const { raw } = socket.getPeerCertificate() as { raw?: Buffer };
  return raw;
}
