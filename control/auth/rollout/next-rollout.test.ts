import { expect, test } from "vitest";
import type { RolloutState } from "./rollout-state.ts";
import { type Case, canaries, frozen, hour, minute, paused, play, prodAll, prodCanaries, prodWaits, stopped, t } from "./testing/play-rollout.ts";

type Row = readonly [why: string, given: Case, then: Partial<RolloutState>, may: string, events?: string];
const rows: readonly Row[] = [
  // Begin
  ["a new version begins with the canaries of the first group", { hosts: ["s1 old", "s2 old", "p1 old"] }, canaries, "s1", "started"],
  ["canaries are chosen by id", { hosts: ["s2 old", "s1 old"] }, canaries, "s1", "started"],
  ["a canary that can go is preferred to one that lacks something", { hosts: ["s1 old no_space", "s2 old"] }, { canaries: ["s2"] }, "s2", "started"],
  ["but that one is taken when there is no other", { hosts: ["s1 old no_space"] }, canaries, "s1", "started"],
  ["a host that is away is no canary", { hosts: ["s1 old away", "s2 old"] }, { canaries: ["s2"] }, "s2", "started"],
  ["a host that its admin holds is no canary", { hosts: ["s1 old held_by_admin", "s2 old"] }, { canaries: ["s2"] }, "s2", "started"],
  ["a host without an updater is no canary", { hosts: ["s1 old unenrolled", "s2 old"] }, { canaries: ["s2"] }, "s2", "started"],
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
    "another version begins anew",
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
  // Who is waited for
  ["nobody waits for a host without updater", { state: {}, hosts: ["s1 new", "s2 old unenrolled", "p1 old"] }, { group: "prod" }, "s1 s2"],
  ["nobody waits for a host that its admin holds", { state: {}, hosts: ["s1 new", "s2 old held_by_admin", "p1 old"] }, { group: "prod" }, "s1 s2"],
  ["nobody waits for a host whose timer is off", { state: {}, hosts: ["s1 new", "s2 old timer_off", "p1 old"] }, { group: "prod" }, "s1 s2"],
  [
    "a host outside its window is waited for",
    { state: { since: t - 200 * hour }, hosts: ["s1 new", "s2 old outside_window"] },
    { group: "staging" },
    "s1 s2",
  ],
  ["a host without space is waited for", { state: {}, hosts: ["s1 new", "s2 old no_space"] }, { group: "staging" }, "s1 s2"],
  ["but for a day only", { state: { since: t - 24 * hour }, hosts: ["s1 new", "s2 old no_space"] }, { group: "prod" }, "s1 s2"],
  [
    "and not at all for less than one that has it: when all lack something nobody knows whether it works",
    { state: { since: t - 48 * hour }, hosts: ["s1 old no_space", "s2 old package_missing"] },
    { group: "staging" },
    "s1 s2",
  ],
  ["a host that is away for a minute is waited for", { state: {}, hosts: ["s1 new", "s2 old away"] }, { group: "staging" }, "s1 s2"],
  ["one that is gone for long is not", { state: {}, hosts: ["s1 new", "s2 old gone"] }, { group: "prod" }, "s1 s2"],
  [
    "a whole group that is gone is waited for: a proxy may be gone",
    { state: {}, hosts: ["s1 old gone", "s2 old gone", "p1 old"] },
    { group: "staging" },
    "s1 s2",
  ],
  [
    "a version skipped before is no obstacle to another one",
    { state: {}, hosts: ["s1 new", "s2 old known_bad at-1.0.5"] },
    { group: "staging" },
    "s1 s2",
  ],
  // Failures
  [
    "a roll-back stops it",
    { state: {}, hosts: ["s1 new", "s2 old rolled_back", "p1 old"] },
    { stopped: { since: t, why: "s2 rolled back from v1.1.0" } },
    "",
    "stopped",
  ],
  [
    "so does a failed roll-back",
    { state: {}, hosts: ["s2 old rollback_failed"] },
    { stopped: { since: t, why: "s2 v1.1.0 is not healthy, and the version before could not be installed again" } },
    "",
    "stopped",
  ],
  [
    "so does a host that skips the version",
    { state: {}, hosts: ["s2 old known_bad"] },
    { stopped: { since: t, why: "s2 rolled back from v1.1.0" } },
    "",
    "stopped",
  ],
  ["a roll-back from another version does not", { state: {}, hosts: ["s2 old rolled_back at-1.0.5"] }, { group: "staging" }, "s2"],
  [
    "a host that took it and vanished stops it",
    { state: { took: { s1: t - 30 * minute } }, hosts: ["s1 new gone"] },
    { stopped: { since: t, why: "s1 gone since 2027-01-15T07:40:00Z, after it took v1.1.0" } },
    "",
    "stopped",
  ],
  ["one that is away does not yet", { state: { took: { s1: t - 30 * minute } }, hosts: ["s1 new away", "s2 old"] }, { group: "staging" }, "s1 s2"],
  [
    "one that went hours after it took it does not",
    { state: { took: { s1: t - 81 * minute }, failed: {} }, hosts: ["s1 new gone", "s2 old"] },
    { group: "staging" },
    "s1 s2",
  ],
  [
    "one that went soon after it took it does, also when nobody could look for hours",
    { state: { took: { s1: t - 79 * minute } }, hosts: ["s1 new gone"] },
    { stopped: { since: t, why: "s1 gone since 2027-01-15T07:40:00Z, after it took v1.1.0" } },
    "",
    "stopped",
  ],
  ["one that had it before does not", { state: {}, hosts: ["s1 new gone", "s2 old"] }, { group: "staging" }, "s1 s2"],
  [
    "one that was told to take it and vanished right then does",
    { state: {}, hosts: ["s1 old gone told", "s2 old"] },
    { stopped: { since: t, why: "s1 gone since 2027-01-15T07:40:00Z, right after it was told to take v1.1.0" } },
    "",
    "stopped",
  ],
  [
    "one failure of two allowed goes on, and others replace the canary",
    { state: canaries, hosts: ["s1 old rolled_back", "s2 old"], spec: { stop_after: { failed: 2 } } },
    { canaries: ["s2"] },
    "s2",
  ],
  [
    "the second one stops it",
    { state: canaries, hosts: ["s1 old rolled_back", "s2 old known_bad"], spec: { stop_after: { failed: 2 } } },
    { stopped: { since: t, why: "s1 rolled back from v1.1.0; s2 rolled back from v1.1.0" } },
    "",
    "stopped",
  ],
  [
    "what was forgiven does not count",
    {
      state: { failed: { s2: { hostname: "s2", why: "rolled back", at: t - hour, forgiven: true } } },
      hosts: ["s1 new", "s2 old known_bad", "p1 old"],
    },
    { group: "prod" },
    "s1 s2",
  ],
  ["a stop lasts although the host is well again", { state: stopped, hosts: ["s1 new", "s2 old"] }, stopped, ""],
  // Pause, freeze, critical, back
  [
    "a pause advances nothing and releases nobody",
    { state: { ...prodWaits, ...paused, until: t - hour }, hosts: ["s1 new", "p1 old"] },
    { ...prodWaits, until: t - hour },
    "",
  ],
  ["a freeze releases nobody", { state: prodAll, hosts: ["s1 new", "p1 old"], spec: frozen }, { group: "prod" }, ""],
  [
    "a freeze that is over holds nobody",
    { state: prodAll, hosts: ["p1 old"], spec: { freezes: [{ from: "2026-01-01", to: "2026-01-02" }] } },
    { group: "prod" },
    "p1",
  ],
  [
    "a critical version is for all at once",
    { hosts: ["s1 old", "p1 old", "x1 old"], critical: true },
    { all: true, group: "", phase: "group" },
    "s1 p1 x1",
    "started",
  ],
  ["also in the middle of a wait", { state: prodWaits, hosts: ["s1 new", "p1 old"], critical: true }, { all: true, group: "" }, "s1 p1"],
  [
    "a critical version is done when all have it",
    { state: { all: true, group: "" }, hosts: ["s1 new", "p1 new"], critical: true },
    { phase: "done" },
    "s1 p1",
    "done",
  ],
  ["a stop holds a critical version", { state: stopped, hosts: ["s1 old"], critical: true }, { ...stopped, all: false }, ""],
  ["a pause holds a critical version", { state: paused, hosts: ["s1 old"], critical: true }, { ...paused, all: false }, ""],
  ["a freeze holds a critical version", { state: {}, hosts: ["s1 old"], critical: true, spec: frozen }, { all: false }, ""],
  ["critical no more takes nothing back", { state: { all: true, group: "" }, hosts: ["s1 old", "p1 old"] }, { all: true }, "s1 p1"],
  [
    "a lower version goes to all at once",
    { state: { ...prodAll, version: "1.2.0" }, hosts: ["s1 old", "p1 old"] },
    { back: true, all: true },
    "s1 p1",
    "started",
  ],
  [
    "failures do not stop what goes back",
    { state: { back: true, all: true, group: "" }, hosts: ["s1 old rolled_back", "p1 old"] },
    { back: true },
    "s1 p1",
  ],
  ["a pause holds what goes back", { state: { ...paused, version: "1.2.0" }, hosts: ["s1 old"] }, { back: true, ...paused }, "", "started"],
  ["a pre-release is lower than its release", { state: { version: "1.1.0-rc.1" }, hosts: ["s1 old"] }, { back: false }, "s1", "started"],
  // Another document
  [
    "a group put before the others goes first from then on",
    {
      state: prodCanaries,
      hosts: ["s1 new", "p1 old", "x1 old"],
      spec: {
        groups: [
          { name: "first", labels: { x: "y" }, wait: "1h" },
          { name: "staging", labels: { env: "staging" } },
          { name: "prod", labels: { "*": "*" } },
        ],
      },
    },
    { group: "first", phase: "waiting" },
    "s1",
  ],
  ["a group that is gone from the document gives way to the next", { state: { group: "other" }, hosts: ["s1 old", "p1 old"] }, canaries, "s1"],
  [
    "a label that makes a host a member of an earlier group releases it",
    { state: prodCanaries, hosts: ["s2 old", "p1 old", "p2 old"] },
    prodCanaries,
    "s2 p1 p2",
  ],
];

test.for(rows)("%s", ([_why, given, then, may, events = ""]) => {
  const step = play(given);
  expect({ may: step.may, events: step.events.map(({ event }) => event).join(" ") }).toEqual({ may, events });
  expect(step.state).toMatchObject(then);
});

test("there are enough rows", () => expect(rows.length).toBeGreaterThanOrEqual(40));
