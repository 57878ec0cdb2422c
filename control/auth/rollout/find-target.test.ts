import { expect, test } from "vitest";
import { findTarget, type TargetFacts } from "./find-target.ts";
import { canaries, paused, prodAll, read, running, specOf, stopped, t } from "./testing/play-rollout.ts";

const target = (facts: Partial<TargetFacts>) =>
  findTarget({
    channel: "default",
    hostId: "s2",
    version: "v1.1.0",
    critical: false,
    host: read("s2 old").host,
    spec: specOf(),
    state: { ...running, ...canaries },
    channelVersions: ["v1.1.0"],
    now: t,
    ...facts,
  });

test.for<[why: string, facts: Partial<TargetFacts>, version: string, held?: RegExp]>([
  ["without a roll-out it is the channel's", { spec: undefined, state: undefined, channelVersions: [] }, "v1.1.0"],
  ["no version is none", { version: "none" }, "none"],
  ["a canary gets it", { hostId: "s1", host: read("s1 old").host }, "v1.1.0"],
  ["a host that already has it keeps it", { host: read("s2 new").host, state: undefined, channelVersions: [] }, "v1.1.0"],
  ["before any proxy has reported", { channelVersions: [] }, "", /^held by the roll-out: no proxy has reported an answer of channel default yet$/],
  ["while proxies disagree", { host: read("s1 old").host, channelVersions: ["v1.0.0", "v1.1.0"] }, "", /disagree.* v1\.0\.0 and v1\.1\.0$/],
  ["of many answers some are named", { channelVersions: ["v1", "v2", "v3", "v4", "v5"] }, "", /answers v1 and v2 and v3$/],
  ["of a proxy that is ahead of its report", { version: "v1.2.0" }, "", /channel default answers v1\.1\.0 at another proxy$/],
  ["before its roll-out has begun", { state: { ...running, version: "1.0.5" } }, "", /the roll-out of v1\.1\.0 has not started yet$/],
  ["whose turn has not come", {}, "", /the canaries of group staging go first/],
  [
    "that nobody knows, once everybody may",
    { host: undefined, state: { ...running, ...prodAll, phase: "done", passed: ["staging", "prod"] } },
    "v1.1.0",
  ],
])("%s", ([_why, facts, version, held]) => {
  const answer = target(facts);
  expect(answer.version).toBe(version);
  expect(answer.held).toMatch(held ?? /^$/);
});

test("who asks for a host that nobody knows, learns no names of groups, people and hosts", () => {
  const why = { stopped: { since: t, why: "db1.internal rolled back from v1.1.0" } };
  const frozen = specOf({ freezes: [{ from: "2020-01-01", to: "2099-01-01", reason: "merger with Example" }] });
  for (const facts of [
    { state: { ...running, ...canaries } },
    { state: { ...running, ...paused } },
    { state: { ...running, ...stopped, ...why } },
    { spec: frozen },
  ]) {
    expect(target({ ...facts, hostId: "stranger", host: undefined })).toEqual({
      version: "",
      critical: false,
      held: "held by the roll-out: the roll-out of v1.1.0 has not reached this host, which is unknown to the inventory",
    });
  }
});
