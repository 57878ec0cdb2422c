import { z } from "zod";
import { errorText } from "../../../core/errors/platform-error.ts";
import type { KubeSession } from "../kube-session.ts";
import { askAsAgent } from "../upstream/ask-as-agent.ts";

/** Time limit of the request, ms: the user waits for it. */
const askMs = 2_000;
/** Longest pod, bytes: API servers store up to 1.5 MiB. */
const maxPod = 2 * 1024 * 1024;

const podSchema = z.object({
  spec: z.object({
    nodeName: z.string().optional(),
    containers: z.array(z.object({ name: z.string(), image: z.string().optional() })),
    ephemeralContainers: z.array(z.object({ name: z.string(), image: z.string().optional() })).optional(),
  }),
});

/** Facts about a pod for the audit log, besides its name. */
export interface PodFacts {
  readonly container: string;
  readonly image: string;
  readonly node: string;
}

/** Asks the API server, as the agent, what runs in a pod; the default container where the request names none. Never throws: it is for the audit log alone. */
export async function podFacts(
  { cluster, deps }: KubeSession,
  pod: { readonly namespace: string; readonly name: string; readonly container: string },
): Promise<PodFacts> {
  const none = { container: pod.container, image: "", node: "" };
  try {
    const path = `/api/v1/namespaces/${encodeURIComponent(pod.namespace)}/pods/${encodeURIComponent(pod.name)}`;
    const { status, json } = await askAsAgent(cluster.api, { method: "GET", path, timeoutMs: askMs, maxBytes: maxPod });
    const found = status === 200 ? podSchema.safeParse(json) : undefined;
    if (found?.success !== true) return none;
    const { containers, ephemeralContainers = [], nodeName = "" } = found.data.spec;
    const one = pod.container === "" ? containers[0] : [...containers, ...ephemeralContainers].find(({ name }) => name === pod.container);
    return { container: one?.name ?? pod.container, image: one?.image ?? "", node: nodeName };
  } catch (thrown) {
    deps.log.debug("could not ask for a pod's container and node", { cluster: cluster.name, error: errorText(thrown) });
    return none;
  }
}
