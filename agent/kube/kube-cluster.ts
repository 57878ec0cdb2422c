import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { errorText, PlatformError } from "../../core/errors/platform-error.ts";
import { inCluster } from "../../core/kubernetes/in-cluster.ts";
import { type KubeCluster, kubeconfigOf } from "../../core/resources/kube-cluster.ts";
import type { Labels } from "../../core/resources/metadata.ts";
import type { Env } from "../../core/transport/dial/choose-proxy.ts";
import { formatHostPort } from "../../core/transport/host-port.ts";
import { parseKubeconfig } from "./kubeconfig/parse-kubeconfig.ts";
import { upstreamOf } from "./kubeconfig/upstream-of.ts";
import type { ApiServerFacts } from "./upstream/api-server.ts";

/** A Kubernetes cluster that a configuration, or a resource, describes. */
export interface DescribedCluster {
  readonly name: string;
  readonly labels: Labels;
  readonly server: ApiServerFacts;
}

/** The contexts of a kubeconfig file, each a cluster of its name. Throws `invalid` or `unsupported`. */
export async function clustersOfFile(file: string, labels: Labels): Promise<readonly DescribedCluster[]> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (cause) {
    throw new PlatformError("invalid", `could not read kubernetes_service.kubeconfig_file: ${errorText(cause)}`, { cause });
  }
  const contexts = parseKubeconfig(text);
  if (contexts.length === 0)
    throw new PlatformError("invalid", `kubernetes_service.kubeconfig_file: ${file} has no contexts`, {
      hint: "each context is offered as a cluster",
    });
  return contexts.map((context) => ({ name: context.name, labels, server: serverOf(context.name, upstreamOf(context, { folder: dirname(file) })) }));
}

/** The cluster in whose pod this agent runs. Throws `invalid` outside a pod. */
export async function clusterOfPod(name: string, labels: Labels, env: Env): Promise<DescribedCluster> {
  const pod = await inCluster(env);
  const address = { host: pod.host, port: pod.port };
  const server = { name, address, authority: formatHostPort(address), basePath: "", serverName: pod.host, isInsecure: false, login: pod };
  return { name, labels, server };
}

/** A `kube_cluster` resource: the context that it names as its current one, or its only one. Throws `invalid` or `unsupported`. */
export function clusterOfResource(resource: KubeCluster): DescribedCluster {
  const { name, labels = {} } = resource.metadata;
  const text = kubeconfigOf(resource);
  if (text === undefined) throw new PlatformError("invalid", "it has no kubeconfig");
  const contexts = parseKubeconfig(text);
  const [only, ...more] = contexts;
  const context = more.length === 0 ? only : contexts.find((one) => one.name === name);
  if (context === undefined)
    throw new PlatformError("invalid", `its kubeconfig has ${contexts.length} contexts`, { hint: "leave one in it, or name one as the resource" });
  return { name, labels, server: serverOf(name, upstreamOf(context, { folder: undefined })) };
}

function serverOf(name: string, upstream: ReturnType<typeof upstreamOf>): ApiServerFacts {
  const { ca, account, ...facts } = upstream;
  return { name, ...facts, login: { ca, account } };
}
