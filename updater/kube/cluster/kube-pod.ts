import { configurationStatuses } from "../../configuration-errors.ts";
import { countOf, type JsonObject, listOf, objectOf, textOf, textsOf } from "./json-value.ts";

/** What is wrong with a pod, by itself: its image cannot be pulled, its program ends, the container cannot start, or it has not been ready for long. */
export type PodFault = "pull" | "crash" | "start" | "unready";

/** One pod of the workload. */
export interface KubePod {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** Image that its specification names. */
  readonly image: string;
  /** Revision of the StatefulSet that it belongs to; empty for a Deployment's. */
  readonly revision: string;
  readonly ordinal: number;
  readonly isReady: boolean;
  readonly isTerminating: boolean;
  /** No node takes it: its image is not at fault. */
  readonly isUnschedulable: boolean;
  /** Its own program is ready, or waits, for another container of the pod, which a webhook may have added: its image is not at fault. */
  readonly isHeld: boolean;
  /** Since when it is not ready, or its program runs if that began later (it waited for its image), Unix seconds; undefined if it is ready, or unknown. */
  readonly unreadySince: number | undefined;
  /** Since when its program runs, Unix seconds; undefined if it does not. */
  readonly runningSince: number | undefined;
  readonly fault: Exclude<PodFault, "unready"> | undefined;
  /** Its program ends by itself with an error that another configuration may mend. */
  readonly refusesConfiguration: boolean;
  /** Checksum of the configuration that it was made with; empty if the chart has written none. */
  readonly configuration: string;
  /** The fault in a few words, for people. */
  readonly why: string;
  /** Name of its node; empty while it has none. */
  readonly node: string;
}

const pullReasons = new Set([
  "ImagePullBackOff",
  "ErrImagePull",
  "InvalidImageName",
  "ErrImageNeverPull",
  "ImageInspectError",
  "RegistryUnavailable",
]);
const startReasons = new Set(["CreateContainerError", "CreateContainerConfigError", "RunContainerError", "StartError"]);
/** Ends of a program after which it counts as broken, even before the kubelet says so. */
const maxEnds = 3;

/** Undefined for anything but a pod. Pure; never throws. */
export function parsePod(value: unknown, containerName: string): KubePod | undefined {
  const { metadata: rawMetadata, spec: rawSpec, status: rawStatus } = objectOf(value);
  const [metadata, spec, status] = [objectOf(rawMetadata), objectOf(rawSpec), objectOf(rawStatus)];
  const name = textOf(metadata.name);
  if (name === "") return undefined;
  const conditions = listOf(status.conditions).map(objectOf);
  const ready = conditions.find(({ type }) => type === "Ready");
  const isReady = ready?.status === "True";
  const container = named(status.containerStatuses, containerName) ?? {};
  const runningSince = secondsOf(objectOf(objectOf(container.state).running).startedAt);
  const held = isReady ? undefined : heldBy(status, containerName);
  const since = secondsOf(ready?.lastTransitionTime ?? status.startTime ?? metadata.creationTimestamp);
  return {
    name,
    uid: textOf(metadata.uid),
    resourceVersion: textOf(metadata.resourceVersion),
    image: textOf(named(spec.containers, containerName)?.image),
    revision: textsOf(metadata.labels)["controller-revision-hash"] ?? "",
    ordinal: Number(/-(\d{1,9})$/.exec(name)?.[1] ?? 0),
    isReady,
    isTerminating: textOf(metadata.deletionTimestamp) !== "",
    isUnschedulable: conditions.some((one) => one.type === "PodScheduled" && one.status === "False"),
    unreadySince: isReady || since === undefined ? undefined : Math.max(since, runningSince ?? 0),
    runningSince,
    configuration: configurationOf(metadata),
    ...(held === undefined ? { ...faultOf(container, isReady), isHeld: false } : { ...noFault, why: held, isHeld: true }),
    node: textOf(spec.nodeName),
  };
}

function named(list: unknown, name: string): JsonObject | undefined {
  return listOf(list)
    .map(objectOf)
    .find((one) => one.name === name);
}

/** Checksum of the configuration, from the metadata of a pod or of its template; empty if the chart has written none. Pure; never throws. */
export function configurationOf(metadata: JsonObject): string {
  return (textsOf(metadata.annotations)["checksum/config"] ?? "").slice(0, 80);
}

/** Why the pod is not ready although its own container is, or does not get to start it; undefined if that is not so. */
function heldBy(status: JsonObject, containerName: string): string | undefined {
  const own = named(status.containerStatuses, containerName);
  if (own?.ready === true) {
    const other = listOf(status.containerStatuses)
      .map(objectOf)
      .find(({ ready }) => ready !== true);
    return other === undefined ? "a readiness gate of the pod is not passed" : plain(`container ${textOf(other.name)} is not ready`);
  }
  // It runs or has run: those that stay beside it (sidecars, restartPolicy: Always) do not excuse it.
  if (hasBegun(own)) return undefined;
  const init = listOf(status.initContainerStatuses)
    .map(objectOf)
    .find(({ state }) => hasFailed(objectOf(state)));
  return init === undefined ? undefined : plain(`init container ${textOf(init.name)} fails`);
}

/** Whether the init containers before it have let it begin. */
function hasBegun(own: JsonObject | undefined): boolean {
  return own !== undefined && textOf(objectOf(objectOf(own.state).waiting).reason) !== "PodInitializing";
}

function hasFailed({ waiting, terminated }: JsonObject): boolean {
  const reason = textOf(objectOf(waiting).reason);
  return reason === "CrashLoopBackOff" || pullReasons.has(reason) || startReasons.has(reason) || countOf(objectOf(terminated).exitCode) > 0;
}

const noFault: Faults = { fault: undefined, why: "", refusesConfiguration: false };

type Faults = Pick<KubePod, "fault" | "why" | "refusesConfiguration">;

function faultOf(container: JsonObject, isReady: boolean): Faults {
  if (isReady) return noFault;
  const waiting = objectOf(objectOf(container.state).waiting);
  const reason = textOf(waiting.reason);
  const why = plain(`${reason}${textOf(waiting.message) === "" ? "" : `: ${textOf(waiting.message)}`}`);
  if (pullReasons.has(reason)) return { fault: "pull", why, refusesConfiguration: false };
  if (startReasons.has(reason)) return { fault: "start", why, refusesConfiguration: false };
  const ended = { ...objectOf(objectOf(container.lastState).terminated), ...objectOf(objectOf(container.state).terminated) };
  const ends = countOf(container.restartCount);
  if (reason === "CrashLoopBackOff" || (ends >= maxEnds && ended.exitCode !== undefined)) {
    const status = typeof ended.exitCode === "number" ? ` with status ${ended.exitCode}` : "";
    const told = plain(ends === 0 ? reason : `its program has ended ${ends} times${status}`);
    return { fault: "crash", why: told, refusesConfiguration: configurationStatuses.has(ended.exitCode) };
  }
  return { fault: undefined, why, refusesConfiguration: false };
}

/** Text of the cluster's, made safe for a log and an annotation. */
function plain(text: string): string {
  return text.slice(0, 160).replace(/[^\x20-\x7e]/g, "?");
}

function secondsOf(time: unknown): number | undefined {
  const ms = Date.parse(textOf(time));
  return Number.isNaN(ms) ? undefined : ms / 1000;
}

/** The kubelet makes its container: it fetches image and volumes. Pure. */
export function isCreating({ isReady, why }: Pick<KubePod, "isReady" | "why">): boolean {
  return !isReady && /^(ContainerCreating|PodInitializing)\b/.test(why);
}

/** Time for which a pod may be not ready before that counts as a fault, seconds. */
export const unreadyLimit = 300;

/** The pod's fault at a time, Unix seconds. A pod that ends, that no node takes, or that waits for another container has none. Pure. */
export function podFault(pod: KubePod, now: number): PodFault | undefined {
  if (pod.isReady || pod.isTerminating || pod.isUnschedulable || pod.isHeld) return undefined;
  if (pod.fault !== undefined) return pod.fault;
  return !isCreating(pod) && pod.unreadySince !== undefined && now - pod.unreadySince >= unreadyLimit ? "unready" : undefined;
}
