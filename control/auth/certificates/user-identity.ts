import { allowedNames } from "../../../core/access/names.ts";
import { pinsSourceIp } from "../../../core/access/refuse.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { Principals, UserIdentity } from "../../../core/identity/identity.ts";
import { type ServiceKind, serviceKinds, serviceNames } from "../../../core/kinds/service-kinds.ts";
import { parseDuration } from "../../../core/resources/duration.ts";
import type { Role } from "../../../core/resources/role.ts";
import { longestLoginSeconds, type User } from "../../../core/resources/user.ts";
import { ipOf } from "../../../core/transport/host-port.ts";
import { rolesNamed } from "../access/roles.ts";
import type { AuthContext } from "../auth-context.ts";

/** Bounds of the validity of a user's certificates, seconds. */
export interface MostTtl {
  /** Default, when no role sets it. */
  readonly unsaid: number;
  /** Maximum, regardless of roles. */
  readonly ever: number;
}

/** Bounds for a user's login. */
export const loginTtl: MostTtl = { unsaid: longestLoginSeconds, ever: longestLoginSeconds };
/** Bounds for a machine's certificates, requested by an admin: a role may allow a year. */
export const machineTtl: MostTtl = { unsaid: 30 * 3_600, ever: 366 * 86_400 };

export interface CertificateAsk {
  /** Read before the user's record; undefined: a user of an older version. */
  readonly userId: string | undefined;
  /** 0: the default. */
  readonly ttlSeconds: number;
  readonly most: MostTtl;
  /** Address of the client, for roles that pin it; left out: such roles are refused. */
  readonly address?: string;
}

/** The identity for a user's certificates, by the user's current roles. */
export async function userIdentity(
  context: AuthContext,
  user: User,
  { userId, ttlSeconds, most, address = "" }: CertificateAsk,
): Promise<UserIdentity> {
  const roles = await rolesNamed(context.storage, user.spec.roles);
  const traits = Object.fromEntries(Object.entries(user.spec.traits ?? {}).flatMap(([key, list]) => (list === undefined ? [] : [[key, list]])));
  const seconds = sessionSeconds(roles, ttlSeconds === 0 ? context.defaultSessionTtlSeconds : ttlSeconds, most);
  return {
    kind: "user",
    name: user.metadata.name,
    ...(userId !== undefined && { userId }),
    roles: user.spec.roles,
    traits,
    principals: principalsOf(roles, traits),
    cluster: context.clusterName,
    ...(pinsSourceIp(roles) && { sourceIp: knownIp(address) }),
    validBefore: new Date(Math.floor(context.now().getTime() / 1000 + seconds) * 1000),
  };
}

/** Every name that these roles allow somewhere, by kind of service and parameter. Pure. */
function principalsOf(roles: readonly Role[], traits: UserIdentity["traits"]): Principals {
  const namesOf = (kind: ServiceKind): readonly (readonly [string, readonly string[]])[] =>
    Object.entries(serviceKinds[kind].names).map(([parameter, { condition }]) => [parameter, allowedNames(condition, roles, traits)]);
  const kinds = serviceNames.map((kind) => [kind, namesOf(kind)] as const).filter(([, names]) => names.length > 0);
  return Object.fromEntries(kinds.map(([kind, names]) => [kind, Object.fromEntries(names)]));
}

function knownIp(address: string): string {
  const ip = ipOf(address);
  if (ip !== "") return ip;
  throw new PlatformError("denied", "a role binds certificates to the client's address (pin_source_ip), which is not known here");
}

/** The requested validity, capped by every role's `max_session_ttl` and by the overall maximum; at least a minute. Seconds. */
export function sessionSeconds(roles: readonly Role[], wanted: number, most: MostTtl = loginTtl): number {
  const caps = roles.flatMap(({ spec }) => (spec.options?.max_session_ttl === undefined ? [] : [parseDuration(spec.options.max_session_ttl)]));
  const said = caps.length > 0 ? Math.min(...caps) : most.unsaid;
  return Math.min(said, most.ever, Math.max(60, wanted));
}
