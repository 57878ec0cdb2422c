import type { X509Certificate } from "node:crypto";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { HostIdentity, Identity, UserIdentity } from "../../../core/identity/identity.ts";
import { certifiedIdentity, isIssuedBy } from "../../../core/identity/x509-identity.ts";
import type { Authority } from "../authority/open-authorities.ts";
import type { StoredSession } from "../browser-sessions/stored-session.ts";
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
  /** Of a browser, for which a proxy calls; left out: the user has a certificate. */
  readonly session?: StoredSession;
  /** Id of that proxy. */
  readonly proxyId?: string;
}

interface IssuingAuthority {
  readonly trusted: readonly Pick<Authority, "pem">[];
}

/** Those that issue certificates of clients. */
type PeerAuthorities = Readonly<Record<"user" | "host", IssuingAuthority>>;

/**
 * The identity in a client certificate. TLS has proven that the peer holds its key; this checks that it was issued by our
 * authority for this kind of identity, for this cluster, and is valid now. Throws `unauthenticated`, or `denied` for one that is for a single resource.
 */
export function identifyPeer(certificate: X509Certificate, facts: { authorities: PeerAuthorities; clusterName: string; now: Date }): Identity {
  const { authorities, clusterName: cluster, now } = facts;
  const issuers = { user: pems(authorities.user), host: pems(authorities.host) };
  const presented = { certificate: certificate.raw, cluster, now };
  if (isIssuedBy(certificate, issuers.host)) return certifiedIdentity("host", { ...presented, authorities: issuers.host }, loginHint);
  const user = certifiedIdentity("user", { ...presented, authorities: issuers.user }, loginHint);
  // Before the route: a confirmed certificate would otherwise be good for another one without the confirmation's limits.
  if (user.mfa !== undefined) throw onlyFor(user.mfa);
  if (user.route !== undefined) throw onlyFor(user.route);
  return user;
}

function onlyFor({ kind, name }: { readonly kind: string; readonly name: string }): PlatformError {
  return new PlatformError("denied", `access denied: the client certificate is only for ${kind} ${JSON.stringify(name)}`, { hint: loginHint });
}

const loginHint = "log in again with: tsh login; a host joins again with a token";

function pems({ trusted }: IssuingAuthority): readonly string[] {
  return trusted.map(({ pem }) => pem);
}

/** The host that calls. Throws `denied` for any other caller. */
export function hostOf(caller: Caller): HostIdentity {
  if (caller.kind !== "host") throw new PlatformError("denied", "access denied: this method is for hosts");
  return caller.identity;
}

/** The user who calls. Throws `denied` for any other caller. */
export function userOf(caller: Caller): UserCaller {
  if (caller.kind === "user") return caller;
  throw new PlatformError("denied", "access denied: this method is for users");
}

/** The caller with its browser session. Throws `denied` for a user with a certificate: the permissions of some methods let them through. */
export function inBrowser(caller: Caller): UserCaller & Required<Pick<UserCaller, "session">> {
  const user = userOf(caller);
  if (user.session !== undefined) return { ...user, session: user.session };
  throw new PlatformError("denied", "access denied: this is for browsers");
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
