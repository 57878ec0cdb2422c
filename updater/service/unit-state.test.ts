import { expect, test } from "vitest";
import { isActive, parseUnitState } from "./unit-state.ts";

test("the unit's state is read from the output of systemctl", () => {
  const text = "MainPID=812\nNRestarts=2\nActiveState=active\nSubState=running\nUnitFileState=enabled\n";
  expect(parseUnitState(text)).toEqual({ activeState: "active", subState: "running", unitFileState: "enabled", mainPid: 812, restarts: 2 });
});

test("a missing unit is inactive", () => {
  const state = parseUnitState("MainPID=0\nActiveState=inactive\nSubState=dead\nUnitFileState=\n");
  expect(isActive(state)).toBe(false);
  expect(parseUnitState("")).toEqual({ activeState: "inactive", subState: "dead", unitFileState: "", mainPid: 0, restarts: 0 });
});

test.for([
  ["active", true],
  ["reloading", true],
  ["activating", true],
  ["deactivating", false],
  ["failed", false],
  ["inactive", false],
] as const)("%s counts as running: %s", ([activeState, active]) => {
  expect(isActive(parseUnitState(`ActiveState=${activeState}\n`))).toBe(active);
});
