import { describe, expect, test } from "vitest";
import { decideUpdate } from "./decide-update.ts";
import { brokenPod, calmFacts, calmWorkload, digest, image, inProgress, name, readyPod, signed, wants } from "./testing/update-facts.ts";
import { skipAnnotation, triggerAnnotation } from "./update-memory.ts";

type Facts = Parameters<typeof calmFacts>[0];
type Row = readonly [name: string, facts: Facts, expected: object];

const closed = { windows: [{ start: 5000, stop: 6000 }], unreadable: 0 };
const update = { act: "update", update: { phase: "rolling", to: { version: "1.1.0", image: image("1.1.0") }, before: "ready" } };
const stays = (reason: string, detail?: string) => ({
  act: "stay",
  reason,
  ...(detail !== undefined && { detail: expect.stringContaining(detail) }),
});
const verdict = (kind: "missing" | "unknown" | "refused", detail = "x") => ({ image: { name: `${name}:1.1.0`, verdict: { kind, detail } } });
const broken = (count: number, more = {}) =>
  [0, 1, 2].map((at) => (at < count ? brokenPod(at, 100, { fault: "crash", why: "it ends", ...more }) : readyPod(at)));

function table(title: string, rows: readonly Row[]): void {
  describe(title, () => {
    test.for(rows)("%s", ([, facts, expected]) => {
      expect(decideUpdate(calmFacts(facts))).toMatchObject(expected);
    });
  });
}

table("whether anything is decided at all", [
  ["suspended by its annotation", { workload: calmWorkload({ annotations: { [skipAnnotation]: "true" } }) }, stays("held_by_admin", skipAnnotation)],
  [
    "suspended, and critical",
    { workload: calmWorkload({ annotations: { [skipAnnotation]: "true" } }), wanted: wants("1.1.0", { critical: true }) },
    stays("held_by_admin"),
  ],
  [
    "suspended in the middle of an update",
    { workload: calmWorkload({ annotations: { [skipAnnotation]: "true" } }), memory: { update: inProgress("rolling") } },
    stays("held_by_admin"),
  ],
  ["another value of it does not suspend", { workload: calmWorkload({ annotations: { [skipAnnotation]: "false" } }) }, update],
  [
    "the trigger annotation alone changes nothing",
    { workload: calmWorkload({ annotations: { [triggerAnnotation]: "1" } }), schedule: closed },
    stays("outside_window"),
  ],
  ["the controller has not seen the last change", { workload: calmWorkload({ isObserved: false }) }, stays("rolling_out", "has not seen")],
  ["a tag that is not a version", { workload: calmWorkload({ image: `${name}:latest` }) }, stays("not_configured", "latest")],
  ["no tag at all", { workload: calmWorkload({ image: name }) }, stays("not_configured")],
  ["the wanted version is not known yet", { wanted: undefined }, { act: "ask" }],
  ["a damaged memory counts as none", { found: { memory: { skip: [], undone: [] }, isDamaged: true } }, update],
]);

table("which version is wanted", [
  ["the same", { wanted: wants("1.0.0") }, stays("up_to_date", "StatefulSet is already up-to-date, not updating")],
  ["the same, with a v", { wanted: wants("v1.0.0") }, stays("up_to_date")],
  [
    "the same, for a Deployment",
    { workload: calmWorkload({ kind: "Deployment" }), wanted: wants("1.0.0") },
    stays("up_to_date", "Deployment is already up-to-date"),
  ],
  ["the same, and a pod is not ready", { workload: calmWorkload({ ready: 2 }), wanted: wants("1.0.0") }, stays("up_to_date", "2 of 3 pods ready")],
  ["a newer one", {}, update],
  ["a newer one, with a v", { wanted: wants("v1.1.0") }, update],
  ["none", { wanted: { endpoint: { kind: "none" } } }, stays("not_wanted")],
  ["none, as the proxy is older", { wanted: { endpoint: { kind: "none", why: "v2 is above" } } }, stays("not_wanted", "v2 is above")],
  ["held by the roll-out", { wanted: { endpoint: { kind: "none", held: "group prod comes after staging" } } }, stays("held_by_rollout", "staging")],
  ["held, with a version", { wanted: wants("1.1.0", { held: "paused" }) }, stays("held_by_rollout", "paused")],
  ["held, and critical", { wanted: wants("1.1.0", { held: "paused", critical: true }) }, stays("held_by_rollout")],
  ["nonsense", { wanted: wants("<html>") }, stays("version_nonsense")],
  [
    "the endpoint cannot be reached",
    { wanted: { endpoint: { kind: "failed", reason: "endpoint_unreachable", detail: "refused" } } },
    stays("endpoint_unreachable", "refused"),
  ],
  [
    "its certificate is wrong",
    { wanted: { endpoint: { kind: "failed", reason: "certificate_wrong", detail: "expired" } } },
    stays("certificate_wrong"),
  ],
  ["below the minimum", { minimum: "1.2.0" }, stays("below_minimum", "1.2.0")],
  ["exactly the minimum", { minimum: "1.1.0" }, update],
  ["the signature is refused", { wanted: wants("1.1.0", { proof: { kind: "refused", detail: "wrong key" } }) }, stays("not_signed", "wrong key")],
  ["signed", { wanted: wants("1.1.0", { proof: signed() }) }, update],
  ["an older one, unsigned", { wanted: wants("0.9.0") }, stays("not_signed", "older than 1.0.0")],
  ["an older one, unsigned and critical", { wanted: wants("0.9.0", { critical: true }) }, stays("not_signed")],
  [
    "an older one, signed",
    { wanted: wants("0.9.0", { proof: signed() }), image: { name: `${name}:0.9.0`, verdict: { kind: "good", digest } } },
    { act: "update", update: { to: { version: "0.9.0" } } },
  ],
  ["an older one, signed, below the minimum", { wanted: wants("0.9.0", { proof: signed() }), minimum: "1.0.0" }, stays("below_minimum")],
  ["a prerelease of the running version", { wanted: wants("1.0.0-rc.1") }, stays("not_signed")],
  ["a higher major than the proxy's", { wanted: wants("2.0.0") }, stays("above_proxy", "the proxy goes first")],
  ["a higher major than the proxy's, critical and signed", { wanted: wants("2.0.0", { proof: signed(true) }) }, stays("above_proxy")],
  [
    "the proxy's own new major",
    { wanted: wants("2.0.0", { proxy: "2.0.0" }), image: { name: `${name}:2.0.0`, verdict: { kind: "good", digest } } },
    { act: "update" },
  ],
  ["the proxy is not known", { wanted: wants("1.1.0", { proxy: undefined }) }, stays("endpoint_unreachable")],
  ["the proxy's version is none", { wanted: wants("1.1.0", { proxy: "soon" }) }, stays("version_nonsense")],
  ["rolled back here before", { memory: { skip: [{ version: "1.1.0", since: "2026-01-01", why: "it crashed" }] } }, stays("known_bad", "it crashed")],
  [
    "rolled back here before, and critical",
    { memory: { skip: [{ version: "1.1.0", since: "2026-01-01", why: "x" }] }, wanted: wants("1.1.0", { critical: true }) },
    stays("known_bad"),
  ],
  ["another one was rolled back here", { memory: { skip: [{ version: "1.0.5", since: "2026-01-01", why: "x" }] } }, update],
]);

table("whether it may be now", [
  ["in the window", {}, update],
  ["in its first second", { now: 1000 }, update],
  ["in its last second", { now: 1999.9 }, update],
  ["at its end", { now: 2000 }, stays("stale_schedule")],
  ["before the window", { schedule: closed }, stays("outside_window", "No maintenance triggered, not updating")],
  [
    "between two windows",
    { schedule: { windows: [{ start: 1, stop: 2 }, ...closed.windows], unreadable: 0 } },
    stays("outside_window", "1970-01-01T01:23:20Z"),
  ],
  ["after the last window", { schedule: { windows: [{ start: 1, stop: 2 }], unreadable: 0 } }, stays("stale_schedule", "1970-01-01T00:00:02Z")],
  ["without a schedule", { schedule: { windows: [], unreadable: 0 } }, stays("no_schedule")],
  ["with an unreadable schedule", { schedule: { windows: [], unreadable: 2 } }, stays("no_schedule", "2 unreadable")],
  ["critical, outside of the window", { schedule: closed, wanted: wants("1.1.0", { critical: true }) }, update],
  ["critical, without a schedule", { schedule: { windows: [], unreadable: 0 }, wanted: wants("1.1.0", { critical: true }) }, update],
  [
    "critical by the proxy alone, where the auth service signs otherwise",
    { schedule: closed, wanted: wants("1.1.0", { critical: true, proof: signed(false) }) },
    stays("outside_window"),
  ],
  ["critical by the auth service", { schedule: closed, wanted: wants("1.1.0", { proof: signed(true) }) }, update],
  [
    "no pod is ready, and one keeps failing",
    { schedule: closed, workload: calmWorkload({ ready: 0 }), pods: broken(3) },
    { act: "update", update: { before: "broken" } },
  ],
  [
    "one of three keeps failing: the others have sessions",
    { schedule: closed, workload: calmWorkload({ ready: 2 }), pods: broken(1) },
    stays("outside_window"),
  ],
  [
    "one of three keeps failing, in the window: a newer version may heal it",
    { workload: calmWorkload({ ready: 2 }), pods: broken(1) },
    { act: "update", update: { before: "broken" } },
  ],
  [
    "no pod is ready, as no node takes them",
    { schedule: closed, workload: calmWorkload({ ready: 0 }), pods: [0, 1, 2].map((at) => brokenPod(at, 100, { isUnschedulable: true })) },
    stays("rolling_out", "no node takes"),
  ],
]);

table("the workload's own obstacles", [
  ["a roll-out of somebody else", { workload: calmWorkload({ updated: 1, outdated: 2 }) }, stays("rolling_out", "1 of 3 pods replaced")],
  [
    "a roll-out of somebody else, and critical",
    { workload: calmWorkload({ updated: 1 }), wanted: wants("1.1.0", { critical: true }) },
    stays("rolling_out"),
  ],
  ["a Deployment that still has earlier pods", { workload: calmWorkload({ kind: "Deployment", updated: 3, outdated: 1 }) }, stays("rolling_out")],
  [
    "a pod that has just started",
    { workload: calmWorkload({ ready: 2 }), pods: [readyPod(0), readyPod(1), brokenPod(2, 1490)] },
    stays("rolling_out", "wait"),
  ],
  [
    "a strategy that waits for people",
    { workload: calmWorkload({ obstacle: "its update strategy is OnDelete" }) },
    stays("held_by_admin", "OnDelete"),
  ],
  ["the same, and the version is the wanted one", { workload: calmWorkload({ obstacle: "x" }), wanted: wants("1.0.0") }, stays("up_to_date")],
  ["no replicas: nothing runs, nothing can break", { workload: calmWorkload({ replicas: 0, updated: 0, ready: 0 }), pods: [] }, update],
  ["a partition that keeps some pods at the earlier image", { workload: calmWorkload({ partition: 2, updated: 1 }) }, update],
  [
    "an earlier pod that keeps failing blocks its own correction",
    { workload: calmWorkload({ updated: 2, ready: 2 }), pods: broken(1, { revision: "old" }) },
    { act: "delete_pod", pod: { name: "agent-0" } },
  ],
  [
    "the same in suggest mode: nothing is touched",
    { mode: "suggest", workload: calmWorkload({ updated: 2, ready: 2 }), pods: broken(1, { revision: "old" }) },
    { act: "suggest" },
  ],
  [
    "the same with Parallel: the controller replaces it by itself",
    { workload: calmWorkload({ updated: 2, ready: 2, isOrdered: false }), pods: broken(1, { revision: "old" }) },
    { act: "update" },
  ],
  [
    "the same below the partition: it would come back as it is",
    { workload: calmWorkload({ updated: 2, ready: 2, partition: 1 }), pods: broken(1, { revision: "old" }) },
    { act: "update" },
  ],
  [
    "the same while another one ends",
    { workload: calmWorkload({ updated: 2, ready: 1 }), pods: [...broken(1, { revision: "old" }).slice(0, 2), readyPod(2, { isTerminating: true })] },
    { act: "update" },
  ],
  ["a failing pod of the newest template is not deleted", { workload: calmWorkload({ ready: 2 }), pods: broken(1) }, { act: "update" }],
  [
    "an earlier pod that is ready is not deleted",
    { workload: calmWorkload({ updated: 2 }), pods: [readyPod(0, { revision: "old" }), readyPod(1), readyPod(2)] },
    stays("rolling_out"),
  ],
]);

table("the image", [
  ["not checked yet", { image: undefined }, { act: "check", name: `${name}:1.1.0` }],
  ["another one was checked", { image: { name: `${name}:1.0.9`, verdict: { kind: "good", digest } } }, { act: "check" }],
  ["is not checked outside of the window", { image: undefined, schedule: closed }, stays("outside_window")],
  [
    "of a private registry with a port",
    { workload: calmWorkload({ image: "10.0.0.5:5000/mirror/platform-ent:1.0.0" }), image: undefined },
    { act: "check", name: "10.0.0.5:5000/mirror/platform-ent:1.1.0" },
  ],
  [
    "of a base image that the admin has set",
    { baseImage: "mirror.example.com/p", image: undefined },
    { act: "check", name: "mirror.example.com/p:1.1.0" },
  ],
  ["with build metadata, which a tag cannot hold", { wanted: wants("1.1.0+b.1"), image: undefined }, { act: "check", name: `${name}:1.1.0_b.1` }],
  ["missing", verdict("missing", "does not exist"), stays("package_missing", "does not exist")],
  ["missing, and critical", { ...verdict("missing"), wanted: wants("1.1.0", { critical: true }) }, stays("package_missing")],
  ["not known", verdict("unknown", "status 503"), stays("repository_unreachable", "503")],
  ["not signed", verdict("refused", "is not signed"), stays("signature_wrong", "is not signed")],
  ["good: pinned to its digest", {}, { act: "update", update: { to: { image: `${name}:1.1.0@${digest}` } } }],
  ["good, in suggest mode", { mode: "suggest" }, { act: "suggest", to: { version: "1.1.0", image: image("1.1.0") } }],
]);

const to = image("1.1.0");
const rolling = (more = {}) => ({ memory: { update: inProgress("rolling", more) } });
const half = (pods: readonly object[], more = {}) => ({
  workload: calmWorkload({ image: to, updated: 1, ready: 2, outdated: 2, ...more }),
  pods: pods as never,
});
const newPod = (at: number, more = {}) => brokenPod(at, 1380, { image: to, ...more });
const oldPod = (at: number, more = {}) => readyPod(at, { revision: "old", ...more });

table("an update that has begun", [
  [
    "all pods have it and are ready",
    { ...rolling(), workload: calmWorkload({ image: to }) },
    { act: "accept", good: { version: "1.1.0" }, isHealthy: true },
  ],
  ["is accepted outside of the window", { ...rolling(), workload: calmWorkload({ image: to }), schedule: closed }, { act: "accept" }],
  [
    "is under way",
    { ...rolling(), ...half([oldPod(0), oldPod(1), brokenPod(2, 1490, { image: to })]) },
    stays("rolling_out", "1 of 3 pods replaced, 2 of 3 pods ready"),
  ],
  [
    "its image is still being pulled",
    { ...rolling(), ...half([oldPod(0), oldPod(1), brokenPod(2, 100, { image: to, why: "ContainerCreating" })]) },
    stays("rolling_out"),
  ],
  [
    "no node takes its pod",
    { ...rolling(), ...half([oldPod(0), oldPod(1), brokenPod(2, 100, { image: to, isUnschedulable: true })]) },
    stays("rolling_out", "no node takes pod agent-2"),
  ],
  [
    "its pod keeps failing",
    { ...rolling(), ...half([oldPod(0), oldPod(1), newPod(2, { fault: "crash" })]) },
    { act: "roll_back", why: expect.stringContaining("agent-2 of 1.1.0 keeps failing") },
  ],
  [
    "is rolled back outside of the window",
    { ...rolling(), ...half([oldPod(0), oldPod(1), newPod(2, { fault: "crash" })]), schedule: closed },
    { act: "roll_back" },
  ],
  ["its container cannot start", { ...rolling(), ...half([oldPod(0), oldPod(1), newPod(2, { fault: "start" })]) }, { act: "roll_back" }],
  [
    "its image cannot be pulled, for a moment",
    { ...rolling(), ...half([oldPod(0), oldPod(1), brokenPod(2, 1450, { image: to, fault: "pull" })]) },
    stays("rolling_out"),
  ],
  [
    "its image cannot be pulled, for two minutes",
    { ...rolling(), ...half([oldPod(0), oldPod(1), newPod(2, { fault: "pull" })]) },
    { act: "roll_back", why: expect.stringContaining("cannot pull") },
  ],
  [
    "its pod is not ready for five minutes, and the network is up",
    { ...rolling(), ...half([oldPod(0), oldPod(1), brokenPod(2, 1200, { image: to })]) },
    { act: "roll_back" },
  ],
  [
    "the same, and nobody asked whether the network is up",
    { ...rolling(), ...half([oldPod(0), oldPod(1), brokenPod(2, 1200, { image: to })]), wanted: undefined },
    { act: "ask" },
  ],
  [
    "the same, and the network is down",
    {
      ...rolling(),
      ...half([oldPod(0), oldPod(1), brokenPod(2, 1200, { image: to })]),
      wanted: { endpoint: { kind: "failed", reason: "endpoint_unreachable", detail: "x" } },
    },
    stays("rolling_out", "unreachable"),
  ],
  [
    "a Deployment whose controller has given up",
    { ...rolling(), ...half([oldPod(0), brokenPod(2, 1490, { image: to })], { kind: "Deployment", isStalled: true }) },
    { act: "roll_back" },
  ],
  [
    "was broken before: it is not rolled back at once",
    { ...rolling({ before: "broken" }), ...half([oldPod(0), oldPod(1), newPod(2, { fault: "crash" })]) },
    stays("rolling_out"),
  ],
  [
    "was broken before, and still is after a quarter of an hour",
    { ...rolling({ before: "broken", started: 100 }), ...half([oldPod(0), oldPod(1), newPod(2, { fault: "crash" })]) },
    { act: "accept", isHealthy: false },
  ],
  [
    "was broken before: the earlier pod that blocks is deleted",
    { ...rolling({ before: "broken" }), ...half([brokenPod(0, 100, { revision: "old", fault: "crash" }), oldPod(1), readyPod(2, { image: to })]) },
    { act: "delete_pod", pod: { name: "agent-0" } },
  ],
  ["somebody has set the image back", { ...rolling(), workload: calmWorkload() }, { act: "undone", version: "1.1.0" }],
  ["somebody has set a lower one", { ...rolling(), workload: calmWorkload({ image: image("0.9.0") }) }, { act: "undone", version: "1.1.0" }],
  ["somebody has set a higher one", { ...rolling(), workload: calmWorkload({ image: image("1.2.0") }) }, { act: "forget", reason: "healed" }],
]);

const back = (more = {}) => ({
  memory: { update: inProgress("rolling_back", { why: "it crashed", ...more }), skip: [{ version: "1.1.0", since: "x", why: "y" }] },
});

table("a roll-back", [
  ["is complete", { ...back() }, { act: "forget", reason: "rolled_back", detail: expect.stringContaining("it crashed") }],
  [
    "the bad pod blocks it",
    { ...back(), workload: calmWorkload({ ready: 2, updated: 2 }), pods: [readyPod(0), readyPod(1), newPod(2, { revision: "old", fault: "crash" })] },
    { act: "delete_pod", pod: { name: "agent-2" } },
  ],
  [
    "the bad pod is not ready for no other reason",
    { ...back(), workload: calmWorkload({ ready: 2, updated: 2 }), pods: [readyPod(0), readyPod(1), newPod(2, { revision: "old" })] },
    { act: "delete_pod" },
  ],
  [
    "the bad version's pod that is ready is left to the controller",
    { ...back(), workload: calmWorkload({ updated: 2 }), pods: [readyPod(0), readyPod(1), readyPod(2, { revision: "old", image: to })] },
    stays("rolling_out"),
  ],
  [
    "the bad pod ends already",
    {
      ...back(),
      workload: calmWorkload({ ready: 2, updated: 2 }),
      pods: [readyPod(0), readyPod(1), newPod(2, { revision: "old", isTerminating: true })],
    },
    stays("rolling_out", "back to 1.0.0"),
  ],
  [
    "a Deployment needs no help",
    { ...back(), workload: calmWorkload({ kind: "Deployment", ready: 2, outdated: 1 }), pods: [newPod(2, { fault: "crash" })] },
    stays("rolling_out"),
  ],
  [
    "does not end for half an hour",
    { ...back({ started: -400 }), workload: calmWorkload({ ready: 2 }), pods: [readyPod(0), readyPod(1), brokenPod(2, 1490)] },
    stays("rollback_failed"),
  ],
  ["somebody has set another image", { ...back(), workload: calmWorkload({ image: image("1.2.0") }) }, { act: "forget", reason: "healed" }],
]);

const undone = (first: number, second: number, trigger = "") => ({ undone: [first, second].map((at) => ({ version: "1.1.0", at, trigger })) });

table("another program sets the image", [
  ["back, after the update was done", { memory: { good: { version: "1.1.0", image: to } } }, { act: "undone", version: "1.1.0" }],
  ["to a higher one", { memory: { good: { version: "0.9.0", image: image("0.9.0") } } }, { act: "forget" }],
  ["to the same version of another place", { memory: { good: { version: "1.0.0", image: "other.example.com/p:1.0.0" } } }, { act: "forget" }],
  ["back once: it is raised again", { memory: { undone: [{ version: "1.1.0", at: 1400, trigger: "" }] } }, update],
  ["back twice within ten minutes: the updater stops", { memory: undone(1000, 1400) }, stays("set_back", "twice")],
  ["back twice within an hour: it is raised again", { memory: undone(-2000, 1400) }, update],
  [
    "back twice, and a person has triggered another attempt",
    { workload: calmWorkload({ annotations: { [triggerAnnotation]: "2" } }), memory: undone(1000, 1400, "1") },
    update,
  ],
  [
    "back twice, and the trigger is the one of before",
    { workload: calmWorkload({ annotations: { [triggerAnnotation]: "1" } }), memory: undone(1000, 1400, "1") },
    stays("set_back"),
  ],
  [
    "back twice, another version: it is tried",
    { memory: undone(1000, 1400), wanted: wants("1.1.1"), image: { name: `${name}:1.1.1`, verdict: { kind: "good", digest } } },
    { act: "update" },
  ],
]);
