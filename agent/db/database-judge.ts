import { authorize, type ServedGrant } from "../../core/access/authorize.ts";
import { expandDeniedNames } from "../../core/access/names.ts";
import { PlatformError } from "../../core/errors/platform-error.ts";
import type { UserIdentity } from "../../core/identity/identity.ts";
import { bindsDbNames } from "../../core/resources/db.ts";
import { ipOf } from "../../core/transport/host-port.ts";
import type { Access } from "../access/access-source.ts";
import { tlsUser } from "../service/accept-user.ts";
import { strictMs } from "../service/hold-to-rules.ts";
import type { ServiceDeps } from "../service/service.ts";
import type { Database } from "./database.ts";
import type { DatabaseNames } from "./engine.ts";

/** What decisions about one connection of a user need to know. */
export interface JudgedUser {
  /** DER; undefined when the client presented none. */
  readonly certificate: Buffer | undefined;
  readonly database: Database;
  /** `ip:port` of the user. */
  readonly clientAddress: string;
}

/** The agent's own decisions about one connection; those of control are not trusted. */
export interface DatabaseJudge {
  /** On arrival: names that are not stated yet are decided later. Throws `unauthenticated`, `denied`. */
  arrive(names: DatabaseNames, access: Access): ServedGrant<"db">;
  /** At the login, by the newest rules: a lock may have come since the arrival. Throws as `arrive` does, and `unavailable`. */
  login(names: DatabaseNames): Promise<ServedGrant<"db">>;
  /** Whether the rules of the login allow these names too, the database `*` standing for all of them; false before it. */
  mayUse(names: DatabaseNames): boolean;
}

interface Known {
  readonly identity: UserIdentity;
  readonly access: Access;
  readonly now: Date;
}

/** Maximum number of remembered verdicts of a session, and characters of the names of one: no server has longer names of databases. */
const maxVerdicts = 128;
const maxNames = 256;

export function databaseJudge(user: JudgedUser, deps: Pick<ServiceDeps, "access" | "credentials" | "node" | "now">): DatabaseJudge {
  /** By the rules of the login, which do not change while the session lasts. */
  let mayUse = (_names: DatabaseNames): boolean => false;
  const identify = (access: Access): Known => {
    const now = (deps.now ?? (() => new Date()))();
    const { cluster } = deps.credentials();
    const facts = { certificate: user.certificate, access, cluster, hostname: deps.node.name, now, mayBeRelayed: true };
    return { identity: tlsUser(facts), access, now };
  };
  const decide = (known: Known, names: DatabaseNames) => judged(user, { ...known, names, hostId: deps.credentials().hostId });
  const allows = (known: Known, names: DatabaseNames): boolean => {
    if (names.name === "*" && deniesAny(known)) return false;
    try {
      return decide(known, names) !== undefined;
    } catch {
      return false;
    }
  };
  return {
    arrive: (names, access) => decide(identify(access), names),
    login: async (names) => {
      let known = identify(await deps.access.at(""));
      let grant = decide(known, names);
      if (grant.rules.strictLocks) {
        known = identify(await deps.access.fresh(strictMs));
        grant = decide(known, names);
      }
      mayUse = remembering((others) => allows(known, others));
      return grant;
    },
    mayUse: (names) => mayUse(names),
  };
}

/** The same verdicts, remembered: one command can name many databases, and each takes a decision by all roles and locks. */
function remembering(decide: (names: DatabaseNames) => boolean): (names: DatabaseNames) => boolean {
  const verdicts = new Map<string, boolean>();
  return (names) => {
    const { user, name } = names;
    if ((user?.length ?? 0) + (name?.length ?? 0) > maxNames) return decide(names);
    const key = JSON.stringify([user, name]);
    const known = verdicts.get(key);
    if (known !== undefined) return known;
    const verdict = decide(names);
    const [oldest] = verdicts.keys();
    if (verdicts.size >= maxVerdicts && oldest !== undefined) verdicts.delete(oldest);
    verdicts.set(key, verdict);
    return verdict;
  };
}

/** Whether a role denies any logical database, and so not all of them may be used. */
function deniesAny({ identity, access }: Known): boolean {
  const held = access.roles.filter(({ metadata }) => identity.roles.includes(metadata.name));
  return held.some(({ spec }) => expandDeniedNames(spec.deny?.db_names, identity.traits).length > 0);
}

function judged(
  { database, clientAddress }: JudgedUser,
  { identity, access, now, names, hostId }: Known & { readonly names: DatabaseNames; readonly hostId: string },
): ServedGrant<"db"> {
  const { roles, locks } = access;
  const { name, labels, adminUser } = database;
  if (adminUser !== undefined && names.user === adminUser.name) throw adminError(adminUser.name, name);
  const isNamed = names.name !== undefined && bindsDbNames(database.protocol);
  const wanted = { ...(names.user !== undefined && { user: names.user }), ...(isNamed && { name: names.name }) };
  const without = (["user", "name"] as const).filter((one) => !(one in wanted));
  const ask = { kind: "db", served: { name, labels }, names: wanted, without, serverId: hostId, makesAccounts: adminUser !== undefined } as const;
  return authorize({ identity, roles, locks, ask, clientIp: ipOf(clientAddress), now });
}

/** Takes precedence over roles: `db_users: ["*"]` does not include this account. */
function adminError(account: string, database: string): PlatformError {
  return new PlatformError("denied", `access denied: ${account} is the account with which agents make others at ${database}, and nobody's own`);
}
