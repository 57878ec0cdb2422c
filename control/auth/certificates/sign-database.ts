import { isIP } from "node:net";
import { authorize } from "../../../core/access/authorize.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { dbAccountText } from "../../../core/resources/db.ts";
import { ipOf } from "../../../core/transport/host-port.ts";
import { listLocks } from "../access/locks.ts";
import { rolesNamed } from "../access/roles.ts";
import type { AuthContext } from "../auth-context.ts";
import type { Actor } from "../document.ts";
import { checkSessionProof } from "./check-session-proof.ts";
import { adminMs, checkAdmin, reportedAdmin } from "./database-admin.ts";
import { offeredBy, presentedUser } from "./presented-user.ts";

export interface DatabaseClientAsk {
  /** The agent's host. */
  readonly hostId: string;
  readonly database: string;
  readonly account: string;
  /** The agent's own key. */
  readonly tlsPublicKey: string;
  /** DER. */
  readonly userCertificate: Buffer;
  /** The user's proof of the session; empty: none. */
  readonly proof: Buffer;
  /** `ip:port` of the user. */
  readonly clientAddress: string;
  /** The account is the admin_user of the database, with which the agent makes the user's own account. */
  readonly asAdmin: boolean;
}

/**
 * A certificate with which an agent is one account at a database server, valid as long as the user's. The agent has to offer the database now, the user
 * has to have signed this very session, and to be allowed this account there: all is checked again, whatever the agent has decided. One proof is good for
 * one certificate, and for one as admin_user, of a few minutes, where the user's roles let the agent make the user's account. Throws `denied`,
 * `unauthenticated`, `invalid`, `unsupported`, `limit`; `unavailable` while it is not known what the host offers.
 */
export async function signDatabaseClient(context: AuthContext, ask: DatabaseClientAsk): Promise<string> {
  const { hostId, database, account, tlsPublicKey, userCertificate, proof, clientAddress, asAdmin } = ask;
  const offered = offeredBy(context, { hostId, kind: "db", name: database });
  if (!dbAccountText.safeParse(account).success)
    throw new PlatformError("invalid", "the account is not 1 to 64 characters without control characters");
  await checkAdmin(context, { offered, account, isAdmin: asAdmin });
  const now = context.now();
  const identity = await presentedUser(context, userCertificate, now);
  const user = asAdmin ? identity.name : account;
  const session = { cluster: context.clusterName, hostId, database, account: user };
  const proofId = checkSessionProof({ proof, certificate: userCertificate, session, now });
  const served = { name: database, labels: offered.labels };
  const makesAccounts = reportedAdmin(offered) !== undefined;
  const grant = authorize({
    identity,
    roles: await rolesNamed(context.storage, identity.roles),
    locks: await listLocks(context.storage),
    ask: { kind: "db", served, names: { user }, without: ["name"], serverId: hostId, makesAccounts },
    clientIp: ipOf(clientAddress),
    now,
    isPartial: true,
  });
  if (asAdmin && grant.account === undefined)
    throw new PlatformError("denied", `access denied: the roles of ${user} make no accounts at ${database}`);
  const validBefore = asAdmin ? soonest(identity.validBefore, new Date(now.getTime() + adminMs)) : identity.validBefore;
  context.usedProofs.use(asAdmin ? `${proofId} admin` : proofId, { hostId, now });
  const issued = await context.authorities.issueDatabase("db_client", { tlsPublicKey, now, validBefore, subject: [["CN", account]], names: [] });
  const event = { event: "cert.create", user: identity.name, name: account, kind: "db_client", expires: validBefore.toISOString() } as const;
  context.audit.emit({ ...event, "addr.remote": clientAddress.slice(0, 256) });
  return issued;
}

function soonest(one: Date, other: Date): Date {
  return one < other ? one : other;
}

export interface DatabaseServerAsk {
  readonly names: readonly string[];
  readonly tlsPublicKey: string;
  /** 0: the default. */
  readonly ttlSeconds: number;
  /** Whether the subject has the organization by which MongoDB's servers know each other. */
  readonly withOrganization: boolean;
  readonly actor: Actor;
}

/** Validity of a server's certificate, which is not renewed by itself, seconds. */
const usualTtlSeconds = 90 * 86_400;
const mostTtlSeconds = 366 * 86_400;

/** A certificate for a database server. Throws `invalid`. */
export async function signDatabaseServer(context: AuthContext, ask: DatabaseServerAsk): Promise<string> {
  const names = [...new Set(ask.names.map((name) => name.trim().toLowerCase()))];
  const [first] = names;
  if (first === undefined)
    throw new PlatformError("invalid", "a database server's certificate needs a name", { hint: "give --host=<name>[,<name>]" });
  const bad = names.find((name) => isIP(name) === 0 && !/^(\*\.)?[a-z0-9]([a-z0-9-]{0,62}\.?)*$/.test(name));
  if (bad !== undefined || first.length > 64 || names.length > 64) {
    throw new PlatformError("invalid", `${JSON.stringify((bad ?? first).slice(0, 80))} cannot be a name in a server's certificate`, {
      hint: "give names and IP addresses; the first has at most 64 characters",
    });
  }
  const now = context.now();
  const ttl = Math.min(mostTtlSeconds, ask.ttlSeconds === 0 ? usualTtlSeconds : Math.max(60, ask.ttlSeconds));
  const validBefore = new Date(Math.floor(now.getTime() / 1000 + ttl) * 1000);
  const organization = ask.withOrganization ? ([["O", context.clusterName.slice(0, 64)]] as const) : [];
  const facts = { tlsPublicKey: ask.tlsPublicKey, now, validBefore, subject: [["CN", first] as const, ...organization], names };
  const issued = await context.authorities.issueDatabase("db", facts);
  const { name: user, address } = ask.actor;
  context.audit.emit({ event: "cert.create", user, name: first, kind: "db", expires: validBefore.toISOString(), "addr.remote": address });
  return issued;
}
