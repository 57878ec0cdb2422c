import { X509Certificate } from "node:crypto";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { UserIdentity } from "../../../core/identity/identity.ts";
import { certifiedIdentity, fromX509Certificate } from "../../../core/identity/x509-identity.ts";
import { type ServedKind, serviceKinds } from "../../../core/kinds/service-kinds.ts";
import type { Offered } from "../../../core/resources/offered.ts";
import type { AuthContext } from "../auth-context.ts";
import { findUser } from "../users/users.ts";

/* What an agent says of a session with one of its resources: the user's certificate, and the resource. Both are checked here again. */

const hint = "log in again with: tsh login";

/** The user whose certificate (DER) an agent passes on as a session begins. Throws `unauthenticated`. */
export async function presentedUser(context: AuthContext, userCertificate: Buffer, now: Date): Promise<UserIdentity> {
  const certificate = userCertificate.length > 0 ? userCertificate : undefined;
  const authorities = context.authorities.trusted("user").map(({ pem }) => pem);
  const identity = certifiedIdentity("user", { certificate, authorities, cluster: context.clusterName, now, mayBeRelayed: true }, hint);
  if ((await findUser(context, identity.name)) === undefined) throw new PlatformError("unauthenticated", `user ${identity.name} was removed`);
  return identity;
}

/** The user's name in a certificate (DER) that was not verified: for quotas alone. Undefined for bytes that are not one. */
export function nameIn(userCertificate: Uint8Array): string | undefined {
  try {
    const identity = fromX509Certificate(new X509Certificate(userCertificate));
    return identity.kind === "user" ? identity.name : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The same while a session goes on. A proxy's certificate in a user's name is good for the beginning of a session, which may last as long as the user's
 * own: only that counts then.
 */
export async function userInSession(context: AuthContext, userCertificate: Buffer, now: Date): Promise<UserIdentity> {
  const identity = await presentedUser(context, userCertificate, wasValid(userCertificate, now));
  const until = identity.validBefore;
  if (now < until) return identity;
  throw new PlatformError("unauthenticated", `the certificate of ${identity.name} expired at ${until.toISOString()}`, { hint });
}

/** A time at which the certificate was valid, not after `now`; `now` for bytes that are not a certificate. */
function wasValid(certificate: Buffer, now: Date): Date {
  try {
    const last = Date.parse(new X509Certificate(certificate).validTo) - 1_000;
    return new Date(Math.min(now.getTime(), last));
  } catch {
    return now;
  }
}

interface OfferFacts {
  readonly hostId: string;
  readonly kind: ServedKind;
  readonly name: string;
}

/** The resource that a host offers under this name. Throws `denied`; `unavailable` while it is not known what the host offers. */
export function offeredBy({ offered }: AuthContext, { hostId, kind, name }: OfferFacts): Offered {
  const found = offered.of(hostId, kind, name);
  if (found !== undefined) return found;
  const { served, token } = serviceKinds[kind];
  const what = `${served.noun} ${JSON.stringify(name.slice(0, 64))}`;
  if (offered.isKnown(hostId)) {
    throw new PlatformError("denied", `access denied: this host does not offer ${what}`, {
      hint: `a host offers ${served.noun}s once it is connected, with a token for ${served.noun}s (tctl tokens add --type=${token})`,
    });
  }
  throw new PlatformError("unavailable", `the auth service has not heard yet that this host offers ${what}`, {
    hint: "the host has just connected, or the auth service has just started: try again in a moment",
  });
}
