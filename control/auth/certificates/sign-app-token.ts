import { randomUUID } from "node:crypto";
import { authorize } from "../../../core/access/authorize.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { UserIdentity } from "../../../core/identity/identity.ts";
import { ipOf } from "../../../core/transport/host-port.ts";
import { listLocks } from "../access/locks.ts";
import { rolesNamed } from "../access/roles.ts";
import type { AuthContext } from "../auth-context.ts";
import { requireAudience } from "./app-audience.ts";
import { offeredBy, userInSession } from "./presented-user.ts";

/** What a token says of the user besides the name. */
export const tokenFacts = ["roles-and-traits", "roles", "traits", "none"] as const;
export type TokenFacts = (typeof tokenFacts)[number];

export interface AppTokenAsk {
  /** The agent's host. */
  readonly hostId: string;
  readonly app: string;
  /** The application's own address, as the host has announced it: the audience of the token. */
  readonly uri: string;
  /** DER. */
  readonly userCertificate: Buffer;
  /** `ip:port` of the user. */
  readonly clientAddress: string;
  readonly claims: TokenFacts;
}

/** Longest validity of a token, seconds: the agent asks for the next one. */
const validSeconds = 300;
/** Clocks of servers differ, seconds. */
const skewSeconds = 60;
const maxUri = 2_048;

/**
 * A token in which an agent names the user to an application. The agent has to offer the application now, at this address, and the user has to be allowed to
 * use it: all is checked again, whatever the agent has decided. Throws `denied`, `unauthenticated`, `invalid`; `unavailable` while it is not known what the host offers.
 */
export async function signAppToken(context: AuthContext, ask: AppTokenAsk): Promise<{ readonly token: string; readonly expires: Date }> {
  const { hostId, app, uri, userCertificate, clientAddress, claims } = ask;
  const offered = offeredBy(context, { hostId, kind: "app", name: app });
  if (uri.length > maxUri || !URL.canParse(uri))
    throw new PlatformError("invalid", "the application's address is not a URI of at most 2048 characters");
  const now = context.now();
  const identity = await userInSession(context, userCertificate, now);
  authorize({
    identity,
    roles: await rolesNamed(context.storage, identity.roles),
    locks: await listLocks(context.storage),
    ask: { kind: "app", served: { name: app, labels: offered.labels }, serverId: hostId },
    clientIp: ipOf(clientAddress),
    now,
  });
  await requireAudience(context.storage, offered, uri);
  const iat = Math.floor(now.getTime() / 1000);
  const exp = Math.min(iat + validSeconds, Math.floor(identity.validBefore.getTime() / 1000));
  const times = { iat, nbf: iat - skewSeconds, exp };
  const user = { sub: identity.name, username: identity.name, ...factsOf(identity, claims) };
  const token = await context.authorities.signToken({ iss: context.clusterName, aud: [uri], ...user, ...times, jti: randomUUID() });
  return { token, expires: new Date(exp * 1000) };
}

function factsOf(
  { roles, traits }: UserIdentity,
  claims: TokenFacts,
): { readonly roles?: readonly string[]; readonly traits?: UserIdentity["traits"] } {
  return {
    ...((claims === "roles" || claims === "roles-and-traits") && { roles }),
    ...((claims === "traits" || claims === "roles-and-traits") && { traits }),
  };
}
