import { findLock, lockedError } from "../../../core/access/find-lock.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { Route } from "../../../core/identity/identity.ts";
import { serviceNames } from "../../../core/kinds/service-kinds.ts";
import { dbAccountText } from "../../../core/resources/db.ts";
import { listLocks } from "../access/locks.ts";
import type { AuthContext } from "../auth-context.ts";
import type { IssuedCertificates } from "../authority/issue-certificates.ts";
import type { Actor } from "../document.ts";
import { findUser, readUserId } from "../users/users.ts";
import { machineTtl, userIdentity } from "./user-identity.ts";

export interface SignUserAsk {
  readonly user: string;
  readonly sshPublicKey: string;
  readonly tlsPublicKey: string;
  /** 0: the default. */
  readonly ttlSeconds: number;
  /** Both empty: for every resource. */
  readonly routeKind: string;
  readonly routeName: string;
  /** The only account there; empty: any. */
  readonly routeAccount?: string;
  readonly actor: Actor;
}

/** Certificates of a machine's user: like those of a login, but without password and code. Audited with the admin who requested them. */
export async function signUser(context: AuthContext, ask: SignUserAsk): Promise<IssuedCertificates> {
  // Read first: if the user is removed and added again meanwhile, the removal's lock refuses these certificates.
  const userId = await readUserId(context.storage, ask.user.slice(0, 64));
  const user = await findUser(context, ask.user);
  if (user === undefined) {
    throw new PlatformError("not_found", `user ${ask.user.slice(0, 64)} does not exist`, {
      hint: "create the user with: tctl users add, or tctl create",
    });
  }
  const now = context.now();
  const { name } = user.metadata;
  const lock = findLock(await listLocks(context.storage), { user: name, userId, roles: user.spec.roles, now });
  if (lock !== undefined) throw lockedError(lock);
  const route = routeOf(ask);
  const identity = await userIdentity(context, user, { userId, ttlSeconds: ask.ttlSeconds, most: machineTtl });
  const issued = await context.authorities.issueUser({ ...identity, ...(route && { route }) }, { ...ask, now });
  const expires = identity.validBefore.toISOString();
  const facts = { user: ask.actor.name, name, kind: "user", expires, ...routeFacts(route) } as const;
  context.audit.emit({ event: "cert.create", ...facts, "addr.remote": ask.actor.address });
  return issued;
}

/** The application of a route, for `cert.create`; nothing for any other route. `sessionId`: of a browser there. Pure. */
export function routeFacts(route: Route | undefined, sessionId?: string) {
  if (route?.kind !== "app") return {};
  return { route_to_app: { name: route.name, ...(sessionId !== undefined && { session_id: sessionId.slice(0, 256) }) } };
}

/** Longest name of a resource. */
const maxName = 255;

/** Throws `invalid` for a resource that no certificate can be limited to. */
export function routeOf(ask: Pick<SignUserAsk, "routeKind" | "routeName" | "routeAccount">): Route | undefined {
  const { routeKind, routeName, routeAccount: account = "" } = ask;
  if (routeKind === "" && routeName === "" && account === "") return undefined;
  const kinds: readonly string[] = serviceNames.filter((name) => name !== "ssh");
  if (!kinds.includes(routeKind)) {
    throw new PlatformError("invalid", `a certificate cannot be limited to ${JSON.stringify(routeKind.slice(0, 64))}`, {
      hint: `give a resource of: ${kinds.join(", ")}`,
    });
  }
  if (routeName === "" || routeName.length > maxName) throw new PlatformError("invalid", `the name of a resource has 1 to ${maxName} characters`);
  if (account === "") return { kind: routeKind, name: routeName };
  if (routeKind !== "db" || !dbAccountText.safeParse(account).success) {
    throw new PlatformError(
      "invalid",
      "only a certificate for a database can be limited to an account, of 1 to 64 characters without control characters",
    );
  }
  return { kind: routeKind, name: routeName, account };
}
