import type { X509Certificate } from "node:crypto";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { HostIdentity, Identity, UserIdentity } from "../../../core/identity/identity.ts";
import { fromX509Certificate } from "../../../core/identity/x509-identity.ts";
import type { Authorities, Authority, TrustedAuthority } from "../authority/open-authorities.ts";
import type { Actor } from "../document.ts";

/** The caller, and its address. */
export type Caller = AnonymousCaller | HostCaller | UserCaller;
export interface AnonymousCaller {
  readonly kind: "anonymous";
  readonly address: string;
}
export interface HostCaller {
  readonly kind: "host";
  readonly identity: HostIdentity;
  readonly address: string;
}
export interface UserCaller {
  readonly kind: "user";
  readonly identity: UserIdentity;
  readonly address: string;
}

/**
 * The identity in a client certificate. TLS has proven that the peer holds its key; this checks that it was issued by our
 * authority for this kind of identity, for this cluster, and is valid now. Throws `unauthenticated`.
 */
export function identifyPeer(certificate: X509Certificate, facts: { authorities: Authorities; clusterName: string; now: Date }): Identity {
  const { authorities, clusterName, now } = facts;
  const kind = issuedBy(certificate, authorities.user) ? "user" : issuedBy(certificate, authorities.host) ? "host" : undefined;
  if (kind === undefined) {
    throw new PlatformError("unauthenticated", "the client certificate was not issued by this cluster", { hint: loginHint });
  }
  const [from, until] = [new Date(certificate.validFrom), new Date(certificate.validTo)];
  if (now >= until) throw new PlatformError("unauthenticated", `the client certificate expired at ${until.toISOString()}`, { hint: loginHint });
  if (now < from) {
    throw new PlatformError("unauthenticated", `the client certificate is not valid before ${from.toISOString()}`, {
      hint: "check the clocks of both machines",
    });
  }
  const identity = fromX509Certificate(certificate);
  if (identity.kind !== kind || identity.cluster !== clusterName) {
    throw new PlatformError("unauthenticated", `the client certificate is not for a ${kind} of cluster ${clusterName}`, { hint: loginHint });
  }
  if (identity.kind === "user" && identity.route !== undefined) {
    const { kind: service, name } = identity.route;
    throw new PlatformError("denied", `access denied: the client certificate is only for ${service} ${JSON.stringify(name)}`, { hint: loginHint });
  }
  return identity;
}

const loginHint = "log in again with: tsh login; a host joins again with a token";

function issuedBy(certificate: X509Certificate, { trusted }: TrustedAuthority): boolean {
  const isIssuer = ({ certificate: authority }: Authority): boolean => certificate.checkIssued(authority) && certificate.verify(authority.publicKey);
  return !certificate.ca && trusted.some(isIssuer);
}

/** The host that calls. Throws `denied` for any other caller. */
export function hostOf(caller: Caller): HostIdentity {
  if (caller.kind !== "host") throw new PlatformError("denied", "access denied: this method is for hosts");
  return caller.identity;
}

/** The author of the changes that a caller makes. */
export function actorOf(caller: Caller): Actor {
  return { name: callerName(caller), address: caller.address };
}

/** The caller's name in the audit log. */
export function callerName(caller: Caller): string {
  if (caller.kind === "anonymous") return "(anonymous)";
  return caller.kind === "user" ? caller.identity.name : `${caller.identity.role}:${caller.identity.id}`;
}
