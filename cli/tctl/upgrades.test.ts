import { expect, test } from "vitest";
import type { ChannelPlan, HostPlan, UpgradePlan } from "../../core/resources/upgrade-plan.ts";
import { planText, standing, statusText } from "./upgrades.ts";

const at = "2026-11-20T01:30:00.000Z";
const channel: ChannelPlan = {
  channel: "default",
  version: "1.1.0",
  critical: false,
  back: false,
  started: at,
  phase: "canaries",
  since: at,
  group: "staging",
  groups: [{ name: "staging", hosts: 3, done: 1, released: 1, left_out: 1, canaries: ["web-1"] }],
  failed: [{ host_id: "x", hostname: "web-9", why: "rolled back from v1.1.0", at }],
};
const host: HostPlan = {
  host_id: "1",
  hostname: "web-1",
  group: "staging",
  channel: "default",
  current: "1.0.0",
  target: "1.1.0",
  verdict: "goes",
  canary: true,
  when: "2026-11-20T02:00:00.000Z",
  why: "in its maintenance window",
  sessions: 3,
  connected: true,
};
const plan: UpgradePlan = { at, staged: true, window: { start: "2026-11-20T02:00:00.000Z", stop: "2026-11-20T03:00:00.000Z" }, channels: [channel] };
const stays: HostPlan = { ...host, hostname: "web-2", canary: false, verdict: "stays", why: "timer_off: the updater's timer is disabled or stopped" };

test("the plan shows who goes when and who stays why; those that have the version are counted", () => {
  const { when: _when, ...without } = stays;
  expect(
    planText({ ...plan, hosts: [host, without, { ...host, verdict: "done" }] }),
  ).toBe(`Window:  2026-11-20 02:00 UTC to 2026-11-20 03:00 UTC (in 30m0s)

Channel: default
Version: v1.1.0
State:   canaries of group staging, since 2026-11-20 01:30 UTC
Hosts:   1 go, 1 stay, 1 have it

Hostname Group            Current Target When                      Sessions Why
-------- ---------------- ------- ------ ------------------------- -------- -----------------------------------------------------
web-1    staging (canary) 1.0.0   1.1.0  from 2026-11-20 02:00 UTC 3        in its maintenance window
web-2    staging          1.0.0   1.1.0  stays                     3        timer_off: the updater's timer is disabled or stopped`);
  expect(planText({ ...plan, hosts: [{ ...host, when: at }] })).toMatch(/ now +3 /);
});

test("the status shows groups and failures", () => {
  expect(statusText(plan)).toContain(`Group   Hosts Have it May take it Left out Canaries
------- ----- ------- ----------- -------- --------
staging 3     1       1           1        web-1

Failed Noticed              Why
------ -------------------- -----------------------
web-9  2026-11-20 01:30 UTC rolled back from v1.1.0`);
  const warned = { ...plan, warnings: ["channel default wants v2.0.0"] };
  expect(statusText({ ...warned, channels: [] })).toMatch(/^Window: .*\nWarning: channel default wants v2\.0\.0\n\nNo channel has a version/);
  expect(statusText(warned)).toMatch(/^Window: .*\nWarning: channel default wants v2\.0\.0\n\nChannel/);
  expect(planText(warned)).toMatch(/^Window: .*\nWarning: channel default wants v2\.0\.0\n\nChannel/);
  expect(statusText({ ...plan, channels: [] })).toMatch(/^No channel has a version/);
});

test.for<[why: string, change: Partial<ChannelPlan>, words: string]>([
  ["its group", { phase: "group" }, "group staging, since 2026-11-20 01:30 UTC"],
  ["a wait", { phase: "waiting", until: "2026-11-21T01:30:00Z" }, "group staging waits until 2026-11-21 01:30 UTC"],
  ["the end", { phase: "done" }, "every group has it"],
  [
    "a pause",
    { paused: { since: at, by: "alice" } },
    "paused by alice since 2026-11-20 01:30 UTC (canaries of group staging, since 2026-11-20 01:30 UTC)",
  ],
  [
    "a freeze",
    { phase: "group", frozen: { until: at, reason: "Christmas" } },
    "frozen until 2026-11-20 01:30 UTC: Christmas (group staging, since 2026-11-20 01:30 UTC)",
  ],
  [
    "a stop first of all",
    { phase: "done", stopped: { since: at, why: "web-9 failed" }, paused: { since: at, by: "alice" } },
    "STOPPED since 2026-11-20 01:30 UTC: web-9 failed (every group has it)",
  ],
])("the state says %s", ([_why, change, words]) => {
  expect(standing({ ...channel, ...change })).toBe(words);
});

test("without an upgrade_rollout it says so", () => {
  expect(standing({ channel: "default", version: "1.1.0", critical: true, back: false, groups: [], failed: [] })).toMatch(/^no upgrade_rollout/);
});
