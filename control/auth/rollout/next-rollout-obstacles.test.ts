import { canaries, hour, minute, stopped, t } from "./testing/play-rollout.ts";
import { testRows } from "./testing/rollout-rows.ts";

/** Hosts that do not take it, and what stops it. */
testRows(
  [
    // Hosts to wait for
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
      "a version skipped before does not hold back another one",
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
      "one that vanished right after the instruction to install it does",
      { state: {}, hosts: ["s1 old gone instructed", "s2 old"] },
      { stopped: { since: t, why: "s1 gone since 2027-01-15T07:40:00Z, right after the instruction to install v1.1.0" } },
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
  ],
  { atLeast: 25 },
);
