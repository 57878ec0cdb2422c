import fc from "fast-check";
import { expect, test } from "vitest";
import { hostStatusSchema } from "../../core/resources/host-status.ts";
import { describeHost, type HostFacts } from "./describe-host.ts";
import { parseUpdaterState, timerState } from "./read-updater.ts";

const state = { updater_version: "1.0.0", reason: "up_to_date", detail: "fine", target: "1.0.0", at: "2026-11-20T10:00:00Z" } as const;
const { updater_version: upgrader_version, ...rest } = state;
const ran = { upgrader_version, ...rest };
const hour = 3_600_000;
const later = (ms: number): { now: number } => ({ now: Date.parse(state.at) + ms });
const unit: HostFacts = { found: { upgrader: "unit", installed: true }, state: ran, timer: "on", schedule: {}, sessions: 2, ...later(600_000) };
const kube: Partial<HostFacts> = { found: { upgrader: "kube", installed: false }, timer: "unknown" };

test.for<[name: string, facts: Partial<HostFacts>, expected: object]>([
  ["not enrolled", { found: { upgrader: "none", installed: false } }, { upgrader: "none", sessions: 2 }],
  [
    "the updater's own report",
    {},
    { upgrader: "unit", sessions: 2, reason: "up_to_date", detail: "fine", target: "1.0.0", upgrader_version: "1.0.0" },
  ],
  ["has not run", { state: undefined }, { reason: "never_ran", detail: "platform-upgrade is installed but has not run yet" }],
  [
    "has not run, nobody will run it",
    { state: undefined, timer: "no_systemd" },
    { detail: expect.stringContaining("there is no systemd on this host") },
  ],
  ["without systemd something else runs it", { timer: "no_systemd" }, { reason: "up_to_date" }],
  ["systemd does not answer", { timer: "unknown" }, { reason: "up_to_date" }],
  ["timer stopped", { timer: "stopped" }, { reason: "timer_off", detail: expect.stringContaining("stopped"), target: "1.0.0" }],
  ["timer stopped, and a run by hand", { timer: "stopped" }, { reason: "timer_off", outcome: { reason: "up_to_date", detail: "fine" } }],
  ["timer stopped, and it never ran", { timer: "stopped", state: undefined }, { reason: "timer_off" }],
  ["timer disabled", { timer: "disabled" }, { reason: "timer_off", detail: expect.stringContaining("disabled") }],
  ["no run for two days", later(48 * hour), { reason: "up_to_date" }],
  [
    "no run for longer",
    later(48 * hour + 1),
    { reason: "updater_silent", detail: "platform-upgrade last ran at 2026-11-20T10:00:00Z, although its timer is on", target: "1.0.0" },
  ],
  ["no run for longer, and the timer is why", { timer: "stopped", ...later(49 * hour) }, { reason: "timer_off" }],
  ["no run for longer, and nobody knows who runs it", { timer: "unknown", ...later(49 * hour) }, { reason: "up_to_date" }],
  ["a clock that was set back", later(-48 * hour), { reason: "up_to_date" }],
  ["updater removed", { found: { upgrader: "unit", installed: false } }, { reason: "updater_missing" }],
  ["timer's unit removed", { timer: "not_installed" }, { reason: "updater_missing" }],
  ["windows known", { schedule: { until: "2026-12-04T00:00:00.000Z" } }, { schedule_until: "2026-12-04T00:00:00.000Z" }],
  ["no windows, and why", { schedule: { error: "x".repeat(900) } }, { schedule_error: "x".repeat(500) }],
  [
    "kube",
    { ...kube, externalVersion: "1.2.3" },
    { upgrader: "kube", sessions: 2, upgrader_version: "1.0.0", reason: "up_to_date", target: "1.0.0" },
  ],
  ["kube, whose result cannot be read", { ...kube, state: "unknown", externalVersion: "1.2.3" }, { upgrader_version: "1.2.3" }],
  ["kube, which has not run", { ...kube, state: undefined }, { reason: "never_ran" }],
  ["kube, which is silent", { ...kube, ...later(2 * hour + 1) }, { reason: "updater_silent", outcome: { reason: "up_to_date" } }],
  ["kube, with its windows", { ...kube, schedule: { until: "2026-12-04T00:00:00.000Z" } }, { schedule_until: "2026-12-04T00:00:00.000Z" }],
])("%s", ([_name, facts, expected]) => {
  const status = describeHost({ ...unit, ...facts });
  expect(status).toMatchObject(expected);
  expect(hostStatusSchema.parse(status)).toEqual(status);
});

test.for([
  ["LoadState=loaded\nActiveState=active\nUnitFileState=enabled\n", "on"],
  ["LoadState=loaded\nActiveState=activating\nUnitFileState=enabled-runtime\n", "on"],
  ["LoadState=loaded\nActiveState=inactive\nUnitFileState=enabled\n", "stopped"],
  ["LoadState=loaded\nActiveState=failed\nUnitFileState=enabled\n", "stopped"],
  ["LoadState=loaded\nActiveState=active\nUnitFileState=disabled\n", "disabled"],
  ["LoadState=loaded\nActiveState=inactive\nUnitFileState=disabled\n", "disabled"],
  ["LoadState=masked\nActiveState=inactive\nUnitFileState=masked\n", "disabled"],
  ["LoadState=not-found\nActiveState=inactive\nUnitFileState=\n", "not_installed"],
  ["", "unknown"],
  ["nonsense", "unknown"],
] as const)("systemd's %j means %s", ([answer, expected]) => {
  expect(timerState(answer)).toBe(expected);
});

test("a state file is read field by field: wrong fields are left out", () => {
  expect(parseUpdaterState(JSON.stringify({ version: 1, current: "1.0.0", skip: [], ...state }))).toEqual(ran);
  expect(parseUpdaterState(JSON.stringify({ ...state, reason: "new_code", at: "yesterday", target: 7, detail: "y".repeat(900) }))).toEqual({
    upgrader_version: "1.0.0",
    detail: "y".repeat(500),
  });
  for (const text of ["", "{", "null", "[]", '"x"', "7"]) expect(parseUpdaterState(text), text).toBeUndefined();
});

test("whatever a state file holds, the host's status is well-formed", () => {
  const value = fc.record({ reason: fc.anything(), detail: fc.anything(), target: fc.anything(), at: fc.anything(), channel: fc.anything() });
  fc.assert(
    fc.property(
      fc.oneof(
        fc.json(),
        value.map((one) => JSON.stringify(one) ?? ""),
      ),
      (text) => {
        const status = describeHost({ ...unit, state: parseUpdaterState(text) });
        expect(hostStatusSchema.parse(status)).toEqual(status);
      },
    ),
  );
});
