import { canaries, frozen, hour, paused, prodAll, prodCanaries, prodWaits, stopped, t } from "./testing/play-rollout.ts";
import { testRows } from "./testing/rollout-rows.ts";

/** What an admin changes on the way. */
testRows(
  [
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
  ],
  { atLeast: 15 },
);
