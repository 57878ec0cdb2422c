import { randomUUID } from "node:crypto";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import type { ServedGrant } from "../../core/access/authorize.ts";
import { PlatformError, toPlatformError } from "../../core/errors/platform-error.ts";
import { encodeStreamReply, type StreamRequest } from "../../core/transport/stream-request.ts";
import type { Access } from "../access/access-source.ts";
import { acceptUser, refuseUser } from "../service/accept-user.ts";
import { HeldLeases } from "../service/connection-limits.ts";
import { recordRefusal } from "../service/record-or-log.ts";
import type { StreamLife } from "../service/service.ts";
import type { HoldAccount } from "./accounts/open-accounts.ts";
import type { Database, DbDeps } from "./database.ts";
import { type DatabaseJudge, databaseJudge } from "./database-judge.ts";
import type { DatabaseNames } from "./engine.ts";
import { engineOf } from "./engines.ts";
import { runEngine } from "./run-engine.ts";
import { DbSession } from "./session/db-session.ts";

export interface ServeDbDeps extends DbDeps {
  /** Makes the accounts of users where the roles say so. */
  readonly holdAccount?: HoldAccount;
}

/** Serves one `db` stream: the user's TLS ends here, and its protocol's engine takes the rest. Throws only before the reply to the proxy. */
export async function serveDb(stream: Duplex, request: StreamRequest<"db">, deps: ServeDbDeps, life: StreamLife): Promise<void> {
  const database = deps.findDatabase(request.target);
  if (database === undefined)
    throw new PlatformError("not_found", `the agent on ${deps.node.name} does not offer database ${JSON.stringify(request.target)}`);
  const access = await deps.access.at(request.accessRevision);
  const sid = request.sessionId || randomUUID();
  const leases = new HeldLeases(deps, sid);
  stream.write(encodeStreamReply({ ok: true }));
  try {
    await serveUser({ stream, request, database, access, sid, leases }, deps, life);
  } catch (thrown) {
    deps.log.info("db stream failed", { session: sid, db: database.name, client: request.clientAddress, error: thrown });
  } finally {
    stream.destroy();
    await leases.release();
  }
}

interface Arrived {
  readonly stream: Duplex;
  readonly request: StreamRequest<"db">;
  readonly database: Database;
  /** As of the revision by which control decided. */
  readonly access: Access;
  readonly sid: string;
  readonly leases: HeldLeases;
}

/** A refusal of the user is sent inside the user's TLS, before the protocol; one of the names by the protocol's engine, in its words. */
async function serveUser(arrived: Arrived, deps: ServeDbDeps, life: StreamLife): Promise<void> {
  const { stream, request, database, access, sid } = arrived;
  const { clientAddress, parameters } = request;
  const { tls, certificate, proof } = await acceptUser({ stream, request, credentials: deps.credentials(), signal: life.signal });
  const judge = databaseJudge({ certificate, database, clientAddress }, deps);
  const asked = { user: parameters.user || undefined, name: parameters.name || undefined };
  let grant: ServedGrant<"db">;
  try {
    grant = judge.arrive(asked, access);
  } catch (thrown) {
    const error = toPlatformError(thrown);
    await recordRefusal({ error, user: "", served: { kind: "db", name: database.name }, clientAddress, sid, grant: undefined, deps });
    return await refuseUser(tls, error);
  }
  tls.write(encodeStreamReply({ ok: true }));
  const { name: user, relayed } = grant.identity;
  const session = openSession({ ...arrived, tls, certificate, proof, judge, asked, user, relayedBy: relayed?.by }, deps, life);
  const reason = await runEngine(await engineOf(database.protocol), session);
  await session.close(reason);
  deps.log.info("db session ended", { session: sid, user, db: database.name, ...(reason && { reason: reason.message }) });
}

interface Entered extends Arrived {
  readonly tls: TLSSocket;
  readonly certificate: Buffer | undefined;
  readonly proof: Buffer;
  readonly judge: DatabaseJudge;
  readonly asked: DatabaseNames;
  readonly user: string;
  readonly relayedBy: string | undefined;
}

function openSession(entered: Entered, deps: ServeDbDeps, { signal, established }: StreamLife): DbSession {
  const { tls, certificate = Buffer.alloc(0), proof, judge, asked, user, relayedBy, database, access, sid, leases, request } = entered;
  const { clientAddress, parameters } = request;
  const ask = { database: database.name, certificate, proof, clientAddress };
  return new DbSession(
    {
      client: tls,
      database,
      asked,
      sid,
      user,
      relayedBy,
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
