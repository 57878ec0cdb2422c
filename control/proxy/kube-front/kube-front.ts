import type { TLSSocket } from "node:tls";
import { toPlatformError } from "../../../core/errors/platform-error.ts";
import { refuseKubeClient } from "../../../core/kubernetes/refuse-kube-client.ts";
import { terminateTls } from "../../../core/transport/arrivals/server-tls.ts";
import type { NewConnection } from "../receive-socket.ts";
import { relayStream } from "../routing/relay-stream.ts";
import type { RelayedStreams } from "../routing/running-streams.ts";
import { type ReachKubeServices, reachKube } from "./reach-kube.ts";

export interface KubeFrontServices extends ReachKubeServices {
  readonly relaying: RelayedStreams;
}

const protocols = ["h2", "http/1.1"];

/**
 * Serves a TLS client of Kubernetes, whose certificate is for one Kubernetes cluster: its bytes, HTTP/1.1 or HTTP/2, go on to an agent as they are. Resolves
 * once bytes flow or were refused. Throws as `terminateTls`.
 */
export async function serveKubeClient({ socket, peer, established }: NewConnection, services: KubeFrontServices): Promise<void> {
  // Without a list of authorities: Go's clients then send any certificate that they have, and a refusal can name what is wrong with it.
  const context = services.identity.current().databases;
  const tls = await terminateTls(socket, { context, alpn: protocols, requestCertificate: true });
  tls.on("error", () => {});
  let agent: TLSSocket;
  try {
    agent = await reachKube({ tls, peer }, services);
  } catch (thrown) {
    const error = toPlatformError(thrown);
    if (error.code === "internal") services.log.error("could not reach a Kubernetes cluster for a client", { peer, error: thrown });
    return await refuseKubeClient(tls, error, services.signal);
  }
  established();
  void relayStream(tls, agent, services);
}
