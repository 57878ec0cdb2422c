import { describe, expect, test } from "vitest";
import { badUpdaters, calmFacts, inPhase, skipping, wants, windows } from "../testing/facts.ts";
import { type Decision, decide, type Facts, maxWatches } from "./decide.ts";

type Row = readonly [name: string, facts: Partial<Facts>, act: Decision["act"], reason: Decision["reason"], detail?: string | RegExp];

const newer = { endpoint: wants("1.1.0") };
const urgent = { endpoint: wants("1.1.0", { critical: true }) };
const older = { installed: "1.1.0", agent: { active: true, version: "1.1.0", draining: 0 } };
const held = { endpoint: wants("1.0.0", { held: "group canary comes first" }) };
const closed = { now: 500 };
const past = { now: 2500 };
const unscheduled = { schedule: windows() };
const failed = (reason: "endpoint_unreachable" | "certificate_wrong" | "version_nonsense" | "not_configured"): Partial<Facts> => ({
  endpoint: { kind: "failed", reason, detail: `because of ${reason}` },
});
const draining = (count: number): Partial<Facts> => ({ agent: { active: true, version: "1.0.0", draining: count } });
const admin = { hold: "apt-mark hold is set on platform-ent" };
const choosy = { found: skipping(["1.1.0"], "a") };
const ahead = { endpoint: wants("2.0.0"), found: skipping(["2.0.0"]), updater: "2.0.0", updaterPackage: "2.0.0" };
const refused = { proof: { kind: "refused", detail: "the answer is not signed" } } as const;
const unsigned = { proof: { kind: "unsigned", detail: "the answer is not signed: taken" } } as const;
const signed = (critical: boolean) => ({ proof: { kind: "signed", critical, issued: 1 } }) as const;
const unknown = { unknownHold: { reason: "package_manager_busy", detail: "rpm is locked" } } as const;

const table: Record<string, Row[]> = {
  "without a change": [
    ["equal versions", {}, "stay", "up_to_date"],
    ["equal outside of the window", closed, "stay", "up_to_date"],
    ["equal and critical", { endpoint: wants("1.0.0", { critical: true }) }, "stay", "up_to_date"],
    ["equal and forced", { forced: true }, "stay", "up_to_date"],
    ["equal without a schedule", unscheduled, "stay", "up_to_date"],
    ["equal and held by the admin", admin, "stay", "up_to_date"],
    ["equal and once rolled back here", { found: skipping(["1.0.0"]) }, "stay", "up_to_date"],
    ["equal with many sessions", draining(9), "stay", "up_to_date"],
    ["equal, and the answer has a v", { endpoint: wants("v1.0.0") }, "stay", "up_to_date"],
    [
      "equal to a pre-release",
      { installed: "1.1.0-rc.1", endpoint: wants("1.1.0-rc.1"), agent: { active: false, draining: 0 } },
      "follow",
      "up_to_date",
    ],
    ["equal, the agent stopped", { agent: { active: false, draining: 0 } }, "stay", "up_to_date"],
    ["equal, the agent silent", { agent: { active: true, draining: 0 } }, "stay", "up_to_date"],
    [
      "equal, but another version runs",
      { agent: { active: true, version: "0.9.0", draining: 0 } },
      "stay",
      "restart_needed",
      /the running process is 0\.9\.0/,
    ],
    ["no version wanted", { endpoint: { kind: "none" } }, "stay", "not_wanted"],
    ["no version wanted, forced", { endpoint: { kind: "none" }, forced: true }, "stay", "not_wanted"],
    ["the package is not installed", { installed: undefined, ...newer }, "stay", "not_configured", /not installed/],
    ["the package is not installed, forced", { installed: undefined, ...newer, forced: true }, "stay", "not_configured"],
  ],
  "an updater that went ahead to a major that was rolled back": [
    ["comes back in the window", { ...ahead, updaterHold: undefined }, "follow", "known_bad", /1\.0\.0|the updater goes back to 1\.0\.0/],
    ["says so outside of it", { ...ahead, ...closed }, "stay", "known_bad", /goes back in the next maintenance window/],
    ["is held", { ...ahead, updaterHold: "held by apt-mark" }, "stay", "known_bad", /another major than the agent, and held by apt-mark/],
    ["was not installed as a package", { ...ahead, updaterPackage: undefined }, "stay", "known_bad"],
    ["is back", { ...ahead, updater: "1.0.0", updaterPackage: "1.0.0" }, "stay", "known_bad", /^2\.0\.0 was rolled back on [^;]*$/],
    ["of the same major stays", { ...ahead, updater: "1.1.0", updaterPackage: "1.1.0" }, "stay", "known_bad", /^[^;]*$/],
  ],
  "who vouches for it": [
    ["signed", { ...newer, ...signed(false) }, "install", "upgraded"],
    ["signed as critical, regardless of the proxy", { ...newer, ...closed, ...signed(true) }, "install", "upgraded", /critical/],
    ["critical according to the proxy alone", { ...urgent, ...closed, ...signed(false) }, "stay", "outside_window"],
    ["not signed, as before", { ...newer, ...unsigned }, "install", "upgraded"],
    ["not signed and critical, as before", { ...urgent, ...closed, ...unsigned }, "install", "upgraded"],
    ["not signed any more", { ...newer, ...refused }, "stay", "not_signed", /1\.1\.0 is not installed: the answer is not signed/],
    ["not signed any more, critical and older", { ...older, endpoint: wants("1.0.0", { critical: true }), ...refused }, "stay", "not_signed"],
    ["not signed any more, forced by an admin", { ...newer, ...refused, forced: true }, "install", "upgraded"],
    ["not signed any more, and nothing to do", refused, "stay", "up_to_date"],
    [
      "not signed any more, critical, and the updater's package differs",
      { endpoint: wants("1.0.0", { critical: true }), updaterPackage: "0.9.0", ...closed, ...refused },
      "stay",
      "up_to_date",
    ],
  ],
  "the lowest version that the host takes": [
    ["is the wanted one", { ...newer, minimum: "1.1.0" }, "install", "upgraded"],
    ["is below the wanted one", { ...newer, minimum: "v1.0.5" }, "install", "upgraded"],
    ["is above it", { ...newer, minimum: "1.1.1" }, "stay", "below_minimum", /wants 1\.1\.0, and this host accepts nothing below 1\.1\.1/],
    ["is above it, signed and critical", { ...urgent, ...signed(true), minimum: "1.1.1" }, "stay", "below_minimum"],
    ["is above it, forced", { ...newer, forced: true, minimum: "1.1.1" }, "stay", "below_minimum"],
    ["is the release, and a pre-release is wanted", { endpoint: wants("1.1.0-rc.1"), minimum: "1.1.0" }, "stay", "below_minimum"],
    ["is above what is installed and wanted", { minimum: "2.0.0" }, "stay", "up_to_date"],
    ["is not a version", { ...newer, minimum: "latest" }, "stay", "not_configured", /minimum says "latest", which is not a version/],
  ],
  "a newer version": [
    ["in the window", newer, "install", "upgraded", /window is open/],
    ["in the first second of the window", { ...newer, now: 1000 }, "install", "upgraded"],
    ["just before the window", { ...newer, now: 999.999 }, "stay", "outside_window", /1970-01-01T00:16:40Z/],
    ["in the last second of the window", { ...newer, now: 1999.999 }, "install", "upgraded"],
    ["at the end of the window", { ...newer, now: 2000 }, "stay", "stale_schedule"],
    ["outside of the window", { ...newer, ...closed }, "stay", "outside_window"],
    ["between two windows", { ...newer, now: 2500, schedule: windows([1000, 2000], [3000, 4000]) }, "stay", "outside_window", /00:50:00Z/],
    ["where windows overlap", { ...newer, schedule: windows([1000, 1600], [1400, 2000]) }, "install", "upgraded"],
    ["with windows in any order", { ...newer, schedule: windows([3000, 4000], [1000, 2000]) }, "install", "upgraded"],
    ["after all windows", { ...newer, ...past }, "stay", "stale_schedule", /ended at 1970-01-01T00:33:20Z/],
    ["without a schedule", { ...newer, ...unscheduled }, "stay", "no_schedule"],
    [
      "with a schedule that cannot be read",
      { ...newer, schedule: { windows: [], unreadable: 3 } },
      "stay",
      "no_schedule",
      /3 unreadable lines in the schedule/,
    ],
    ["than a made-up one", { ...newer, installed: "made-up" }, "install", "upgraded"],
    ["of a patch", { endpoint: wants("1.0.1") }, "install", "upgraded"],
    ["that is a pre-release", { endpoint: wants("1.1.0-rc.1") }, "install", "upgraded"],
    ["than a pre-release", { installed: "1.1.0-rc.1", ...newer }, "install", "upgraded"],
    ["with the agent stopped", { ...newer, agent: { active: false, draining: 0 } }, "install", "upgraded"],
    ["with the agent silent", { ...newer, agent: { active: true, draining: 0 } }, "install", "upgraded"],
    ["with another version skipped", { ...newer, found: skipping(["1.0.5", "1.2.0"]) }, "install", "upgraded"],
    ["on a clock of the year 1", { ...newer, now: -62_135_596_800 }, "stay", "outside_window"],
    ["on a clock a day ahead", { ...newer, now: 87_900 }, "stay", "stale_schedule"],
    ["on a clock a day behind", { ...newer, now: -84_900 }, "stay", "outside_window"],
    ["in a window that is centuries long", { ...newer, schedule: windows([0, 253_402_300_799]) }, "install", "upgraded"],
    ["before a window in the year 9999", { ...newer, schedule: windows([253_402_300_798, 253_402_300_799]) }, "stay", "outside_window", /9999/],
  ],
  "a critical version": [
    ["in the window", urgent, "install", "upgraded", /critical/],
    ["outside of the window", { ...urgent, ...closed }, "install", "upgraded"],
    ["without a schedule", { ...urgent, ...unscheduled }, "install", "upgraded"],
    ["after all windows", { ...urgent, ...past }, "install", "upgraded"],
    ["with many sessions", { ...urgent, ...draining(7) }, "install", "upgraded"],
    ["that was rolled back here", { ...urgent, found: skipping(["1.1.0"]) }, "stay", "known_bad"],
    ["held by the admin", { ...urgent, ...admin }, "stay", "held_by_admin"],
    ["held by the roll-out", { endpoint: wants("1.1.0", { critical: true, held: "frozen" }) }, "stay", "held_by_rollout", "frozen"],
    ["that is older", { ...urgent, installed: "1.2.0", ...closed }, "install", "upgraded"],
  ],
  "an older version": [
    ["in the window", older, "install", "upgraded", /an older version, 1\.0\.0/],
    ["outside of the window", { ...older, ...closed }, "stay", "outside_window"],
    ["without a schedule", { ...older, ...unscheduled }, "stay", "no_schedule"],
    ["forced outside of the window", { ...older, ...closed, forced: true }, "install", "upgraded"],
    ["held by the admin", { ...older, ...admin }, "stay", "held_by_admin"],
    ["that was rolled back here", { ...older, found: skipping(["1.0.0"]) }, "stay", "known_bad"],
    ["of another major", { ...older, endpoint: wants("0.9.0") }, "follow", "major_mismatch"],
  ],
  "an endpoint without a usable answer": [
    ["down", failed("endpoint_unreachable"), "stay", "endpoint_unreachable", "because of endpoint_unreachable"],
    ["down, forced", { ...failed("endpoint_unreachable"), forced: true }, "stay", "endpoint_unreachable"],
    ["with a wrong certificate", failed("certificate_wrong"), "stay", "certificate_wrong"],
    ["with nonsense", failed("version_nonsense"), "stay", "version_nonsense"],
    ["not configured", failed("not_configured"), "stay", "not_configured"],
    ["with a page instead of a version", { endpoint: wants("<html>") }, "stay", "version_nonsense", /"<html>"/],
    ["with an option instead of a version", { endpoint: wants("--1.2.3") }, "stay", "version_nonsense"],
    ["with nothing", { endpoint: wants("") }, "stay", "version_nonsense"],
  ],
  "a hold of the admin": [
    ["in the window", { ...newer, ...admin }, "stay", "held_by_admin", /apt-mark hold is set on platform-ent; 1\.1\.0 waits/],
    ["forced", { ...newer, ...admin, forced: true }, "stay", "held_by_admin"],
    ["outside of the window", { ...newer, ...admin, ...closed }, "stay", "held_by_admin"],
    ["and another major", { endpoint: wants("2.0.0"), ...admin }, "stay", "held_by_admin"],
    ["that is unknown, in the window", { ...newer, ...unknown }, "stay", "package_manager_busy", "rpm is locked"],
    ["that is unknown, forced", { ...newer, ...unknown, forced: true }, "stay", "package_manager_busy"],
    ["that is unknown, outside of the window", { ...newer, ...unknown, ...closed }, "stay", "outside_window"],
    ["that is unknown, and equal versions", unknown, "stay", "up_to_date"],
    ["and a version that was rolled back", { ...newer, ...admin, found: skipping(["1.1.0"]) }, "stay", "held_by_admin"],
  ],
  "a roll-out that holds": [
    ["at the version that is installed", held, "stay", "held_by_rollout", "group canary comes first"],
    ["at another version", { endpoint: wants("0.9.5", { held: "paused" }) }, "stay", "held_by_rollout"],
    ["without a version", { endpoint: { kind: "none", held: "stopped" } }, "stay", "held_by_rollout", "stopped"],
    ["without a version, forced", { endpoint: { kind: "none", held: "stopped" }, forced: true }, "stay", "held_by_rollout"],
    ["forced", { endpoint: wants("1.1.0", { held: "paused" }), forced: true }, "install", "upgraded"],
    ["forced, at the version that is installed", { ...held, forced: true }, "stay", "up_to_date"],
  ],
  "an admin's force": [
    ["outside of the window", { ...newer, ...closed, forced: true }, "install", "upgraded", /an admin has forced it/],
    ["without a schedule", { ...newer, ...unscheduled, forced: true }, "install", "upgraded"],
    ["of a version that was rolled back here", { ...newer, forced: true, found: skipping(["1.1.0"]) }, "install", "upgraded"],
    ["with many sessions", { ...newer, ...draining(5), forced: true }, "install", "upgraded"],
    ["to another major", { endpoint: wants("2.0.0"), forced: true }, "follow", "major_mismatch"],
  ],
  "a version that was rolled back here": [
    ["in the window", { ...newer, found: skipping(["1.1.0"]) }, "stay", "known_bad", /it keeps failing/],
    ["outside of the window", { ...newer, ...closed, found: skipping(["1.1.0"]) }, "stay", "known_bad"],
    ["and a newer one", { endpoint: wants("1.1.1"), found: skipping(["1.1.0"]) }, "install", "upgraded"],
    [
      "as its configuration was refused",
      { ...newer, ...choosy, configuration: "a" },
      "stay",
      "known_bad",
      /again once \/etc\/platform\.yaml is changed/,
    ],
    ["and the configuration cannot be read", { ...newer, ...choosy }, "stay", "known_bad"],
    ["and the configuration is another one", { ...newer, ...choosy, configuration: "b" }, "install", "upgraded", /platform\.yaml was changed/],
    ["the same outside of the window", { ...newer, ...choosy, configuration: "b", ...closed }, "stay", "outside_window"],
    ["the same, held", { ...newer, ...choosy, configuration: "b", hold: "held" }, "stay", "held_by_admin"],
    ["whatever its configuration is", { ...newer, found: skipping(["1.1.0"]), configuration: "b" }, "stay", "known_bad"],
  ],
  "sessions that drain": [
    ["two processes", { ...newer, ...draining(2) }, "install", "upgraded"],
    ["three processes", { ...newer, ...draining(3) }, "stay", "waiting_for_sessions", /3 earlier processes/],
    ["three processes outside of the window", { ...newer, ...draining(3), ...closed }, "stay", "outside_window"],
  ],
  "another major": [
    ["in the window: the updater first", { endpoint: wants("2.0.0") }, "follow", "major_mismatch", /moves to 2\.0\.0 first/],
    ["outside of the window", { endpoint: wants("2.0.0"), ...closed }, "stay", "outside_window"],
    ["critical", { endpoint: wants("2.0.0", { critical: true }), ...closed }, "follow", "major_mismatch"],
    ["when the updater is there already", { endpoint: wants("2.0.0"), updater: "2.0.0", updaterPackage: "2.0.0" }, "install", "upgraded"],
    ["when only its package is", { endpoint: wants("2.0.0"), updaterPackage: "2.0.0" }, "stay", "major_mismatch", /another copy/],
    [
      "when the updater is not a package",
      { endpoint: wants("2.0.0"), updaterPackage: undefined },
      "stay",
      "major_mismatch",
      /not installed as a package/,
    ],
    ["when its updater did not run here", { endpoint: wants("2.0.0"), found: badUpdaters("2.0.0") }, "stay", "major_mismatch", /it crashes/],
    [
      "when its updater did not run here, forced",
      { endpoint: wants("2.0.0"), found: badUpdaters("2.0.0"), forced: true },
      "follow",
      "major_mismatch",
    ],
    ["when the updater is held", { endpoint: wants("2.0.0"), updaterHold: "a hold on it" }, "stay", "major_mismatch", /a hold on it/],
  ],
  "an updater behind its agent": [
    ["in the window", { updaterPackage: "0.9.0" }, "follow", "up_to_date"],
    ["outside of the window", { updaterPackage: "0.9.0", ...closed }, "stay", "up_to_date"],
    ["outside of the window, critical", { updaterPackage: "0.9.0", ...closed, endpoint: wants("1.0.0", { critical: true }) }, "follow", "up_to_date"],
    ["forced", { updaterPackage: "0.9.0", ...closed, forced: true }, "follow", "up_to_date"],
    ["held", { updaterPackage: "0.9.0", updaterHold: "a hold on it" }, "stay", "up_to_date"],
    ["no package", { updaterPackage: undefined }, "stay", "up_to_date"],
    [
      "that did not run here",
      { updaterPackage: "0.9.0", found: badUpdaters("1.0.0") },
      "stay",
      "up_to_date",
      /its updater was rolled back on .*: it crashes/,
    ],
    [
      "that did not run here, critical",
      { updaterPackage: "0.9.0", found: badUpdaters("1.0.0"), endpoint: wants("1.0.0", { critical: true }) },
      "stay",
      "up_to_date",
    ],
    ["that did not run here, forced", { updaterPackage: "0.9.0", found: badUpdaters("1.0.0"), forced: true }, "follow", "up_to_date"],
    ["whose other version did not run here", { updaterPackage: "0.9.0", found: badUpdaters("0.9.5") }, "follow", "up_to_date"],
  ],
  "an interrupted upgrade": [
    ["while installing", { found: inPhase("installing") }, "heal", "healed"],
    ["while installing, outside of the window", { found: inPhase("installing"), ...closed }, "heal", "healed"],
    ["while installing, the endpoint down", { found: inPhase("installing"), ...failed("endpoint_unreachable") }, "heal", "healed"],
    ["while installing, then held by the admin", { found: inPhase("installing"), ...admin }, "heal", "healed"],
    ["completed", { found: inPhase("installing"), healed: true, installed: "1.1.0" }, "activate", "upgraded"],
    ["undone", { found: inPhase("installing"), healed: true }, "forget", "healed"],
    ["with no package left", { found: inPhase("installing"), healed: true, installed: undefined }, "roll_back", "rolled_back"],
    ["and then a third version by the admin", { found: inPhase("installing"), healed: true, installed: "1.3.0" }, "forget", "healed", /1\.3\.0/],
    ["while watching", { found: inPhase("watching"), installed: "1.1.0" }, "activate", "upgraded"],
    [
      "while watching, the installed version is unknown",
      { found: inPhase("watching"), installed: undefined, unreadable: "it is torn" },
      "heal",
      "healed",
    ],
    ["while watching, outside of the window", { found: inPhase("watching"), installed: "1.1.0", ...closed }, "activate", "upgraded"],
    ["while watching, another target since", { found: inPhase("watching"), installed: "1.1.0", endpoint: wants("1.2.0") }, "activate", "upgraded"],
    ["while watching, taken back by the admin", { found: inPhase("watching") }, "forget", "healed"],
    ["while watching, removed by the admin", { found: inPhase("watching"), installed: undefined }, "roll_back", "rolled_back"],
    [
      "while watching for a day",
      { found: inPhase("watching", { tries: maxWatches }), installed: "1.1.0" },
      "accept",
      "upgraded",
      /the network has been down too long/,
    ],
    ["while rolling back", { found: inPhase("rolling_back"), installed: "1.1.0" }, "heal", "healed"],
    [
      "while rolling back, healed",
      { found: inPhase("rolling_back", { why: "it hung" }), healed: true, installed: "1.1.0" },
      "roll_back",
      "rolled_back",
      /it hung/,
    ],
    ["after the roll-back", { found: inPhase("rolling_back"), healed: true }, "roll_back", "rolled_back"],
    ["while rolling back, forced", { found: inPhase("rolling_back"), healed: true, installed: "1.1.0", forced: true }, "roll_back", "rolled_back"],
    ["while the updater followed", { found: inPhase("following") }, "heal", "healed"],
    ["after the updater followed", { found: inPhase("following"), healed: true }, "forget", "healed"],
    ["at an unknown point: the state is damaged", { found: { state: { skip: [] }, damaged: true } }, "heal", "healed", /damaged/],
    ["the state was damaged, and it is healed", { found: { state: { skip: [] }, damaged: true }, healed: true }, "stay", "up_to_date"],
    ["the state was damaged, a newer version", { found: { state: { skip: [] }, damaged: true }, healed: true, ...newer }, "install", "upgraded"],
  ],
};

test("the table covers all rules", () => {
  expect(Object.values(table).flat().length).toBeGreaterThanOrEqual(80);
});

describe.for(Object.entries(table))("%s", ([, rows]) => {
  test.for(rows)("%s", ([, facts, act, reason, detail]) => {
    const decision = decide({ ...calmFacts, ...facts });
    expect([decision.act, decision.reason]).toEqual([act, reason]);
    expect(decision.detail).not.toBe("");
    if (typeof detail === "string") expect(decision.detail).toBe(detail);
    if (detail instanceof RegExp) expect(decision.detail).toMatch(detail);
  });
});
