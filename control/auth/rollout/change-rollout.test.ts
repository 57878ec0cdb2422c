import { expect, test } from "vitest";
import { changeRollout } from "./change-rollout.ts";
import type { RolloutState } from "./rollout-state.ts";
import { canaries, paused, prodAll, prodWaits, running, specOf, stopped, t } from "./testing/play-rollout.ts";

test.for<
  readonly [why: string, state: Partial<RolloutState>, action: "pause" | "resume" | "promote", group: string, then: Partial<RolloutState> | string]
>([
  ["pause", {}, "pause", "", { paused: { since: t, by: "bob" } }],
  ["pause twice", paused, "pause", "", "is already paused by alice"],
  ["resume after a pause", { ...prodWaits, ...paused }, "resume", "", { ...prodWaits }],
  [
    "resume after a stop forgives",
    { ...stopped, failed: { s1: { hostname: "s1", why: "w", at: t, forgiven: false } } },
    "resume",
    "",
    { failed: { s1: { hostname: "s1", why: "w", at: t, forgiven: true } } },
  ],
  ["resume what runs", {}, "resume", "", "is neither paused nor stopped"],
  ["promote ends a wait", prodWaits, "promote", "", { group: "prod", phase: "canaries", since: t }],
  ["promote lets a group follow its canaries", canaries, "promote", "", { group: "staging", phase: "group", since: t }],
  ["promote begins the next group without its wait", {}, "promote", "", { passed: ["staging"], group: "prod", phase: "canaries" }],
  ["promote past the last group", prodAll, "promote", "", "has reached every group"],
  ["promote what is done", { phase: "done", group: "" }, "promote", "", "has reached every group"],
  ["promote through a group", canaries, "promote", "prod", { passed: ["staging"], group: "prod", phase: "group", canaries: [] }],
  ["promote through a group that has it", prodAll, "promote", "staging", "group staging may already install v1.1.0"],
  ["promote through a group that is not there", {}, "promote", "prd", 'there is no group "prd"'],
  ["promote while paused", paused, "promote", "", "is paused: it cannot be promoted"],
  ["promote while stopped", stopped, "promote", "", "is stopped: it cannot be promoted"],
])("an admin: %s", ([_why, state, action, group, then]) => {
  const change = () => changeRollout({ ...running, ...state }, { action, group, by: "bob", spec: specOf(), now: t });
  if (typeof then === "string") expect(change).toThrow(then);
  else expect(change()).toMatchObject(then);
});
