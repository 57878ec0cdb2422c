import { z } from "zod";
import { kubeNameSchema, namespaceListSchema, podListSchema } from "../../../../core/api/web/pods.ts";
import { formatHostPort } from "../../../../core/transport/host-port.ts";
import { connectionAgent } from "../../app-front/agent-requests.ts";
import type { ReachServices } from "../../routing/reach-served.ts";
import type { Api } from "../api/api.ts";
import { apiRoute, type UserCall } from "../api/api-route.ts";
import { type BoundServices, boundedCall } from "../api/bounded-call.ts";
import { pageConfirmation } from "../page-confirmation.ts";
import type { JsonOver } from "./get-json.ts";
import { listObjects } from "./list-objects.ts";
import { reachCluster } from "./reach-cluster.ts";
import { readNamespaces, readPods } from "./read-pods.ts";

export interface KubeServices extends ReachServices, BoundServices {}

/** Time after which a connection without a request is closed, ms. */
const idleMs = 5_000;
const clusterText = z.string().min(1).max(255);
const pods = {
  query: z.strictObject({ cluster: clusterText, namespace: z.union([z.literal(""), kubeNameSchema]).default("") }),
  answer: podListSchema,
};
const namespaces = { query: z.strictObject({ cluster: clusterText }), answer: namespaceListSchema };

/** What a user sees in a Kubernetes cluster, listed by its API server as that user. */
export function kubeRoutes(api: Api, services: KubeServices): void {
  apiRoute(api, {
    method: "GET",
    path: "/webapi/v1/kube-pods",
    summary: "Lists pods of a Kubernetes cluster that the user may list there, up to 2,000; `namespace`: left out: of all.",
    schema: pods,
    handler: async (call) => {
      const { namespace } = call.query;
      const path = namespace === "" ? "/api/v1/pods" : `/api/v1/namespaces/${namespace}/pods`;
      const { items, hasMore } = await inCluster(call, services, async (over) => await listObjects(over, { ...call.query, path, read: readPods }));
      return { pods: [...items], has_more: hasMore };
    },
  });
  apiRoute(api, {
    method: "GET",
    path: "/webapi/v1/kube-namespaces",
    summary: "Lists namespaces of a Kubernetes cluster that the user may list there, up to 2,000.",
    schema: namespaces,
    handler: async (call) => {
      const ask = { ...call.query, path: "/api/v1/namespaces", read: readNamespaces };
      const { items, hasMore } = await inCluster(call, services, async (over) => await listObjects(over, ask));
      return { namespaces: [...items], has_more: hasMore };
    },
  });
}

type KubeCall = Pick<UserCall<typeof namespaces>, "query" | "browser" | "auth" | "request" | "reply" | "address" | "signal">;

/** Asks the cluster of a call over one connection in the user's name, which ends with it. */
async function inCluster<T>(call: KubeCall, services: KubeServices, ask: (over: JsonOver) => Promise<T>): Promise<T> {
  const { query, browser, auth, request, address } = call;
  const peer = formatHostPort({ host: address, port: request.socket.remotePort ?? 0 });
  return await boundedCall(call, services, async ({ signal, hold }) => {
    const ended = new AbortController();
    const { cluster } = query;
    const confirmation = pageConfirmation(request);
    const visit = { cluster, confirmation, identity: browser.identity, auth, peer, signal: AbortSignal.any([signal, ended.signal]) };
    const agent = connectionAgent({ maxConnections: 1, maxIdle: 1, idleMs, connect: async () => await reachCluster(visit, services) });
    try {
      return await ask({ agent, hold, limits: services.lists.limits });
    } finally {
      agent.destroy();
      ended.abort();
    }
  });
}
