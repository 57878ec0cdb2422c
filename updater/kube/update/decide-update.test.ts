import { brokenPod, calmWorkload, digest, image, inProgress, name, readyPod, signed, wants } from "../testing/update-facts.ts";
import { closed, stays, update, updateTable } from "../testing/update-table.ts";
import { skipAnnotation, triggerAnnotation } from "./update-memory.ts";

const refused = (stamp: string) => ({
  skip: [{ version: "1.1.0", since: "2026-01-01", why: "it ends", config: { file: "the release's configuration", stamp } }],
});
const verdict = (kind: "missing" | "unknown" | "refused", detail = "x") => ({ image: { name: `${name}:1.1.0`, verdict: { kind, detail } } });
const broken = (count: number, more = {}) =>
  [0, 1, 2].map((at) => (at < count ? brokenPod(at, 100, { fault: "crash", why: "it ends", ...more }) : readyPod(at)));

updateTable("whether anything is decided at all", [
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

updateTable("which version is wanted", [
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
  [
    "rolled back here, as it refused this configuration",
    { memory: refused("c1") },
    stays("known_bad", "once the release's configuration is changed"),
  ],
  ["rolled back here, as it refused another configuration", { memory: refused("c0") }, update],
  ["the same outside of the window", { memory: refused("c0"), schedule: closed }, stays("outside_window")],
  ["the same, and its checksum is not known", { memory: refused("c0"), workload: calmWorkload({ configuration: "" }) }, stays("known_bad")],
  ["another one was rolled back here", { memory: { skip: [{ version: "1.0.5", since: "2026-01-01", why: "x" }] } }, update],
]);

updateTable("whether it may be now", [
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

updateTable("the workload's own obstacles", [
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

updateTable("the image", [
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
