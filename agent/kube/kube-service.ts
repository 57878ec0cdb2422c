import { maxKubeClusters } from "../../core/config/kube-service.ts";
import type { Log } from "../../core/log/log.ts";
import { kubeClusterDocument } from "../../core/resources/kube-cluster.ts";
import type { Labels } from "../../core/resources/metadata.ts";
import type { LabelMatchers } from "../../core/resources/role.ts";
import type { Env } from "../../core/transport/dial/choose-proxy.ts";
import { HostLabels, type LabelCommand } from "../labels/host-labels.ts";
import { HealthChecks } from "../service/health-checks.ts";
import { offerResources } from "../service/offered-resources.ts";
import type { Service } from "../service/service.ts";
import { ApiServers, settingsOf } from "./api-servers.ts";
import { clusterOfPod, clusterOfResource, clustersOfFile, type DescribedCluster } from "./kube-cluster.ts";
import { UserRequests } from "./user-requests.ts";

export interface KubeConfig {
  /** Each of its contexts is a cluster. */
  readonly kubeconfigFile?: string | undefined;
  /** Name of the cluster in whose pod the agent runs. */
  readonly podCluster?: string | undefined;
  /** Labels of the clusters in the configuration. */
  readonly labels: Labels;
  /** More of them, whose values commands print. */
  readonly commands: readonly LabelCommand[];
  /** Labels of the cluster's `kube_cluster` resources that are offered too. */
  readonly matchers: readonly LabelMatchers[];
}

/** Kubernetes clusters that this host can reach. Throws `invalid` or `unsupported` for a kubeconfig that this version cannot use. */
export async function prepareKube({ kubeconfigFile, podCluster, labels, commands, matchers }: KubeConfig, env: Env): Promise<Service> {
  const described = [
    ...(kubeconfigFile === undefined ? [] : await clustersOfFile(kubeconfigFile, labels)),
    ...(podCluster === undefined ? [] : [await clusterOfPod(podCluster, labels, env)]),
  ];
  return {
    name: "kube",
    open: async (deps, signal) => {
      const { log } = deps;
      const printed = await HostLabels.open({ fixed: labels, commands, log, changed: () => offered.announce() }, signal);
      const own = described.map((one) => withLabels(one, () => printed.current));
      const servers = new ApiServers(env, signal);
      const warnOfLacking = lackingWarnings(log);
      const details = ({ name }: DescribedCluster) => health.details(name);
      const sources = {
        kind: "kube",
        own,
        matchers,
        most: maxKubeClusters,
        document: kubeClusterDocument,
        served: clusterOfResource,
        details,
      } as const;
      const offered = offerResources(sources, deps, signal);
      const check = async (one: DescribedCluster): Promise<"answers"> => {
        const { checkCluster } = await import("./check-cluster.ts");
        const { api } = servers.of(one);
        return await checkCluster(api, (permissions) => warnOfLacking(one.name, api, permissions));
      };
      const settings = ({ server }: DescribedCluster): string => settingsOf(server);
      const health = new HealthChecks<DescribedCluster>({ kind: "kube", settings, check, onChange: () => offered.announce(), log: deps.log }, signal);
      const follow = (): void => {
        servers.follow(offered.all());
        health.follow(offered.all());
      };
      offered.onChange(follow);
      follow();
      const requests = new UserRequests();
      const findCluster = (name: string) => {
        const found = offered.find(name);
        return found && servers.of(found);
      };
      return {
        offered,
        serve: {
          kube: async (stream, request, life) => {
            const { serveKube } = await import("./serve-kube.ts");
            await serveKube(stream, request, { ...deps, findCluster, requests, onUnreached: (name) => health.suspect(name) }, life);
          },
        },
      };
    },
  };
}

/** Warns about permissions that the agent's account at a cluster lacks: once, and again when they change. */
function lackingWarnings(log: Pick<Log, "warn">): (cluster: string, api: object, permissions: readonly string[]) => void {
  const warned = new WeakMap<object, string>();
  return (cluster, api, permissions) => {
    const missing = permissions.join(", ");
    if (missing === (warned.get(api) ?? "")) return;
    warned.set(api, missing);
    if (missing === "") return;
    log.warn("the agent's account at a Kubernetes cluster lacks permissions", {
      kube: cluster,
      missing,
      hint: "docs/kubernetes.md has the ClusterRole",
    });
  };
}

/** The cluster with labels that change. Pure. */
function withLabels({ name, server }: DescribedCluster, current: () => Labels): DescribedCluster {
  return {
    name,
    server,
    get labels() {
      return current();
    },
  };
}
