import { countOf, listOf, objectOf, textOf, textsOf } from "./json-value.ts";
import { configurationOf } from "./kube-pod.ts";

export type WorkloadKind = "StatefulSet" | "Deployment";

/** The managed workload: what the updater needs of a StatefulSet or a Deployment. */
export interface Workload {
  readonly kind: WorkloadKind;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly annotations: Readonly<Record<string, string>>;
  /** `name=value,…` of the pods. */
  readonly selector: string;
  /** Place of the managed container in the pod template. */
  readonly container: number;
  readonly image: string;
  /** Checksum of the configuration in the pod template; empty if the chart has written none. */
  readonly configuration: string;
  /** The controller has seen the newest template. */
  readonly isObserved: boolean;
  readonly replicas: number;
  readonly updated: number;
  readonly ready: number;
  /** Pods of an earlier template that still exist. */
  readonly outdated: number;
  /** Revision that pods should have; a StatefulSet's. */
  readonly updateRevision: string;
  /** Pods with an ordinal below it keep the earlier template. */
  readonly partition: number;
  /** Why a new image would not reach the pods by itself: a strategy that waits for people. */
  readonly obstacle?: string;
  /** One pod after the other, each waits for the one before: a broken pod then blocks the roll-out of its own correction. */
  readonly isOrdered: boolean;
  /** The Deployment's controller has given up waiting. */
  readonly isStalled: boolean;
  /** After which time without progress it does so, seconds. */
  readonly deadline: number;
}

/** Undefined for anything but such a workload with the container. Pure; never throws. */
export function parseWorkload(value: unknown, containerName: string): Workload | undefined {
  const object = objectOf(value);
  const kind = textOf(object.kind);
  if (kind !== "StatefulSet" && kind !== "Deployment") return undefined;
  const [metadata, spec, status] = [objectOf(object.metadata), objectOf(object.spec), objectOf(object.status)];
  const containers = listOf(objectOf(objectOf(spec.template).spec).containers).map(objectOf);
  const container = containers.findIndex(({ name }) => name === containerName);
  const image = textOf(containers[container]?.image);
  const [name, resourceVersion] = [textOf(metadata.name), textOf(metadata.resourceVersion)];
  if (container < 0 || image === "" || name === "" || resourceVersion === "") return undefined;
  const replicas = countOf(spec.replicas, 1);
  const counts = kind === "StatefulSet" ? statefulCounts(status, replicas) : deploymentCounts(status, replicas);
  return {
    kind,
    name,
    uid: textOf(metadata.uid),
    resourceVersion,
    annotations: textsOf(metadata.annotations),
    selector: selectorOf(spec.selector),
    container,
    image,
    configuration: configurationOf(objectOf(objectOf(spec.template).metadata)),
    isObserved: countOf(status.observedGeneration) >= countOf(metadata.generation, 1),
    replicas,
    ...counts,
    ...(kind === "StatefulSet" ? statefulStrategy(spec) : deploymentStrategy(spec, status)),
  };
}

/** The specification's requirements as a query. Expressions are not written by the chart. */
function selectorOf(selector: unknown): string {
  return Object.entries(textsOf(objectOf(selector).matchLabels))
    .map(([name, value]) => `${name}=${value}`)
    .join(",");
}

type Counts = Pick<Workload, "updated" | "ready" | "outdated" | "updateRevision">;

function statefulCounts(status: Readonly<Record<string, unknown>>, replicas: number): Counts {
  const updateRevision = textOf(status.updateRevision);
  // A finished roll-out makes the update's revision the current one; some versions leave the count out then.
  const isSame = updateRevision !== "" && status.currentRevision === updateRevision;
  const updated = isSame ? replicas : countOf(status.updatedReplicas);
  return { updated, ready: countOf(status.readyReplicas), outdated: Math.max(0, countOf(status.replicas) - updated), updateRevision };
}

function deploymentCounts(status: Readonly<Record<string, unknown>>, replicas: number): Counts {
  const updated = countOf(status.updatedReplicas);
  const outdated = Math.max(0, countOf(status.replicas) - updated);
  return { updated: Math.min(updated, replicas), ready: countOf(status.readyReplicas), outdated, updateRevision: "" };
}

/** The default of `progressDeadlineSeconds`. */
const usualDeadline = 600;

type Strategy = Pick<Workload, "partition" | "isOrdered" | "isStalled" | "deadline" | "obstacle">;

function statefulStrategy(spec: Readonly<Record<string, unknown>>): Strategy {
  const strategy = objectOf(spec.updateStrategy);
  const partition = countOf(objectOf(strategy.rollingUpdate).partition);
  const obstacle =
    strategy.type === "OnDelete"
      ? "its update strategy is OnDelete, so pods keep their image until a person deletes them"
      : partition > 0 && partition >= countOf(spec.replicas, 1)
        ? `its partition ${partition} keeps every pod at the earlier image`
        : undefined;
  return {
    partition,
    isOrdered: spec.podManagementPolicy !== "Parallel",
    isStalled: false,
    deadline: usualDeadline,
    ...(obstacle !== undefined && { obstacle }),
  };
}

function deploymentStrategy(spec: Readonly<Record<string, unknown>>, status: Readonly<Record<string, unknown>>): Strategy {
  const conditions = listOf(status.conditions).map(objectOf);
  const isStalled = conditions.some(({ type, reason }) => type === "Progressing" && reason === "ProgressDeadlineExceeded");
  const obstacle = spec.paused === true ? "its roll-out is paused" : undefined;
  const deadline = countOf(spec.progressDeadlineSeconds, usualDeadline);
  return { partition: 0, isOrdered: false, isStalled, deadline, ...(obstacle !== undefined && { obstacle }) };
}

/** Number of pods that should have the newest template. */
export function wantedPods({ replicas, partition }: Pick<Workload, "replicas" | "partition">): number {
  return Math.max(0, replicas - partition);
}

/** Whether pods are still being replaced. Pods that have their template and are not ready do not count. Pure. */
export function isRollingOut(workload: Workload): boolean {
  const { kind, updated, outdated, isObserved } = workload;
  if (!isObserved) return true;
  return updated < wantedPods(workload) || (kind === "Deployment" && outdated > 0);
}

/** Whether every pod has the newest template and is ready. Pure. */
export function isSettled(workload: Workload): boolean {
  return !isRollingOut(workload) && workload.ready >= workload.replicas;
}
