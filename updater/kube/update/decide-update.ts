import { compareVersions, parseVersion } from "../../../core/versions/compare-versions.ts";
import { type SkippedVersion, untilChanged } from "../../state/parse-state.ts";
import { timeText } from "../../tick/decide.ts";
import { windowAt } from "../../tick/schedule.ts";
import { podFault } from "../cluster/kube-pod.ts";
import { isRollingOut, isSettled } from "../cluster/workload.ts";
import { isSameImage, parseImage, tagOfVersion, versionOfImage } from "../images/image-reference.ts";
import { refusedByServer } from "../images/refused-image.ts";
import { blockingPod, decideProgress, faultText, progress } from "./decide-progress.ts";
import { isReversal, setBack, undone } from "./set-back.ts";
import { stay, type UpdateDecision, type UpdateFacts, type WantedVersion } from "./update-decision.ts";
import { skipAnnotation, type VersionedImage } from "./update-memory.ts";

/** The one decision of the Kubernetes updater. Pure. */
export function decideUpdate(facts: UpdateFacts): UpdateDecision {
  const decision = decide(facts);
  return refusedByServer(decision, facts) ?? decision;
}

function decide(facts: UpdateFacts): UpdateDecision {
  const { workload, found } = facts;
  if (workload.annotations[skipAnnotation] === "true") return stay("held_by_admin", `the annotation ${skipAnnotation} suspends automatic updates`);
  if (!workload.isObserved) return stay("rolling_out", progress(facts));
  const { update, last } = found.memory;
  if (update !== undefined) return decideProgress(update, facts);
  const current = versionOfImage(workload.image);
  if (last !== undefined && !isSameImage(last.image, workload.image)) {
    if (isReversal(workload.image, { set: last, before: last.before })) return undone(last.version, workload);
    return { act: "forget", reason: "healed", detail: `${workload.image} was set by somebody else` };
  }
  const blocking = blockingPod(facts);
  if (blocking !== undefined && facts.mode === "apply") return blocking;
  if (current === undefined)
    return stay("not_configured", `the image ${workload.image} has no version as its tag: set one, so that the updater knows what runs`);
  return decideTarget({ version: current, image: workload.image }, facts);
}

function decideTarget(current: VersionedImage, facts: UpdateFacts): UpdateDecision {
  const { wanted } = facts;
  if (wanted === undefined) return { act: "ask", detail: "which version does the cluster want?" };
  const { endpoint } = wanted;
  if (endpoint.kind === "failed") return stay(endpoint.reason, endpoint.detail);
  if (endpoint.held !== undefined) return stay("held_by_rollout", endpoint.held);
  if (endpoint.kind === "none") return stay("not_wanted", endpoint.why ?? "the cluster wants no version at the moment");
  const to = parseVersion(endpoint.version)?.text;
  if (to === undefined) return stay("version_nonsense", `the version endpoint answered ${JSON.stringify(endpoint.version)}, which is not a version`);
  if (to === current.version) return decideEqual(to, facts);
  return refusal({ from: current.version, to }, wanted, facts) ?? obstacle(to, facts) ?? decideWhen({ current, to }, wanted, facts);
}

/** The specification's sentence, and how the pods are. */
function decideEqual(version: string, facts: UpdateFacts): UpdateDecision {
  const { workload } = facts;
  const same = `${workload.kind} is already up-to-date, not updating: ${version} is the version that the cluster wants`;
  return stay("up_to_date", isSettled(workload) ? same : `${same}; ${progress(facts)}`);
}

/** Versions that this workload does not take, whatever the time. */
function refusal({ from, to }: { from: string; to: string }, { proof, proxy }: WantedVersion, facts: UpdateFacts): UpdateDecision | undefined {
  const { minimum, found } = facts;
  if (minimum !== undefined && compareVersions(to, minimum) < 0)
    return stay("below_minimum", `the cluster wants ${to}, and this updater accepts nothing below ${minimum}`);
  if (proof?.kind === "refused") return stay("not_signed", `${to} is not installed: ${proof.detail}`);
  if (compareVersions(to, from) < 0 && proof?.kind !== "signed")
    return stay(
      "not_signed",
      `${to} is older than ${from}, and the cluster's auth service has not signed it: the proxy alone may not order older versions`,
    );
  if (proxy === undefined) return stay("endpoint_unreachable", `${to} waits: the proxy's own version is not known`);
  const [major, its] = [parseVersion(to)?.major ?? 0, parseVersion(proxy)?.major];
  if (its === undefined) return stay("version_nonsense", `the proxy reports version ${JSON.stringify(proxy.slice(0, 40))}, which is not a version`);
  if (major > its) return stay("above_proxy", `the cluster wants ${to}, and its proxy is ${proxy}: the proxy goes first`);
  const bad = found.memory.skip.find(({ version }) => version === to);
  if (bad !== undefined && !isChanged(bad, facts))
    return stay("known_bad", `${to} was rolled back on ${bad.since}: ${bad.why}${untilChanged(bad.config)}`);
  return setBack(to, facts);
}

/** The configuration that the version refused is another one now: it is judged again. */
function isChanged({ config }: SkippedVersion, { workload }: UpdateFacts): boolean {
  return config !== undefined && workload.configuration !== "" && workload.configuration !== config.stamp;
}

/** The workload's own obstacles to any change. */
function obstacle(to: string, facts: UpdateFacts): UpdateDecision | undefined {
  const { workload } = facts;
  if (workload.obstacle !== undefined) return stay("held_by_admin", `${to} waits: ${workload.obstacle}`);
  if (brokenPod(facts) !== undefined) return undefined;
  if (isRollingOut(workload)) return stay("rolling_out", `${to} waits: ${progress(facts)}`);
  return isSettled(workload) ? undefined : stay("rolling_out", `${to} waits for all pods to be ready: ${progress(facts)}`);
}

/** A pod that is broken by itself, which a newer version may heal. */
function brokenPod({ pods, now }: UpdateFacts) {
  return pods.find((pod) => podFault(pod, now) !== undefined);
}

interface Change {
  readonly current: VersionedImage;
  readonly to: string;
}

function decideWhen(change: Change, wanted: WantedVersion, facts: UpdateFacts): UpdateDecision {
  const { to } = change;
  const window = windowAt(facts.schedule, facts.now);
  const lost = facts.schedule.unreadable > 0 ? ` (${facts.schedule.unreadable} unreadable windows)` : "";
  const broken = brokenPod(facts);
  const nothingRuns = broken !== undefined && facts.workload.ready === 0;
  if (isCritical(wanted)) return decideImage(change, facts, "it is critical");
  if (window.kind === "open") return decideImage(change, facts, "the maintenance window is open");
  if (nothingRuns) return decideImage(change, facts, `no pod is ready, and pod ${broken.name} ${faultText(broken, facts.now)}`);
  const none = "No maintenance triggered, not updating";
  switch (window.kind) {
    case "closed":
      return stay("outside_window", `${none}: ${to} waits for the maintenance window of ${timeText(window.next)}${lost}`);
    case "past":
      return stay("stale_schedule", `${none}: ${to} waits, as the last maintenance window ended at ${timeText(window.last)}${lost}`);
    case "none":
      return stay("no_schedule", `${none}: ${to} waits, as the agents have written no maintenance window${lost}`);
  }
}

/** Where the auth service has signed, its statement counts. */
function isCritical({ endpoint, proof }: WantedVersion): boolean {
  if (proof?.kind === "signed") return proof.critical;
  return endpoint.kind === "version" && endpoint.critical;
}

/** The image is checked last, when everything else agrees: no registry is asked for a version that waits. */
function decideImage({ current, to }: Change, facts: UpdateFacts, why: string): UpdateDecision {
  const name = `${facts.baseImage ?? parseImage(current.image)?.name ?? ""}:${tagOfVersion(to)}`;
  if (facts.image?.name !== name) return { act: "check", name, detail: `is ${name} there, and signed?` };
  const { verdict } = facts.image;
  switch (verdict.kind) {
    case "missing":
      return stay("package_missing", `${to} is not installed: ${verdict.detail}`);
    case "unknown":
      return stay("repository_unreachable", `${to} waits: ${verdict.detail}`);
    case "refused":
      return stay("signature_wrong", `${to} is not installed: ${verdict.detail}`);
    case "good":
      return decideChange({ current, to: { version: to, image: `${name}@${verdict.digest}` } }, facts, why);
  }
}

function decideChange({ current: from, to }: { current: VersionedImage; to: VersionedImage }, facts: UpdateFacts, why: string): UpdateDecision {
  const what = compareVersions(to.version, from.version) < 0 ? "the cluster wants an older version" : "a newer version";
  if (facts.mode === "suggest") return { act: "suggest", to, detail: `${what}, ${to.version}, waits for the tool that owns the image: ${why}` };
  const before = brokenPod(facts) === undefined ? "ready" : "broken";
  const update = { phase: "rolling", from, to, started: Math.floor(facts.now), before } as const;
  return { act: "update", update, detail: `${what}, ${to.version}, and ${why}` };
}
