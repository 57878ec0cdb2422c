import { randomUUID } from "node:crypto";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import { authorize, type ServedGrant } from "../../core/access/authorize.ts";
import { PlatformError, toPlatformError } from "../../core/errors/platform-error.ts";
import type { UserIdentity } from "../../core/identity/identity.ts";
import { ipOf } from "../../core/transport/host-port.ts";
import { encodeStreamReply, type StreamRequest } from "../../core/transport/stream-request.ts";
import { type Access, requireReadableRoles } from "../access/access-source.ts";
import { acceptUser, refuseUser, tlsUser } from "../service/accept-user.ts";
import { HeldLeases } from "../service/connection-limits.ts";
import { strictMs } from "../service/hold-to-rules.ts";
import { recordRefusal } from "../service/record-or-log.ts";
import type { StreamLife } from "../service/service.ts";
import { RequestJudge } from "./http/request-judge.ts";
import type { KubeDeps } from "./kube-deps.ts";
import type { OfferedCluster } from "./offered-cluster.ts";
import { runKubeSession } from "./run-kube-session.ts";

/** Serves one `kube` stream: the user's TLS ends here, and its requests go on to the API server. Throws only before the reply to the proxy. */
export async function serveKube(stream: Duplex, request: StreamRequest<"kube">, deps: KubeDeps, life: StreamLife): Promise<void> {
  const cluster = deps.findCluster(request.target);
  if (cluster === undefined)
    throw new PlatformError("not_found", `the agent on ${deps.node.name} does not offer Kubernetes cluster ${JSON.stringify(request.target)}`);
  const access = await deps.access.at(request.accessRevision);
  const sid = request.sessionId || randomUUID();
  const leases = new HeldLeases(deps, sid);
  stream.write(encodeStreamReply({ ok: true }));
  try {
    const { tls, certificate } = await acceptUser({ stream, request, credentials: deps.credentials(), signal: life.signal });
    await serveUser({ tls, certificate, cluster, request, sid, access, leases }, deps, life);
  } catch (thrown) {
    deps.log.info("kube stream failed", { session: sid, cluster: cluster.name, client: request.clientAddress, error: thrown });
  } finally {
    stream.destroy();
    await leases.release();
  }
}

interface Arrived {
  readonly tls: TLSSocket;
  readonly certificate: Buffer | undefined;
  readonly cluster: OfferedCluster;
  readonly request: StreamRequest<"kube">;
  readonly sid: string;
  /** As of the revision by which control decided. */
  readonly access: Access;
  readonly leases: HeldLeases;
}

/** From the user's request to the end of the connection. A refusal is sent inside the user's own TLS. */
async function serveUser(arrived: Arrived, deps: KubeDeps, { signal, established }: StreamLife): Promise<void> {
  const { tls, cluster, request, sid, leases } = arrived;
  let grant: ServedGrant<"kube"> | undefined;
  let user = "";
  try {
    let { access } = arrived;
    grant = judge(arrived, deps);
    if (grant.rules.strictLocks) {
      access = await deps.access.fresh(strictMs);
      grant = judge({ ...arrived, access }, deps);
    }
    const { identity } = grant;
    user = identity.name;
    established();
    const lease = await leases.take(grant);
    const requestJudge = new RequestJudge(cluster, grant);
    const judgeAgain = (newer: Access): void => requestJudge.follow(judge({ ...arrived, access: newer }, deps, identity));
    const session = {
      cluster,
      names: { cluster: deps.credentials().cluster, kubeCluster: cluster.name },
      user: identity,
      sid,
      clientAddress: request.clientAddress,
      recordingMode: access.sessionRecording,
      strictRecording: () => requestJudge.grant.rules.strictRecording,
      judge: requestJudge.judge,
      requests: deps.requests,
    };
    await runKubeSession({ tls, grant, lease, judgeAgain, session }, deps, signal);
  } catch (thrown) {
    const error = toPlatformError(thrown);
    const who = { user, served: { kind: "kube", name: cluster.name } as const, clientAddress: request.clientAddress, sid };
    await recordRefusal({ error, ...who, grant, deps });
    await refuseUser(tls, error);
  }
}

/**
 * The agent's own decision; it does not trust the one that control has made. `known`: the user of a connection that goes on; a proxy's certificate in a
 * user's name is good for its beginning alone.
 */
function judge({ certificate, cluster, request, access }: Arrived, deps: KubeDeps, known?: UserIdentity): ServedGrant<"kube"> {
  const { hostId, cluster: platform } = deps.credentials();
  const now = (deps.now ?? (() => new Date()))();
  const hostname = deps.node.name;
  const identity = known ?? tlsUser({ certificate, access, cluster: platform, hostname, now, mayBeRelayed: true });
  requireReadableRoles(identity, access, hostname);
  const { roles, locks } = access;
  const ask = { kind: "kube", served: { name: cluster.name, labels: cluster.labels }, serverId: hostId } as const;
  return authorize({ identity, roles, locks, ask, clientIp: ipOf(request.clientAddress), now });
}
