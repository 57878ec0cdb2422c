import fc from "fast-check";
import { expect, test } from "vitest";
import { rolloutPhases } from "../../../core/resources/upgrade-plan.ts";
import { upgradeReasons } from "../../../core/versions/upgrade-reason.ts";
import { anyCharacter } from "../../../test/fuzz/any-character.ts";
import { findHold } from "./find-target.ts";
import { nextRollout } from "./next-rollout.ts";
import { groupOf, type RolloutHost } from "./rollout-host.ts";
import type { RolloutState } from "./rollout-state.ts";
import { type Case, frozen, hour, minute, play, read, running, specOf, t } from "./testing/play-rollout.ts";

const ids = ["s1", "s2", "s3", "p1", "p2", "p3", "p4", "x1"];
const anyHost = fc
  .record({
    version: fc.constantFrom("old", "new"),
    presence: fc.constantFrom("", "", "", "gone", "away"),
    more: fc.constantFrom("", "", "", "unenrolled", "was-old", "instructed", ...Object.keys(upgradeReasons)),
  })
  .map(({ version, presence, more }) => [version, presence, more].filter((word) => word !== "").join(" "));
const anyState = fc.record(
  {
    version: fc.constantFrom("1.1.0", "1.0.5", "1.2.0"),
    passed: fc.constantFrom<string[]>([], ["staging"], ["staging", "prod"]),
    group: fc.constantFrom("", "staging", "prod"),
    phase: fc.constantFrom(...rolloutPhases),
    since: fc.constantFrom(t - 48 * hour, t - minute),
    until: fc.constantFrom(t - minute, t + minute),
    canaries: fc.subarray(ids),
    took: fc.dictionary(fc.constantFrom(...ids), fc.constantFrom(t - hour, t - 30 * minute, t - minute)),
    paused: fc.constant({ since: t - hour, by: "alice" }),
    stopped: fc.constant({ since: t - hour, why: "s1 failed" }),
  },
  { requiredKeys: ["passed", "group", "phase", "since"] },
);
/** Nothing but the earlier group holds the later one. */
const quick = {
  groups: [
    { name: "staging", labels: { env: "staging" }, canaries: 1 },
    { name: "prod", labels: { "*": "*" } },
  ],
};
const anyCase: fc.Arbitrary<Case> = fc.record({
  state: fc.option(anyState, { nil: undefined }),
  hosts: fc.tuple(...ids.map(() => anyHost)).map((words) => words.map((word, at) => `${ids[at]} ${word}`)),
  critical: fc.boolean(),
  spec: fc.constantFrom<object[]>({}, quick, { stop_after: { failed: 3 } }, frozen),
});

test("the same look again changes nothing and says nothing", () => {
  fc.assert(
    fc.property(anyCase, (given) => {
      const first = play(given);
      const hosts = given.hosts.map((text) => read(text).host);
      const before = new Map(given.hosts.map(read).flatMap(({ host, before: was }) => (was === undefined ? [] : [[host.id, was] as const])));
      const facts = { channel: "default", target: "1.1.0", critical: given.critical ?? false, spec: specOf(given.spec), hosts, before, now: t };
      expect(nextRollout(first.state, facts)).toEqual({ state: first.state, events: [] });
    }),
  );
});

test("stopped, paused and frozen release nobody", () => {
  fc.assert(
    fc.property(anyCase, (given) => {
      const { state, may } = play(given);
      if (state.stopped !== undefined || state.paused !== undefined || given.spec === frozen) expect(may).toBe("");
    }),
  );
});

test("no host of a later group goes before the earlier one is done, unless all go", () => {
  fc.assert(
    fc.property(anyCase, (given) => {
      const fresh = { ...given, ...(given.state !== undefined && { state: { ...given.state, passed: [], group: "staging" } }) };
      const { state, may } = play(fresh);
      const later = may.split(" ").filter((id) => /^[px]/.test(id));
      const waiting = given.hosts.map((text) => read(text).host).filter((host) => host.id.startsWith("s") && canStill(host, state));
      if (!state.all && waiting.length > 0) expect(later).toEqual([]);
    }),
  );
});

/** As the specification says it, not as the code does: connected, enrolled, nothing in its way, and without the version. */
function canStill(host: RolloutHost, { version, failed }: RolloutState): boolean {
  const free = host.reason === undefined || ["outside_window", "up_to_date", "held_by_rollout"].includes(host.reason);
  return host.connected && host.enrolled && free && host.version !== version && !(host.id in failed);
}

test("never more canaries than the group has", () => {
  fc.assert(
    fc.property(anyCase, (given) => {
      const { state } = play(given);
      if (state.group === "staging") expect(state.canaries.length).toBeLessThanOrEqual(Math.max(1, given.state?.canaries?.length ?? 0));
    }),
  );
});

test("whatever labels a host gives itself, it is in a group of the document, and its sentence fits a header", () => {
  const label = fc.dictionary(
    fc.oneof(fc.constantFrom("env", "__proto__", "constructor", "*", "toString"), fc.string()),
    fc.string({ unit: anyCharacter }),
  );
  const spec = specOf({ freezes: [{ from: "2020-01-01", to: "2099-01-01", reason: "Über\r\nX-Evil: 1" }] });
  fc.assert(
    fc.property(label, fc.string(), (labels, id) => {
      expect(["staging", "prod"]).toContain(groupOf(spec.groups, labels)?.name);
      for (const one of [spec, specOf()]) {
        const state = { ...running, stopped: { since: t, why: id } };
        expect(findHold(state, { id, labels }, { spec: one, now: t })).toMatch(/^[\x20-\x7e]{1,300}$/);
      }
    }),
  );
});
