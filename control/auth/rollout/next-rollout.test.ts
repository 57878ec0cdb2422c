import { canaries, hour, minute, paused, prodAll, prodCanaries, prodWaits, stopped, t } from "./testing/play-rollout.ts";
import { testRows } from "./testing/rollout-rows.ts";

/** How it goes when all goes well. */
testRows(
  [
    // Begin
    ["a new version begins with the canaries of the first group", { hosts: ["s1 old", "s2 old", "p1 old"] }, canaries, "s1", "started"],
    ["canaries are chosen by id", { hosts: ["s2 old", "s1 old"] }, canaries, "s1", "started"],
    [
      "a canary that can go is preferred to one that lacks something",
      { hosts: ["s1 old no_space", "s2 old"] },
      { canaries: ["s2"] },
      "s2",
      "started",
    ],
    ["but that one is taken when there is no other", { hosts: ["s1 old no_space"] }, canaries, "s1", "started"],
    ["a disconnected host is not a canary", { hosts: ["s1 old away", "s2 old"] }, { canaries: ["s2"] }, "s2", "started"],
    ["a host held by its admin is not a canary", { hosts: ["s1 old held_by_admin", "s2 old"] }, { canaries: ["s2"] }, "s2", "started"],
    ["a host without an updater is not a canary", { hosts: ["s1 old unenrolled", "s2 old"] }, { canaries: ["s2"] }, "s2", "started"],
    ["while nobody can be a canary, nobody goes", { hosts: ["s1 old away", "p1 old"] }, { phase: "canaries", canaries: [] }, "", "started"],
    [
      "a group without hosts is passed",
      { hosts: ["p1 old"] },
      { group: "prod", phase: "waiting", until: t + hour, passed: ["staging"] },
      "",
      "started",
    ],
    ["a group of hosts without updater is passed", { hosts: ["s1 old unenrolled", "p1 old"] }, { group: "prod" }, "s1", "started"],
    [
      "when everybody has it, it is done at once",
      { hosts: ["s1 new", "p1 new"], spec: { groups: [{ name: "all", labels: { "*": "*" } }] } },
      { phase: "done", group: "" },
      "s1 p1",
      "started done",
    ],
    [
      "without canaries the whole group goes",
      { hosts: ["s1 old", "s2 old"], spec: { groups: [{ name: "all", labels: { "*": "*" } }] } },
      { phase: "group", group: "all" },
      "s1 s2",
      "started",
    ],
    [
      "the first group waits too when it says so",
      { hosts: ["s1 old"], spec: { groups: [{ name: "all", labels: { "*": "*" }, wait: "30m" }] } },
      { phase: "waiting", until: t + 30 * minute },
      "",
      "started",
    ],
    ["a host in no group waits for the last one", { hosts: ["s1 old", "x1 old"] }, canaries, "s1", "started"],
    [
      "another version starts again",
      { state: { ...prodAll, version: "1.0.5", took: { s1: t - hour } }, hosts: ["s1 old", "p1 old"] },
      { ...canaries, passed: [], took: {} },
      "s1",
      "started",
    ],
    ["another version ends a stop", { state: { ...stopped, version: "1.0.5" }, hosts: ["s1 old"] }, canaries, "s1", "started"],
    ["a pause outlives the version", { state: { ...paused, version: "1.0.5" }, hosts: ["s1 old"] }, { group: "", ...paused }, "", "started"],
    // Canaries
    ["the group waits for its canary", { state: canaries, hosts: ["s1 old", "s2 old"] }, canaries, "s1"],
    ["a canary that has just taken it is watched", { state: canaries, hosts: ["s1 new was-old", "s2 old"] }, { ...canaries, took: { s1: t } }, "s1"],
    [
      "still watched before vanished_after is over",
      { state: { ...canaries, took: { s1: t - 9 * minute } }, hosts: ["s1 new", "s2 old"] },
      canaries,
      "s1",
    ],
    [
      "a canary that stayed lets the group follow",
      { state: { ...canaries, took: { s1: t - 10 * minute } }, hosts: ["s1 new", "s2 old"] },
      { phase: "group", since: t },
      "s1 s2",
    ],
    [
      "a canary that took it while nobody looked is watched since it is back: the auth service may have been away",
      { state: canaries, hosts: ["s1 new just-back", "s2 old"] },
      canaries,
      "s1",
    ],
    [
      "a canary that is away is waited for",
      { state: { ...canaries, took: { s1: t - 15 * minute } }, hosts: ["s1 new away", "s2 old"] },
      canaries,
      "s1",
    ],
    ["a canary that left without taking it is replaced", { state: canaries, hosts: ["s1 old gone", "s2 old"] }, { canaries: ["s2"] }, "s2"],
    ["a canary that its admin holds now is replaced", { state: canaries, hosts: ["s1 old held_by_admin", "s2 old"] }, { canaries: ["s2"] }, "s2"],
    [
      "a canary that lacks something for a day is replaced",
      { state: { ...canaries, since: t - 25 * hour }, hosts: ["s1 old no_space", "s2 old"] },
      { canaries: ["s2"] },
      "s2",
    ],
    [
      "both canaries have to have it",
      { state: { ...prodCanaries, took: { p1: t - hour } }, hosts: ["s1 new", "p1 new", "p2 old", "p3 old"] },
      prodCanaries,
      "s1 p1 p2",
    ],
    // Group after group
    ["the group is not done while one has it not", { state: {}, hosts: ["s1 new", "s2 old", "p1 old"] }, { group: "staging" }, "s1 s2"],
    ["the next group waits", { state: {}, hosts: ["s1 new", "s2 new", "p1 old"] }, { ...prodWaits, until: t + hour }, "s1 s2"],
    ["a wait is waited", { state: prodWaits, hosts: ["s1 new", "p1 old"] }, prodWaits, "s1"],
    [
      "after the wait its canaries go",
      { state: { ...prodWaits, until: t }, hosts: ["s1 new", "p1 old", "p2 old", "p3 old"] },
      { ...prodCanaries, since: t },
      "s1 p1 p2",
    ],
    [
      "after its canaries the rest goes, and hosts in no group with it",
      { state: { ...prodCanaries, took: {} }, hosts: ["p1 new", "p2 new", "p3 old", "x1 old"] },
      { ...prodAll, phase: "group" },
      "p1 p2 p3 x1",
    ],
    [
      "done when the last has it",
      { state: prodAll, hosts: ["s1 new", "p1 new", "x1 new"] },
      { phase: "done", group: "", passed: ["staging", "prod"] },
      "s1 p1 x1",
      "done",
    ],
    [
      "a host that comes later to a group that has it may take it",
      { state: prodCanaries, hosts: ["s1 new", "s9 old", "p1 old", "p2 old"] },
      prodCanaries,
      "s1 s9 p1 p2",
    ],
    [
      "after it is done a new host may take it",
      { state: { phase: "done", group: "", passed: ["staging", "prod"] }, hosts: ["s1 new", "p9 old"] },
      { phase: "done" },
      "s1 p9",
    ],
  ],
  { atLeast: 30 },
);
