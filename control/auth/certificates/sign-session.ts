import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { UserIdentity } from "../../../core/identity/identity.ts";
import { isServedKind } from "../../../core/kinds/service-kinds.ts";
import { ipOf } from "../../../core/transport/host-port.ts";
import type { Caller, UserCaller } from "../api/caller.ts";
import type { AuthContext } from "../auth-context.ts";
import type { IssuedCertificates } from "../authority/issue-certificates.ts";
import { type ConfirmedTarget, confirmTarget } from "./session-target.ts";
import { routeOf } from "./sign-user.ts";

export interface SessionAsk {
  /** `ssh`, a kind of service that agents serve, or `join`. */
  readonly kind: string;
  /** Name or id of a host, name of a resource, or id of a session. */
  readonly name: string;
  /** Unix login on a host; empty: any. */
  readonly login: string;
  /** The only account at a database; empty: any. */
  readonly account: string;
  readonly code: string;
  readonly sshPublicKey: string;
  readonly tlsPublicKey: string;
  readonly caller: Caller;
}

/** Time to open a session of SSH, ms; the session then lasts as the login and the roles allow. */
const openMs = 60_000;

/**
 * Certificates of the caller for sessions with one resource, after a fresh one-time code, marked with what confirmed them. For SSH they are good for a minute; for
 * anything else as long as the caller's own, because a tunnel opens a connection for each of its clients. They are bound to the caller's address. Throws as
 * `confirmTarget`.
 */
export async function signSession(context: AuthContext, ask: SessionAsk): Promise<IssuedCertificates & { readonly name: string }> {
  const { account, code, sshPublicKey, tlsPublicKey } = ask;
  const allowed = (caller: Caller): UserCaller => allowedCaller(caller, ask);
  const confirmed = await confirmTarget(context, { caller: ask.caller, ask, confirmation: { kind: "code", code }, allowed });
  const now = context.now();
  const identity = confirmedIdentity(confirmed, { now, account });
  const issued = await context.authorities.issueUser(identity, { sshPublicKey, tlsPublicKey, now });
  const { name: user } = identity;
  const expires = identity.validBefore.toISOString();
  context.audit.emit({ event: "cert.create", user, name: user, kind: "user", expires, "addr.remote": confirmed.caller.address });
  return { ...issued, name: confirmed.name };
}

function allowedCaller(caller: Caller, { kind, sshPublicKey }: SessionAsk): UserCaller {
  if (caller.kind !== "user") throw new PlatformError("denied", "access denied: this method is for users");
  if (caller.session !== undefined) throw new PlatformError("denied", "access denied: a session in a browser gives no certificates");
  if (!isServedKind(kind) && sshPublicKey === "") throw new PlatformError("invalid", "a session of SSH needs an SSH key");
  return caller;
}

function confirmedIdentity(
  { caller: { identity: own, address }, device, kind, name, seesAddress }: ConfirmedTarget,
  { now, account }: { readonly now: Date; readonly account: string },
): UserIdentity {
  const mfa = { device, kind, name, until: own.validBefore.toISOString() };
  const sourceIp = own.sourceIp ?? (seesAddress ? ipOf(address) : "");
  const bound = { ...own, mfa, ...(sourceIp !== "" && { sourceIp }) };
  const route = isServedKind(kind) ? routeOf({ routeKind: kind, routeName: name, routeAccount: account }) : undefined;
  if (route !== undefined) return { ...bound, route };
  return { ...bound, validBefore: new Date(Math.min(own.validBefore.getTime(), Math.floor((now.getTime() + openMs) / 1000) * 1000)) };
}
