import { errorText, PlatformError } from "../../core/errors/platform-error.ts";
import { inCluster, isInCluster } from "../../core/kubernetes/in-cluster.ts";
import { KubernetesApi } from "../../core/kubernetes/kubernetes-api.ts";
import type { Log } from "../../core/log/log.ts";
import type { SchedulePlace } from "./schedule-keeper.ts";
import { readUpdateStatus, sharedSchedule, shareIdentity, workloadPath } from "./shared-secret.ts";

/** This agent's release in Kubernetes, whose updater is a controller of its own (decision 47). Methods throw PlatformError. */
export interface Release {
  readonly schedule: SchedulePlace;
  /** Gives the updater what it must know of this agent; resolves to whether anything was written. */
  share(identity: { readonly keys: readonly string[]; readonly hostId: string }): Promise<boolean>;
  /** The updater's last result as JSON; undefined if it has not written one. */
  status(): Promise<string | undefined>;
}

type Env = Readonly<Record<string, string | undefined>>;

/**
 * The release, as the chart describes it to the pod: PLATFORM_SHARED_STATE_SECRET, PLATFORM_WORKLOAD, PLATFORM_REPLICA_NAME. Undefined for a host that is
 * not such a pod, and, with a warning, for a pod that is described badly: the agent serves all the same.
 */
export async function openRelease(env: Env, log: Log): Promise<Release | undefined> {
  const { PLATFORM_SHARED_STATE_SECRET: secret = "", PLATFORM_WORKLOAD: workload = "", PLATFORM_REPLICA_NAME: pod = "" } = env;
  if (env.PLATFORM_EXT_UPGRADER !== "kube" || !isInCluster(env)) return undefined;
  try {
    for (const [name, value] of Object.entries({ PLATFORM_SHARED_STATE_SECRET: secret, PLATFORM_REPLICA_NAME: pod })) {
      if (!/^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/.test(value)) throw new PlatformError("invalid", `${name} is not a name of Kubernetes`);
    }
    const cluster = await inCluster(env);
    const path = workloadPath(workload, cluster.namespace);
    const requests = new KubernetesApi(cluster);
    const place = { requests, namespace: cluster.namespace, secret, pod };
    return {
      schedule: sharedSchedule(place),
      share: async (identity) => await shareIdentity(place, identity),
      status: async () => await readUpdateStatus(requests, path),
    };
  } catch (thrown) {
    log.warn("could not reach the updater of this release", { error: errorText(thrown) });
    return undefined;
  }
}
