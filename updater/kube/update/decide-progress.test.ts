import { expect } from "vitest";
import { brokenPod, calmWorkload, digest, image, inProgress, name, readyPod, wants } from "../testing/update-facts.ts";
import { closed, stays, update, updateTable } from "../testing/update-table.ts";
import { triggerAnnotation } from "./update-memory.ts";

const to = image("1.1.0");
const rolling = (more = {}) => ({ memory: { update: inProgress("rolling", more) } });
const half = (pods: readonly object[], more = {}) => ({
  workload: calmWorkload({ image: to, updated: 1, ready: 2, outdated: 2, ...more }),
  pods: pods as never,
});
const newPod = (at: number, more = {}) => brokenPod(at, 1380, { image: to, ...more });
const oldPod = (at: number, more = {}) => readyPod(at, { revision: "old", ...more });
updateTable("an update that has begun", [
  [
    "all pods have it and are ready",
    { ...rolling(), workload: calmWorkload({ image: to }) },
    { act: "accept", update: { to: { version: "1.1.0" } } },
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
  [
    "it refuses its configuration, which was changed since",
    {
      ...rolling(),
      ...half([oldPod(0), oldPod(1), newPod(2, { fault: "crash", refusesConfiguration: true, configuration: "c0" })]),
    },
    { act: "roll_back", config: { stamp: "c0" }, detail: expect.stringContaining("once the release's configuration is changed") },
  ],
  [
    "it refuses a configuration whose checksum is not known",
    { ...rolling(), ...half([oldPod(0), oldPod(1), newPod(2, { fault: "crash", refusesConfiguration: true, configuration: "" })]) },
    { act: "roll_back", detail: expect.not.stringContaining("changed") },
  ],
  ["its container cannot start", { ...rolling(), ...half([oldPod(0), oldPod(1), newPod(2, { fault: "start" })]) }, { act: "roll_back" }],
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
    "was broken before: it is not rolled back at once",
    { ...rolling({ before: "broken" }), ...half([oldPod(0), oldPod(1), newPod(2, { fault: "crash" })]) },
    stays("rolling_out"),
  ],
  [
    "was broken before, and still is after a quarter of an hour",
    { ...rolling({ before: "broken", started: 100 }), ...half([oldPod(0), oldPod(1), newPod(2, { fault: "crash" })]) },
    { act: "accept", detail: expect.stringContaining("1.1.0 is kept") },
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

updateTable("a roll-back", [
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

updateTable("another program sets the image", [
  ["back, after the update was done", { memory: { last: { version: "1.1.0", image: to } } }, { act: "undone", version: "1.1.0" }],
  ["to a higher one", { memory: { last: { version: "0.9.0", image: image("0.9.0") } } }, { act: "forget" }],
  ["to the same version of another place", { memory: { last: { version: "1.0.0", image: "other.example.com/p:1.0.0" } } }, update],
  ["back once: it is raised again", { memory: { undone: [{ version: "1.1.0", at: 1400, trigger: "" }] } }, update],
  ["back twice: the updater stops", { memory: undone(1000, 1400) }, stays("set_back", "twice")],
  ["back twice within a month", { memory: undone(-2_500_000, 1400) }, stays("set_back", "twice")],
  ["back twice, in suggest mode", { memory: undone(1000, 1400), mode: "suggest" }, { act: "suggest" }],
  [
    "back to the higher version that the update has lowered",
    { memory: { last: { version: "0.9.0", image: image("0.9.0"), before: { version: "1.0.0", image: "other.example.com/p:1.0.0" } } } },
    { act: "undone", version: "0.9.0" },
  ],
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
