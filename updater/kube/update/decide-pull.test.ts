import { expect } from "vitest";
import type { KubePod } from "../cluster/kube-pod.ts";
import { brokenPod, calmWorkload, image, inProgress, name, readyPod } from "../testing/update-facts.ts";
import { stays, updateTable } from "../testing/update-table.ts";

const to = image("1.1.0");
const rolling = (more = {}) => ({ memory: { update: inProgress("rolling", more) } });
const half = (pods: readonly KubePod[], more = {}) => ({
  workload: calmWorkload({ image: to, updated: 1, ready: 2, outdated: 2, ...more }),
  pods,
});
const newPod = (at: number, more = {}) => brokenPod(at, 1380, { image: to, ...more });
const oldPod = (at: number, more = {}) => readyPod(at, { revision: "old", ...more });
const verdict = (kind: "missing" | "unknown" | "refused") => ({ image: { name: `${name}:1.1.0`, verdict: { kind, detail: "x" } } });
const denial = { kind: "unknown", detail: "registry r answered with status 403 for p; (updater.pullSecret)", isDenied: true } as const;
const denied = { image: { name: `${name}:1.1.0`, verdict: denial } };
/** The registry has the image, and a pod has not been able to pull it since the second. */
const pulls = (more = {}, since = 1380) => ({ ...rolling(more), ...half([oldPod(0), oldPod(1), newPod(2, { fault: "pull", unreadySince: since })]) });
/** A Deployment whose controller has given up on this pod. */
const stalled = (pod: KubePod, more = {}) => half([oldPod(0), pod], { kind: "Deployment", isStalled: true, ...more });
const creatingPod = brokenPod(2, 1380, { image: to, why: "ContainerCreating", runningSince: undefined });
/** A single replica whose new pod has not been able to pull its image since the second. */
const alone = (since: number, others: readonly KubePod[] = []) => ({
  workload: calmWorkload({ image: to, replicas: 1, updated: 1, ready: 0 }),
  pods: [brokenPod(0, since, { image: to, fault: "pull", runningSince: undefined }), ...others],
});

updateTable("an update whose image cannot be pulled", [
  [
    "its image cannot be pulled, for a moment",
    { ...rolling(), ...half([oldPod(0), oldPod(1), brokenPod(2, 1450, { image: to, fault: "pull" })]) },
    stays("rolling_out"),
  ],
  [
    "its image cannot be pulled for two minutes, and nobody has asked the registry again",
    { ...pulls(), image: undefined },
    { act: "check", name: `${name}:1.1.0` },
  ],
  [
    "its image cannot be pulled for two minutes, and the registry does not answer: the network is not the version's fault",
    { ...pulls(), ...verdict("unknown") },
    stays("rolling_out", "unreachable"),
  ],
  ["the same for an hour", { ...pulls({}, -2100), ...verdict("unknown") }, stays("rolling_out", "unreachable")],
  [
    "the registry refuses the updater: that may pass",
    { ...pulls({}, 901), ...denied },
    stays("rolling_out", "the registry refuses the updater: registry r answered with status 403"),
  ],
  ["the same for ten minutes: that does not pass by itself", { ...pulls({}, 900), ...denied }, stays("repository_unreachable", "updater.pullSecret")],
  [
    "the same, of a single replica: the image that ran is set again",
    { ...rolling(), ...alone(900), ...denied },
    { act: "roll_back", isInnocent: true },
  ],
  ["the registry has lost its image", { ...pulls(), ...verdict("missing") }, { act: "roll_back", why: expect.stringContaining("cannot pull") }],
  ["its signature is not accepted any more", { ...pulls(), ...verdict("refused") }, { act: "roll_back" }],
  ["its image cannot be pulled, and the registry has it", pulls(), { act: "watch", update: { available: 1500 } }],
  ["the same, within the kubelet's pauses", pulls({ available: 901 }), stays("rolling_out", "another attempt")],
  ["the same, beyond them", pulls({ available: 900 }), { act: "roll_back", why: expect.stringContaining("cannot pull") }],
  [
    "the same, and the version endpoint does not answer",
    { ...pulls({ available: 900 }), wanted: { endpoint: { kind: "failed", reason: "endpoint_unreachable", detail: "x" } } },
    stays("rolling_out", "unreachable"),
  ],
  [
    "the registry had it, and is away again: the pauses count from its return",
    { ...pulls({ available: 900 }), ...verdict("unknown") },
    { act: "watch", update: expect.not.objectContaining({ available: 900 }) },
  ],
  [
    "its image was pulled after all",
    { ...rolling({ available: 900 }), ...half([oldPod(0), oldPod(1), brokenPod(2, 1490, { image: to })]) },
    { act: "watch", update: expect.not.objectContaining({ available: 900 }) },
  ],
  [
    "its image cannot be pulled, and another pod of it keeps failing",
    { ...pulls(), ...verdict("unknown"), pods: [newPod(1, { fault: "pull" }), newPod(2, { fault: "crash" })] },
    { act: "roll_back", why: expect.stringContaining("keeps failing") },
  ],
  [
    "a single replica waits for its image, and the registry does not answer",
    { ...rolling(), ...alone(901), ...verdict("unknown") },
    stays("rolling_out", "unreachable"),
  ],
  [
    "the same for ten minutes: the image that ran is set again, and the version is not skipped",
    { ...rolling(), ...alone(900), ...verdict("unknown") },
    { act: "roll_back", isInnocent: true, update: { from: { image: image("1.0.0") } }, detail: expect.stringContaining("no pod has been ready") },
  ],
  [
    "the same, after the registry was seen with the image",
    { ...rolling({ available: 1000 }), ...alone(900), ...verdict("unknown") },
    { act: "roll_back", isInnocent: true },
  ],
  ["the same, and nobody has asked the registry again", { ...rolling(), ...alone(900), image: undefined }, { act: "check" }],
  ["the same, and the registry has it again", { ...rolling(), ...alone(900) }, { act: "watch", update: { available: 1500 } }],
  [
    "the same, and the registry has lost it: that is the version's fault",
    { ...rolling(), ...alone(900), ...verdict("missing") },
    { act: "roll_back", detail: expect.not.stringContaining("no pod has been ready") },
  ],
  [
    "the same, and the version before was as broken: it is not set again",
    { ...rolling({ before: "broken" }), ...alone(900), ...verdict("unknown") },
    stays("rolling_out"),
  ],
  [
    "the same, and another pod is not ready for less than that",
    { ...rolling(), ...alone(900, [brokenPod(1, 1200, { isTerminating: true })]), ...verdict("unknown") },
    stays("rolling_out", "unreachable"),
  ],
  [
    "the same, and another pod is ready",
    { ...rolling(), ...alone(900, [oldPod(1)]), workload: calmWorkload({ image: to, replicas: 2, updated: 1, ready: 1 }), ...verdict("unknown") },
    stays("rolling_out", "unreachable"),
  ],
]);

updateTable("a Deployment whose controller has given up", [
  [
    "on pods whose readiness comes and goes",
    { ...rolling(), ...stalled(brokenPod(2, 1490, { image: to, runningSince: 1200 })) },
    { act: "roll_back", why: expect.stringContaining("is not ready") },
  ],
  [
    "the same, and nobody asked whether the network is up",
    { ...rolling(), ...stalled(brokenPod(2, 1490, { image: to, runningSince: 1200 })), wanted: undefined },
    { act: "ask" },
  ],
  [
    "the same, by a shorter deadline of its own",
    { ...rolling(), ...stalled(brokenPod(2, 1440, { image: to, runningSince: 1440 }), { deadline: 60 }) },
    { act: "roll_back" },
  ],
  [
    "although the program has only begun: its image could not be pulled before",
    { ...rolling(), ...stalled(brokenPod(2, 1490, { image: to, runningSince: 1490 })) },
    stays("rolling_out"),
  ],
  [
    "the same, after the registry was seen with the image",
    { ...rolling({ available: 1300 }), ...stalled(brokenPod(2, 1490, { image: to, runningSince: 1490 })) },
    { act: "watch", update: expect.not.objectContaining({ available: 1300 }) },
  ],
  [
    "on a pod that still waits for its image: the registry is asked",
    { ...rolling(), ...stalled(creatingPod), image: undefined },
    { act: "check", name: `${name}:1.1.0` },
  ],
  [
    "the same, and the registry does not answer",
    { ...rolling(), ...stalled(creatingPod), ...verdict("unknown") },
    stays("rolling_out", "unreachable"),
  ],
  ["the same, and the registry has it", { ...rolling(), ...stalled(creatingPod) }, { act: "watch", update: { available: 1500 } }],
  ["the same, for ten minutes", { ...rolling({ available: 900 }), ...stalled(creatingPod) }, { act: "roll_back" }],
  [
    "on a pod that cannot pull, and the registry does not answer",
    { ...rolling(), ...stalled(newPod(2, { fault: "pull" })), ...verdict("unknown") },
    stays("rolling_out", "unreachable"),
  ],
  [
    "on a pod that keeps failing",
    { ...rolling(), ...stalled(newPod(2, { fault: "crash" })), ...verdict("unknown") },
    { act: "roll_back", why: expect.stringContaining("keeps failing") },
  ],
]);

const back = (more = {}) => ({ memory: { update: inProgress("rolling_back", { isInnocent: true, ...more }) } });

updateTable("a roll-back while the registry is away", [
  [
    "does not end for half an hour, as the node does not have the image before either: no version is to blame",
    { ...back({ started: -400 }), workload: calmWorkload({ replicas: 1, ready: 0 }), pods: [brokenPod(0, 100, { fault: "pull" })] },
    stays("repository_unreachable"),
  ],
  [
    "of a version that was not at fault is complete: it waits for the registry",
    { ...back({ why: "the registry does not answer" }) },
    { act: "forget", reason: "repository_unreachable", detail: "back to 1.0.0, and 1.1.0 waits: the registry does not answer" },
  ],
  [
    "of a version that was not at fault: the pod without an image blocks it",
    {
      ...back(),
      workload: calmWorkload({ replicas: 1, ready: 0, updated: 0, outdated: 1 }),
      pods: [newPod(0, { fault: "pull", revision: "old" })],
    },
    { act: "delete_pod", pod: { name: "agent-0" } },
  ],
]);
