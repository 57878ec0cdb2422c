import { type RefusedConfiguration, untilChanged } from "../../state/parse-state.ts";
import { isCreating, type KubePod, podFault, unreadyLimit } from "../cluster/kube-pod.ts";
import { isRollingOut, isSettled, wantedPods } from "../cluster/workload.ts";
import { isSameImage, parseImage, tagOfVersion, versionOfImage } from "../images/image-reference.ts";
import { isReversal, undone } from "./set-back.ts";
import { stay, type UpdateDecision, type UpdateFacts } from "./update-decision.ts";
import type { UpdateInProgress, VersionedImage } from "./update-memory.ts";

/** Time that a pull may fail before the registry is asked again, seconds: it had the image a moment ago. */
const pullLimit = 120;
/** Time that pulls may fail while the registry has the image, seconds: the kubelet pauses for up to 300 s between two, also once an outage has ended. */
const pullPauses = 600;
/** Time without a ready pod after which an update that waits for the registry is taken back, seconds: the nodes may have the image before. */
const awayLimit = 600;
/** Time after which a roll-back that does not end is reported as failed, seconds. */
const rollBackLimit = 1800;
/** Time after which a version that does not become ready, as the one before, is kept, seconds. */
const brokenLimit = 900;

/** What to do about an update that has begun. Pure. */
export function decideProgress(update: UpdateInProgress, facts: UpdateFacts): UpdateDecision {
  const { phase, from, to } = update;
  const { image } = facts.workload;
  if (phase === "rolling") return isSameImage(image, to.image) ? decideRolling(update, facts) : decideForeign(update, facts);
  return isSameImage(image, from.image) ? decideRollingBack(update, facts) : forget(`${image} was set during the roll-back of ${to.version}`);
}

function decideForeign({ from, to }: UpdateInProgress, { workload }: UpdateFacts): UpdateDecision {
  if (isReversal(workload.image, { set: to, before: from })) return undone(to.version, workload);
  return forget(`${workload.image} was set during the update to ${to.version}`);
}

function decideRolling(update: UpdateInProgress, facts: UpdateFacts): UpdateDecision {
  const { from, to, before } = update;
  const { workload, pods } = facts;
  if (isSettled(workload)) {
    return {
      act: "accept",
      update,
      detail: `${workload.kind} ${workload.name} was updated from ${from.version} to ${to.version}`,
    };
  }
  const bad = worst(
    pods.filter((pod) => isOf(pod, to, facts) && isBad(pod, facts)),
    facts.now,
  );
  const fault = bad && (podFault(bad, facts.now) ?? (isCreating(bad) ? "pull" : "unready"));
  if (fault !== "pull" && update.available !== undefined) return withoutAvailable(update, "pods can pull the image again");
  if (bad === undefined) return blockingPod(facts) ?? stay("rolling_out", progress(facts));
  const why = `pod ${bad.name} of ${to.version} ${faultText(bad, facts.now)}`;
  if (before === "broken") return decideAsBefore(update, facts, why);
  if (fault === "pull") return decidePull(update, facts, why);
  return fault === "unready" ? decideUnready(update, facts, why) : rollBack(update, why, refused(bad));
}

/** Whether the pod has the version: it was made from the newest template, or its image says so, which webhooks may have rewritten. */
function isOf({ revision, image }: KubePod, { image: set }: VersionedImage, { workload }: UpdateFacts): boolean {
  return (revision !== "" && revision === workload.updateRevision) || isSameImage(image, set);
}

/** One whose own fault speaks for itself, before those that the network may be to blame for. */
function worst(bad: readonly KubePod[], now: number): KubePod | undefined {
  const isSure = (pod: KubePod): boolean => podFault(pod, now) === "crash" || podFault(pod, now) === "start";
  return bad.find(isSure) ?? bad[0];
}

/** The version before was broken as well: going back to it helps nobody. */
function decideAsBefore(update: UpdateInProgress, facts: UpdateFacts, why: string): UpdateDecision {
  const { from, to } = update;
  if (facts.phaseFor < brokenLimit) return blockingPod(facts) ?? stay("rolling_out", `${progress(facts)}; ${why}`);
  return { act: "accept", update, detail: `${to.version} is kept; as ${from.version} before it, it is not well: ${why}` };
}

/**
 * A registry that is away does not make a version bad, nor does the pause of the kubelet after that. One that has lost the image, or its signature, does;
 * so do nodes that cannot pull what it has (another platform, no credentials). While it is away, pods of the version before run on; if none does, that
 * version is set again, as the nodes may still have its image, and this one is tried again once the registry answers.
 */
function decidePull(update: UpdateInProgress, facts: UpdateFacts, why: string): UpdateDecision {
  const { to, available } = update;
  const name = `${parseImage(to.image)?.name ?? ""}:${tagOfVersion(to.version)}`;
  if (facts.image?.name !== name) return { act: "check", name, detail: `${why}: does the registry still have ${name}?` };
  const { verdict } = facts.image;
  switch (verdict.kind) {
    case "missing":
    case "refused":
      return rollBack(update, `${why}: ${verdict.detail}`);
    case "unknown": {
      const because = `${why}; ${verdict.isDenied ? "the registry refuses the updater" : "so is the registry unreachable"}: ${verdict.detail}`;
      if (isAway(facts)) return takeBack(update, because);
      if (available !== undefined) return withoutAvailable(update, `the registry does not answer: ${verdict.detail}`);
      // A refusal that lasts does not pass by itself: admins must hear of it.
      return stay(verdict.isDenied && facts.pods.some((pod) => waitsLong(pod, facts)) ? "repository_unreachable" : "rolling_out", because);
    }
    case "good":
      if (available === undefined)
        return { act: "watch", update: { ...update, available: Math.floor(facts.now) }, detail: `${why}; the registry has it` };
      if (facts.availableFor < pullPauses) return stay("rolling_out", `${progress(facts)}; ${why}; the registry has it: another attempt will follow`);
      return decideUnready(update, facts, why);
  }
}

/** No pod has been ready for long. A pod that ends counts from when it was ready. */
function isAway({ workload, pods, now }: UpdateFacts): boolean {
  return workload.ready === 0 && pods.length > 0 && pods.every((pod) => waitsLong(pod, { now }));
}

function waitsLong({ unreadySince }: KubePod, { now }: Pick<UpdateFacts, "now">): boolean {
  return unreadySince !== undefined && now - unreadySince >= awayLimit;
}

function withoutAvailable(update: UpdateInProgress, detail: string): UpdateDecision {
  const { available: _, ...rest } = update;
  return { act: "watch", update: rest, detail };
}

/** A pod that runs and does not become ready may be without network: then every version would be like that. */
function decideUnready(update: UpdateInProgress, facts: UpdateFacts, why: string): UpdateDecision {
  const { wanted } = facts;
  if (wanted === undefined) return { act: "ask", detail: `${why}: is the network up?` };
  if (wanted.endpoint.kind === "failed") return stay("rolling_out", `${why}; so is the version endpoint unreachable: ${wanted.endpoint.detail}`);
  return rollBack(update, why);
}

function isBad(pod: KubePod, facts: UpdateFacts): boolean {
  const { now, workload } = facts;
  const fault = podFault(pod, now);
  if (fault === "pull") return pod.unreadySince !== undefined && now - pod.unreadySince >= pullLimit;
  if (fault !== undefined) return true;
  return workload.isStalled && hasHadItsTime(pod, facts);
}

/** The controller's time counts from before the pull of the image, and does not begin again when that has ended: the pod has the same from its program's start on. */
function hasHadItsTime(pod: KubePod, { now, workload }: UpdateFacts): boolean {
  if (pod.isReady || pod.isTerminating || pod.isUnschedulable || pod.isHeld) return false;
  if (isCreating(pod)) return true;
  const { runningSince, unreadySince } = pod;
  return now - (runningSince ?? unreadySince ?? 0) >= Math.min(unreadyLimit, workload.deadline);
}

/** The configuration that the pod was made with, and refuses. */
function refused({ refusesConfiguration, configuration }: KubePod): RefusedConfiguration | undefined {
  return refusesConfiguration && configuration !== "" ? { file: "the release's configuration", stamp: configuration } : undefined;
}

function rollBack(update: UpdateInProgress, why: string, config?: RefusedConfiguration): UpdateDecision {
  const detail = `back to ${update.from.version}: ${why}${untilChanged(config)}`;
  return { act: "roll_back", update, why, ...(config !== undefined && { config }), detail };
}

/** Back to the image that ran, for a reason that is not the version's. */
function takeBack(update: UpdateInProgress, why: string): UpdateDecision {
  const detail = `back to ${update.from.version}, as no pod has been ready for ${awayLimit / 60} minutes: ${why}`;
  return { act: "roll_back", update, why, isInnocent: true, detail };
}

function decideRollingBack({ from, to, isInnocent, why = "it was not healthy" }: UpdateInProgress, facts: UpdateFacts): UpdateDecision {
  const { workload } = facts;
  if (isSettled(workload)) {
    if (isInnocent) return { act: "forget", reason: "repository_unreachable", detail: `back to ${from.version}, and ${to.version} waits: ${why}` };
    return { act: "forget", reason: "rolled_back", detail: `back to ${from.version}: ${why}` };
  }
  const pod = blockingPod(facts, to.image);
  if (pod !== undefined) return pod;
  const still = `${progress(facts)}, back to ${from.version}: ${why}`;
  return facts.phaseFor < rollBackLimit ? stay("rolling_out", still) : stay(isInnocent ? "repository_unreachable" : "rollback_failed", still);
}

/**
 * A pod that must be deleted, because the StatefulSet's controller waits until it is ready, and only another template would make it so. Never a ready one,
 * never one with the newest template, and none where the controller replaces it by itself. `bad`: an image whose pods need no further fault than not to be ready.
 */
export function blockingPod(facts: UpdateFacts, bad?: string): UpdateDecision | undefined {
  const { workload, pods, now } = facts;
  const { kind, isObserved, isOrdered, updateRevision, partition } = workload;
  if (kind !== "StatefulSet" || !isObserved || !isOrdered || updateRevision === "" || workload.obstacle !== undefined) return undefined;
  if (pods.some(({ isTerminating }) => isTerminating)) return undefined;
  const found = pods.find((pod) => {
    if (pod.isReady || pod.revision === "" || pod.revision === updateRevision || pod.ordinal < partition) return false;
    const fault = podFault(pod, now);
    return (
      (fault !== undefined && fault !== "unready") ||
      (bad !== undefined && mayBe(pod.image, bad) && !pod.isUnschedulable) ||
      (fault === "unready" && bad === undefined)
    );
  });
  if (found === undefined) return undefined;
  const why = faultText(found, now);
  return {
    act: "delete_pod",
    pod: found,
    detail: `pod ${found.name} ${why}, and the StatefulSet waits for it: it is deleted to be made again from the new template`,
  };
}

/** An image without a version, as a webhook may write it, can be any. */
function mayBe(image: string, bad: string): boolean {
  return isSameImage(image, bad) || versionOfImage(image) === undefined;
}

/** What is wrong with a pod, as the end of a sentence. */
export function faultText(pod: KubePod, now: number): string {
  const because = pod.why === "" ? "" : ` (${pod.why})`;
  switch (podFault(pod, now)) {
    case "pull":
      return `cannot pull its image${because}`;
    case "crash":
      return `keeps failing${because}`;
    case "start":
      return `cannot start${because}`;
    case "unready":
    case undefined:
      return `is not ready${because}`;
  }
}

/** Where a roll-out stands, for people. */
export function progress({ workload, pods }: UpdateFacts): string {
  if (!workload.isObserved) return "the controller has not seen the last change yet";
  const homeless = pods.find(({ isUnschedulable }) => isUnschedulable);
  const held = pods.find(({ isHeld }) => isHeld);
  const waits = `${homeless === undefined ? "" : `; no node takes pod ${homeless.name}`}${held === undefined ? "" : `; pod ${held.name} waits: ${held.why}`}`;
  const { updated, ready, replicas } = workload;
  const rolling = isRollingOut(workload) ? `a roll-out is under way: ${updated} of ${wantedPods(workload)} pods replaced, ` : "";
  return `${rolling}${ready} of ${replicas} pods ready${waits}`;
}

export function forget(detail: string): UpdateDecision {
  return { act: "forget", reason: "healed", detail };
}
