import { describe, expect, test } from "vitest";
import { type UpgradeReason, upgradeReasons } from "../core/versions/upgrade-reason.ts";
import { availability, exitStatus, fieldsLine, printable, statusText } from "./output.ts";
import type { UpdaterState } from "./state/parse-state.ts";

test.for([
  ["1.0.0", "1.0.0", "no upgrades available (1.0.0 == 1.0.0)"],
  ["1.0.0", "1.1.0", "an upgrade is available (1.0.0 -> 1.1.0)"],
  ["1.1.0", "1.0.0", "an upgrade is available (1.1.0 -> 1.0.0)"],
  [undefined, "1.0.0", undefined],
  ["1.0.0", undefined, undefined],
] as const)("availability of %s and %s", ([current, target, line]) => {
  expect(availability(current, target)).toBe(line);
});

describe("fieldsLine", () => {
  test("quotes values that need it, and leaves out unknown ones", () => {
    expect(fieldsLine({ reason: "up_to_date", current: "1.0.0", target: undefined, detail: 'a "b" c', empty: "" })).toBe(
      'reason=up_to_date current=1.0.0 detail="a \\"b\\" c" empty=""',
    );
  });

  test("is one line, with any values", () => {
    const line = fieldsLine({ detail: "a\nreason=up_to_date\u001b[2J\u009b\u2028\u202e" });
    expect(line).toBe('detail="a\\nreason=up_to_date\\u001b[2J???"');
  });
});

test("a peer cannot control the output", () => {
  expect(printable("a\u001b]0;x\u0007b\tc")).toBe("a?]0;x?b?c");
});

test("each reason is normal, or needs an admin", () => {
  const alarming = (Object.keys(upgradeReasons) as UpgradeReason[]).filter((reason) => exitStatus(reason, false) === 1);
  expect(alarming).toEqual([
    "below_minimum",
    "not_signed",
    "above_proxy",
    "endpoint_unreachable",
    "certificate_wrong",
    "version_nonsense",
    "not_configured",
    "package_missing",
    "repository_unreachable",
    "signature_wrong",
    "no_space",
    "no_way_back",
    "package_manager_busy",
    "package_manager_failed",
    "rolled_back",
    "rollback_failed",
    "restart_needed",
    "updater_missing",
    "timer_off",
    "never_ran",
    "updater_silent",
    "set_back",
    "kubernetes_failed",
    "change_refused",
    "internal",
  ]);
  expect(exitStatus("held_by_admin", true)).toBe(1);
  expect(exitStatus("upgraded", true)).toBe(0);
});

test("the status is readable", () => {
  const state: UpdaterState = {
    reason: "known_bad",
    detail: "it\nfails",
    current: "1.0.0",
    target: "1.1.0",
    updater_version: "1.0.0",
    upgrade: { phase: "watching", from: "1.0.0", to: "1.1.0", started: "T", boot: "", before: "ready", tries: 1 },
    skip: [
      { version: "1.1.0", since: "S", why: "w" },
      { version: "1.2.0", since: "S", why: "w", config: { file: "/etc/platform.yaml", stamp: "s" } },
    ],
  };
  expect(statusText(state, { updater: "1.0.0", running: true }).split("\n")).toEqual([
    "Reason:      known_bad (rolled back here: skipped until another is wanted, it is forced, or a configuration it refused changes)",
    "Detail:      it?fails",
    "Current:     1.0.0",
    "Target:      1.1.0",
    "Updater:     1.0.0",
    "In progress: watching: 1.0.0 -> 1.1.0, since T",
    "Skipped:     1.1.0, rolled back on S: w",
    "Skipped:     1.2.0, rolled back on S: w; it is tried again once /etc/platform.yaml is changed",
  ]);
  const killed = statusText(state, { updater: "1.1.0", running: false });
  expect(killed).toContain("Updater:     1.1.0 (the last run was version 1.0.0)\n");
  expect(killed).toContain("Unfinished:  watching: 1.0.0 -> 1.1.0, since T; no run is under way: the next one continues it\n");
  expect(statusText({ skip: [] }, { updater: "1.1.0", running: true })).toBe("Updater:     1.1.0\nIn progress: a run");
});
