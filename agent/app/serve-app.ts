import { randomUUID } from "node:crypto";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import { authorize, type ServedGrant } from "../../core/access/authorize.ts";
import { PlatformError, toPlatformError } from "../../core/errors/platform-error.ts";
import type { UserIdentity } from "../../core/identity/identity.ts";
import { speaksHttp } from "../../core/resources/app-uri.ts";
import { ipOf } from "../../core/transport/host-port.ts";
import { encodeStreamReply, type StreamRequest } from "../../core/transport/stream-request.ts";
import { type Access, requireReadableRoles } from "../access/access-source.ts";
import { acceptUser, refuseUser, tlsUser } from "../service/accept-user.ts";
import { HeldLeases } from "../service/connection-limits.ts";
import { strictMs } from "../service/hold-to-rules.ts";
import { recordRefusal } from "../service/record-or-log.ts";
import type { StreamLife } from "../service/service.ts";
import type { AppDeps } from "./app-deps.ts";
import { dialApp } from "./dial-app.ts";
import type { OfferedApp } from "./offered-app.ts";
import { runAppSession } from "./run-app-session.ts";
import { runWebSession, type WebSession } from "./run-web-session.ts";

/** Serves one `app` stream: the user's TLS ends here, and its bytes go on to the application. Throws only before the reply to the proxy. */
export async function serveApp(stream: Duplex, request: StreamRequest<"app">, deps: AppDeps, life: StreamLife): Promise<void> {
  const app = deps.findApp(request.target);
  if (app === undefined)
    throw new PlatformError("not_found", `the agent on ${deps.node.name} does not offer application ${JSON.stringify(request.target)}`);
  const access = await deps.access.at(request.accessRevision);
  const sid = request.sessionId || randomUUID();
  const leases = new HeldLeases(deps, sid);
  stream.write(encodeStreamReply({ ok: true }));
  try {
    const { tls, certificate } = await acceptUser({ stream, request, credentials: deps.credentials(), signal: life.signal });
    await serveUser({ tls, certificate, app, request, sid, access, leases }, deps, life);
  } catch (thrown) {
    deps.log.info("app stream failed", { session: sid, app: app.name, client: request.clientAddress, error: thrown });
  } finally {
    stream.destroy();
    await leases.release();
  }
}

interface Arrived {
  readonly tls: TLSSocket;
  readonly certificate: Buffer | undefined;
  readonly app: OfferedApp;
  readonly request: StreamRequest<"app">;
  readonly sid: string;
  /** As of the revision by which control decided. */
  readonly access: Access;
  readonly leases: HeldLeases;
}

/** From the user's request to the end of the session. A refusal is sent inside the user's own TLS. */
async function serveUser(arrived: Arrived, deps: AppDeps, { signal, established }: StreamLife): Promise<void> {
  const { tls, app, request, sid, leases } = arrived;
  let grant: ServedGrant<"app"> | undefined;
  let user = "";
  try {
    grant = judge(arrived, deps);
    if (grant.rules.strictLocks) grant = judge({ ...arrived, access: await deps.access.fresh(strictMs) }, deps);
    user = grant.identity.name;
    established();
    const lease = await leases.take(grant);
    const session = { tls, grant, sid, app, lease, clientAddress: request.clientAddress };
    if (speaksHttp(app.address)) await runWebSession({ ...session, ...webFacts(arrived, deps, grant.identity) }, deps, signal);
    else await runAppSession({ ...session, upstream: await dialApp(app, deps.targets, signal) }, deps, signal);
  } catch (thrown) {
    const error = toPlatformError(thrown);
    const who = { user, served: { kind: "app", name: app.name } as const, clientAddress: request.clientAddress, sid };
    await recordRefusal({ error, ...who, grant, deps });
    await refuseUser(tls, error);
  }
}

/**
 * The agent's own decision; it does not trust the one that control has made. `known`: the user of a session that goes on; a proxy's certificate in a
 * user's name is good for its beginning alone.
 */
function judge({ certificate, app, request, access }: Arrived, deps: AppDeps, known?: UserIdentity): ServedGrant<"app"> {
  const { hostId, cluster } = deps.credentials();
  const now = (deps.now ?? (() => new Date()))();
  const hostname = deps.node.name;
  const identity = known ?? tlsUser({ certificate, access, cluster, hostname, now, mayBeRelayed: true });
  requireReadableRoles(identity, access, hostname);
  const { roles, locks } = access;
  const ask = { kind: "app", served: { name: app.name, labels: app.labels }, serverId: hostId } as const;
  return authorize({ identity, roles, locks, ask, clientIp: ipOf(request.clientAddress), now });
}

/** What a session with a web application needs besides: requests go out in the user's name as long as the rules allow it. */
function webFacts(arrived: Arrived, deps: AppDeps, user: UserIdentity): Pick<WebSession, "certificate" | "judge" | "recordingMode"> {
  const { certificate = Buffer.alloc(0), access } = arrived;
  return { certificate, judge: (newer) => judge({ ...arrived, access: newer }, deps, user), recordingMode: access.sessionRecording };
}
