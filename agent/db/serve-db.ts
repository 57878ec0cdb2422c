import { randomUUID } from "node:crypto";
import type { Duplex } from "node:stream";
import type { ServedGrant } from "../../core/access/authorize.ts";
import { PlatformError, toPlatformError } from "../../core/errors/platform-error.ts";
import { peerCertificate } from "../../core/identity/x509-identity.ts";
import { alpn } from "../../core/transport/alpn.ts";
import { encodeStreamReply, type StreamRequest } from "../../core/transport/stream-request.ts";
import type { Access } from "../access/access-source.ts";
import { acceptRequest, acceptTls, refuseUser } from "../service/accept-user.ts";
import { HeldLeases } from "../service/connection-limits.ts";
import { recordRefusal } from "../service/record-or-log.ts";
import type { StreamLife } from "../service/service.ts";
import type { HoldAccount } from "./accounts/open-accounts.ts";
import type { Database, DbDeps } from "./database.ts";
import { type DatabaseJudge, databaseJudge } from "./database-judge.ts";
import type { DatabaseNames } from "./engine.ts";
import { engineOf } from "./engines.ts";
import { runEngine } from "./run-engine.ts";
import { serveSessions } from "./serve-sessions.ts";
import { DbSession } from "./session/db-session.ts";

export interface ServeDbDeps extends DbDeps {
  /** Makes the accounts of users where the roles say so. */
  readonly holdAccount?: HoldAccount;
}

/** Serves one `db` stream: the user's TLS ends here, with one session in it, or several. Throws only before the reply to the proxy. */
export async function serveDb(stream: Duplex, request: StreamRequest<"db">, deps: ServeDbDeps, life: StreamLife): Promise<void> {
  const database = requireDatabase(request, deps);
  const access = await deps.access.at(request.accessRevision);
  const sid = request.sessionId || randomUUID();
  stream.write(encodeStreamReply({ ok: true }));
  try {
    const protocols = life.within === undefined ? alpn.service : [alpn.serviceStreams, alpn.service];
    const tls = await acceptTls({ stream, credentials: deps.credentials() }, protocols);
    const certificate = peerCertificate(tls);
    const serve = async (arrived: Pick<Arrived, "client" | "database" | "access" | "sid" | "onLimited">, itsLife: StreamLife): Promise<void> =>
      await serveSession({ request, certificate, ...arrived }, deps, itsLife);
    if (tls.alpnProtocol !== alpn.serviceStreams) return await serve({ client: tls, database, access, sid, onLimited: () => {} }, life);
    await serveSessions(tls, life, async ({ client, isFirst, refuseMore }, itsLife) => {
      // The proxy has decided about the first one.
      if (!isFirst && deps.isUnhealthy?.(database.name) === true) throw elsewhereError(database.name);
      const now = isFirst ? { access, sid } : { access: await deps.access.at(""), sid: randomUUID() };
      await serve({ client, database: requireDatabase(request, deps), ...now, onLimited: refuseMore }, itsLife);
    });
  } catch (thrown) {
    deps.log.info("db stream failed", { session: sid, db: database.name, client: request.clientAddress, error: thrown });
  } finally {
    stream.destroy();
  }
}

function requireDatabase({ target, parameters }: StreamRequest<"db">, { findDatabase, node }: Pick<ServeDbDeps, "findDatabase" | "node">): Database {
  const database = findDatabase(target);
  if (parameters.member !== undefined && database !== undefined && database.protocol !== "redis")
    throw new PlatformError("unsupported", `database ${target} is not a cluster`, { hint: "start tsh again: the database has another protocol now" });
  if (database !== undefined) return database;
  throw new PlatformError("not_found", `the agent on ${node.name} does not offer database ${JSON.stringify(target)}`);
}

function elsewhereError(name: string): PlatformError {
  return new PlatformError("unavailable", `this agent does not reach database ${name}: a new connection may lead to another one`);
}

interface Arrived {
  /** The user's decrypted bytes, of this session alone. */
  readonly client: Duplex;
  readonly certificate: Buffer | undefined;
  readonly request: StreamRequest<"db">;
  readonly database: Database;
  /** At least as of the revision by which control decided. */
  readonly access: Access;
  readonly sid: string;
  /** The user's connections are counted in the whole cluster. */
  readonly onLimited: () => void;
}

/** One session, and what it has taken of its user's limits. Never throws. */
async function serveSession(arrived: Arrived, deps: ServeDbDeps, life: StreamLife): Promise<void> {
  const { client, database, request, sid } = arrived;
  const leases = new HeldLeases(deps, sid);
  try {
    await serveUser({ ...arrived, leases }, deps, life);
  } catch (thrown) {
    deps.log.info("db stream failed", { session: sid, db: database.name, client: request.clientAddress, error: thrown });
  } finally {
    client.destroy();
    await leases.release();
  }
}

/** A refusal of the user is sent inside the user's TLS, before the protocol; one of the names by the protocol's engine, in its words. */
async function serveUser(arrived: Arrived & Pick<Entered, "leases">, deps: ServeDbDeps, life: StreamLife): Promise<void> {
  const { client, certificate, request, database, access, sid, onLimited } = arrived;
  const { clientAddress, parameters } = request;
  const proof = await acceptRequest(client, request, life.signal);
  const judge = databaseJudge({ certificate, database, clientAddress }, deps);
  const asked = { user: parameters.user || undefined, name: parameters.name || undefined };
  let grant: ServedGrant<"db">;
  try {
    grant = judge.arrive(asked, access);
  } catch (thrown) {
    const error = toPlatformError(thrown);
    await recordRefusal({ error, user: "", served: { kind: "db", name: database.name }, clientAddress, sid, grant: undefined, deps });
    return await refuseUser(client, error);
  }
  if (grant.maxConnections !== undefined) onLimited();
  client.write(encodeStreamReply({ ok: true }));
  const { name: user, relayed, mfa } = grant.identity;
  const session = openSession({ ...arrived, proof, judge, asked, user, relayedBy: relayed?.by, mfaDevice: mfa?.device }, deps, life);
  const reason = await runEngine(await engineOf(database.protocol), session);
  await session.close(reason);
  deps.log.info("db session ended", { session: sid, user, db: database.name, ...(reason && { reason: reason.message }) });
}

interface Entered extends Arrived {
  readonly leases: HeldLeases;
  readonly proof: Buffer;
  readonly judge: DatabaseJudge;
  readonly asked: DatabaseNames;
  readonly user: string;
  readonly relayedBy: string | undefined;
  readonly mfaDevice: string | undefined;
}

function openSession(entered: Entered, deps: ServeDbDeps, { signal, established }: StreamLife): DbSession {
  const { client, certificate = Buffer.alloc(0), proof, judge, asked, user, relayedBy, mfaDevice, database, access, sid, leases, request } = entered;
  const { clientAddress, parameters } = request;
  const ask = { database: database.name, certificate, proof, clientAddress };
  return new DbSession(
    {
      client,
      database,
      asked,
      sid,
      user,
      relayedBy,
      mfaDevice,
      clientAddress,
      signal,
      sessionRecording: access.sessionRecording,
      judge: async (names) => {
        const grant = await judge.login(names);
        established();
        return grant;
      },
      mayUse: (names) => judge.mayUse(names),
      reachedAt: parameters.at || undefined,
      member: parameters.member,
      lease: async (allowed) => await leases.take(allowed),
      credentials: async (account) => await deps.serverCredentials({ ...ask, account }),
      ownAccount: async ({ account: rule }, record) => {
        if (rule === undefined || deps.holdAccount === undefined) throw new Error("nothing makes accounts here");
        const credentials = async (account: string, asAdmin: boolean) => await deps.serverCredentials({ ...ask, account, asAdmin });
        return await deps.holdAccount({ database, account: user, rule, credentials, record });
      },
    },
    deps,
  );
}
