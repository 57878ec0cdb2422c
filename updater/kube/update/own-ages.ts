import type { KubePod } from "../cluster/kube-pod.ts";
import type { Sightings } from "./sightings.ts";
import type { UpdateFacts } from "./update-decision.ts";
import type { UpdateInProgress } from "./update-memory.ts";

interface Aging {
  readonly pods: readonly KubePod[];
  readonly update: UpdateInProgress | undefined;
  /** Unix seconds. */
  readonly now: number;
}

/** The pods and the update with their ages by this controller's own clock, instead of the clocks of nodes and other controllers. */
export function ownAges(sightings: Sightings, { pods, update, now }: Aging): Pick<UpdateFacts, "pods" | "phaseFor" | "availableFor"> {
  const ages = sightings.ages([...pods.flatMap((pod) => [unready(pod), running(pod)]), phase(update), available(update)]);
  const age = (name: string): number => ages.get(name) ?? 0;
  const own = pods.map((pod) => ({
    ...pod,
    unreadySince: pod.isReady ? undefined : now - age(unready(pod)),
    runningSince: pod.runningSince === undefined ? undefined : now - age(running(pod)),
  }));
  return { pods: own, phaseFor: age(phase(update)), availableFor: age(available(update)) };
}

function unready({ uid, isReady, unreadySince }: KubePod): string {
  return `pod ${uid} unready ${isReady ? "no" : (unreadySince ?? "unknown")}`;
}

function running({ uid, runningSince }: KubePod): string {
  return `pod ${uid} running ${runningSince ?? "no"}`;
}

function phase(update: UpdateInProgress | undefined): string {
  return `phase ${update === undefined ? "none" : `${update.phase} ${update.started} ${update.to.image}`}`;
}

function available(update: UpdateInProgress | undefined): string {
  return `available ${update?.available === undefined ? "no" : `${update.available} ${update.to.image}`}`;
}
