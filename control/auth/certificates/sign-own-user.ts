import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { Caller } from "../api/caller.ts";
import type { AuthContext } from "../auth-context.ts";
import { routeFacts, routeOf } from "./sign-user.ts";

export interface SignOwnUserAsk {
  readonly routeKind: string;
  readonly routeName: string;
  /** The only account there; empty: any. */
  readonly routeAccount?: string;
  readonly tlsPublicKey: string;
  /** 0: as long as the caller's certificate. */
  readonly ttlSeconds: number;
  readonly caller: Caller;
}

/**
 * The caller's own identity, limited to one resource: whatever the certificate allows, the caller's own allows too, and for at least as long. So nothing
 * but the caller's certificate is required. Returns PEM. Throws `denied` for hosts, `invalid` for a resource that no certificate can be limited to.
 */
export async function signOwnUser(context: AuthContext, ask: SignOwnUserAsk): Promise<string> {
  const { caller, tlsPublicKey, ttlSeconds } = ask;
  if (caller.kind !== "user") throw new PlatformError("denied", "access denied: this method is for users");
  if (caller.session !== undefined) throw new PlatformError("denied", "access denied: a session in a browser gives no certificates");
  const route = routeOf(ask);
  if (route === undefined) throw new PlatformError("invalid", "no resource was given", { hint: "give its kind and name" });
  const now = context.now();
  const own = caller.identity.validBefore;
  const wanted = ttlSeconds === 0 ? own : new Date(now.getTime() + ttlSeconds * 1000);
  const validBefore = new Date(Math.min(wanted.getTime(), own.getTime()));
  const { name } = caller.identity;
  const { tlsCertificate } = await context.authorities.issueUser({ ...caller.identity, route, validBefore }, { sshPublicKey: "", tlsPublicKey, now });
  const expires = validBefore.toISOString();
  const facts = { user: name, name, kind: "user", expires, ...routeFacts(route) } as const;
  context.audit.emit({ event: "cert.create", ...facts, "addr.remote": caller.address });
  return tlsCertificate;
}
