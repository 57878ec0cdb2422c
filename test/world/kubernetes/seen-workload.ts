import { jsonOf, listOf, objectOf, textOf, textsOf } from "../../../updater/kube/cluster/json-value.ts";
import { until } from "../until.ts";
import type { KubeApi } from "./kube-api.ts";

/** What a test sees of a release's StatefulSet or Deployment. */
export interface SeenWorkload {
  readonly image: string;
  readonly generation: number;
  readonly annotations: Readonly<Record<string, string>>;
  /** The updater's last result. */
  readonly reason: string;
  readonly ready: number;
  /** Every pod has the template's image and is ready. */
  readonly isSettled: boolean;
}

/** `place`: path of the workload at the API server. */
export async function seeWorkload(api: KubeApi, place: string): Promise<SeenWorkload> {
  const { metadata: raw, spec, status } = objectOf(await api.must("GET", place));
  const metadata = objectOf(raw);
  const containers = listOf(objectOf(objectOf(objectOf(spec).template).spec).containers).map(objectOf);
  const image = textOf(containers.find(({ name }) => name === "platform")?.image);
  const annotations = textsOf(metadata.annotations);
  const { replicas, readyReplicas, updatedReplicas, updateRevision, currentRevision, observedGeneration } = objectOf(status);
  // Only a StatefulSet has revisions, and its count of updated pods is zero when all of them are.
  const isUpdated = updateRevision === undefined ? updatedReplicas === replicas : updateRevision === currentRevision;
  const isObserved = observedGeneration === metadata.generation;
  const isSettled = isObserved && isUpdated && readyReplicas === objectOf(spec).replicas && replicas === readyReplicas;
  const reason = textOf(objectOf(jsonOf(annotations["platform.dev/update-status"] ?? "")).reason);
  return { image, generation: Number(metadata.generation), annotations, reason, ready: Number(readyReplicas ?? 0), isSettled };
}

/** Waits until the updater's last result is this one. */
export async function workloadReaches(api: KubeApi, place: string, reason: string, limitMs = 60_000): Promise<SeenWorkload> {
  let seen = await seeWorkload(api, place);
  const look = async (): Promise<SeenWorkload | undefined> => {
    seen = await seeWorkload(api, place);
    return seen.reason === reason ? seen : undefined;
  };
  try {
    return await until(`the updater ends with ${reason}`, look, limitMs);
  } catch (cause) {
    const { "kubectl.kubernetes.io/last-applied-configuration": _, ...annotations } = seen.annotations;
    throw new Error(`the updater has not ended with ${reason}: ${JSON.stringify({ ...seen, annotations })}`, { cause });
  }
}
