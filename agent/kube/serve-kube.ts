import type { Duplex } from "node:stream";
import type { StreamRequest } from "../../core/transport/stream-request.ts";
import { type ServedSession, serveServed } from "../service/serve-served.ts";
import type { StreamLife } from "../service/service.ts";
import { RequestJudge } from "./http/request-judge.ts";
import type { KubeDeps } from "./kube-deps.ts";
import type { OfferedCluster } from "./offered-cluster.ts";
import { runKubeSession } from "./run-kube-session.ts";

/** Serves one `kube` stream: the user's TLS ends here, and its requests go on to the API server. Throws only before the reply to the proxy. */
export async function serveKube(stream: Duplex, request: StreamRequest<"kube">, deps: KubeDeps, life: StreamLife): Promise<void> {
  const run = async (session: ServedSession<"kube", OfferedCluster>): Promise<void> => await serveCluster(session, deps, life.signal);
  await serveServed({ stream, request, resource: deps.findCluster(request.target) }, run, deps, life);
}

async function serveCluster(served: ServedSession<"kube", OfferedCluster>, deps: KubeDeps, signal: AbortSignal): Promise<void> {
  const { tls, resource: cluster, sid, clientAddress, access, grant, lease } = served;
  const judge = new RequestJudge(cluster, grant, deps.now ?? (() => new Date()));
  const session = {
    cluster,
    names: { cluster: deps.credentials().cluster, kubeCluster: cluster.name },
    user: grant.identity,
    sid,
    clientAddress,
    recordingMode: access.sessionRecording,
    strictRecording: () => judge.grant.rules.strictRecording,
    judge: judge.judge,
    requests: deps.requests,
  };
  await runKubeSession({ tls, grant, lease, judgeAgain: (newer) => judge.follow(served.judge(newer)), session }, deps, signal);
}
