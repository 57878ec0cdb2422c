import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type AuthorityKind, authorityNames } from "../../../core/kinds/authority-kinds.ts";
import { type RotationPhase, type RotationState, rotationPhases } from "../../../core/resources/rotation.ts";
import { allowedPhases, askedStep, dueStep, type RotationAsk, type RotationStep, signsWith } from "./next-phase.ts";

const now = new Date("2026-11-21T12:00:00.000Z");
const rest: RotationState = { phase: "standby", mode: "manual" };
const byHand = (kind: AuthorityKind, phase: RotationPhase): RotationAsk => ({ kind, phase, graceSeconds: 0, manual: true });

const allowed = [
  ["standby", "init"],
  ["init", "update_clients"],
  ["init", "rollback"],
  ["update_clients", "update_servers"],
  ["update_clients", "rollback"],
  ["update_servers", "standby"],
  ["update_servers", "rollback"],
  ["rollback", "standby"],
] as const;

describe.each(authorityNames)("the %s authority", (kind) => {
  const pairs = rotationPhases.flatMap((from) => rotationPhases.map((to) => [from, to] as const));
  test.for(pairs)("from %s to %s is taken only where the table says so", ([from, to]) => {
    const take = (): RotationStep => askedStep({ phase: from, mode: "manual" }, byHand(kind, to), now);
    if (allowed.some(([one, other]) => one === from && other === to)) expect(take().state.phase).toBe(to);
    else expect(take).toThrow(expect.objectContaining({ code: "conflict", message: expect.stringContaining(allowedPhases(from).join(" or ")) }));
  });
});

/** The keys by name, as the storage keeps them. */
interface Keys {
  readonly signing: string;
  readonly other: string | undefined;
}

function apply({ signing, other }: Keys, step: RotationStep, name: string): Keys {
  if (step.keys === "make") return { signing, other: name };
  if (step.keys === "drop") return { signing, other: undefined };
  if (step.keys === "keep") return { signing, other };
  if (other === undefined) throw new Error("nothing to change to");
  return { signing: other, other: signing };
}

const trusted = ({ signing, other }: Keys): readonly string[] => (other === undefined ? [signing] : [signing, other]);

test("whatever steps are asked for: what signs was trusted a phase before, and what signed is trusted until standby", () => {
  const steps = fc.array(fc.constantFrom(...rotationPhases), { maxLength: 40 });
  fc.assert(
    fc.property(fc.constantFrom(...authorityNames), steps, (kind, wanted) => {
      let [state, keys]: [RotationState, Keys] = [rest, { signing: "key0", other: undefined }];
      for (const [index, phase] of wanted.entries()) {
        const legal = allowedPhases(state.phase).includes(phase);
        const ask = byHand(kind, phase);
        if (!legal) {
          expect(() => askedStep(state, ask, now)).toThrow();
          continue;
        }
        const step = askedStep(state, ask, now);
        const next = apply(keys, step, `key${index + 1}`);
        expect(trusted(keys)).toContain(next.signing);
        if (phase !== "standby") expect(trusted(next)).toContain(keys.signing);
        else expect(next.signing).toBe(keys.signing);
        expect(trusted(next)).toHaveLength(phase === "standby" ? 1 : 2);
        [state, keys] = [step.state, next];
      }
    }),
  );
});

test.for(authorityNames)("a rollback from any phase of the %s authority ends with the key of before", (kind) => {
  for (const last of ["init", "update_clients", "update_servers"] as const) {
    let [state, keys]: [RotationState, Keys] = [rest, { signing: "old", other: undefined }];
    const path: RotationPhase[] = ["init", "update_clients", "update_servers"];
    for (const phase of [...path.slice(0, path.indexOf(last) + 1), "rollback", "standby"] as const) {
      const step = askedStep(state, byHand(kind, phase), now);
      [state, keys] = [step.state, apply(keys, step, "new")];
      expect(keys.signing).toBe(phase === "standby" ? "old" : signsWith(kind, phase));
    }
    expect([state, keys]).toEqual([rest, { signing: "old", other: undefined }]);
  }
});

test("a rotation by itself takes a third of its grace for each phase, counted from when the step was taken", () => {
  const begun = askedStep(rest, { kind: "host", phase: undefined, graceSeconds: 300, manual: false }, now);
  expect(begun).toEqual({
    keys: "make",
    state: { phase: "init", mode: "automatic", started: now.toISOString(), grace_seconds: 300, next: "2026-11-21T12:01:40.000Z" },
  });
  const early = new Date("2026-11-21T12:01:39.999Z");
  expect(dueStep("host", begun.state, early)).toBeUndefined();
  // The service was away for an hour.
  const late = new Date("2026-11-21T13:00:00.000Z");
  const second = dueStep("host", begun.state, late);
  expect(second).toMatchObject({ keys: "keep", state: { phase: "update_clients", next: "2026-11-21T13:01:40.000Z" } });
  const third = dueStep("host", second?.state ?? rest, new Date("2026-11-21T13:02:00.000Z"));
  expect(third).toMatchObject({ keys: "swap", state: { phase: "update_servers", started: now.toISOString() } });
  const end = new Date("2026-11-21T14:00:00.000Z");
  const last = dueStep("host", third?.state ?? rest, end);
  expect(last).toEqual({ keys: "drop", state: { phase: "standby", mode: "automatic", last_rotated: end.toISOString() } });
  expect(dueStep("host", last?.state ?? rest, end)).toBeUndefined();
});

test("a rotation by itself is undone at once, and led by hand only when that is said", () => {
  const { state } = askedStep(rest, { kind: "user", phase: undefined, graceSeconds: 0, manual: false }, now);
  const plain: RotationAsk = { kind: "user", phase: "update_clients", graceSeconds: 0, manual: false };
  expect(() => askedStep(state, plain, now)).toThrow(expect.objectContaining({ code: "conflict", message: expect.stringContaining("is automatic") }));
  const taken = askedStep(state, { ...plain, manual: true }, now).state;
  expect(taken).toEqual({ phase: "update_clients", mode: "manual", started: now.toISOString() });
  expect(dueStep("user", taken, new Date("2030-01-01T00:00:00Z"))).toBeUndefined();
  expect(askedStep(state, { ...plain, phase: "rollback" }, now).state.phase).toBe("rollback");
});

test.for([1, 14, 91 * 86_400])("a grace period of %s s is refused", (graceSeconds) => {
  expect(() => askedStep(rest, { kind: "user", phase: undefined, graceSeconds, manual: false }, now)).toThrow(
    expect.objectContaining({ code: "invalid" }),
  );
});
