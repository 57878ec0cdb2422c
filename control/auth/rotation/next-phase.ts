import { PlatformError } from "../../../core/errors/platform-error.ts";
import { type AuthorityKind, authorityKinds } from "../../../core/kinds/authority-kinds.ts";
import { type RotationPhase, type RotationState, rotationPhases } from "../../../core/resources/rotation.ts";

/** Allowed transitions between phases. */
const following: Readonly<Record<RotationPhase, readonly RotationPhase[]>> = {
  standby: ["init"],
  init: ["update_clients", "rollback"],
  update_clients: ["update_servers", "rollback"],
  update_servers: ["standby", "rollback"],
  rollback: ["standby"],
};

/** A third of the grace for each of three phases. */
export const steps = 3;
/** Shortest automatic rotation, seconds: hosts and proxies need a moment to learn of a phase. */
export const leastGraceSeconds = 15;
export const usualGraceSeconds = 30 * 3_600;
const mostGraceSeconds = 90 * 86_400;

/** The effect of a step on the two keys: creates the new one, swaps the signing one, or drops the other one. */
export type KeyChange = "make" | "swap" | "drop" | "keep";

export interface RotationAsk {
  readonly kind: AuthorityKind;
  /** Undefined: the whole rotation, automatically. */
  readonly phase: RotationPhase | undefined;
  /** 0: the default. */
  readonly graceSeconds: number;
  readonly manual: boolean;
}

export interface RotationStep {
  readonly state: RotationState;
  readonly keys: KeyChange;
}

export function allowedPhases(phase: RotationPhase): readonly RotationPhase[] {
  return following[phase];
}

/** The step that an admin requests. Pure; throws `conflict` with the phases that are allowed, or `invalid`. */
export function askedStep(state: RotationState, ask: RotationAsk, now: Date): RotationStep {
  const wanted = ask.phase ?? "init";
  const allowed = following[state.phase];
  if (!allowed.includes(wanted)) {
    const under = state.phase === "standby" ? "is in standby" : `is in phase ${state.phase}`;
    throw new PlatformError("conflict", `the ${ask.kind} authority ${under}: the next phase can be ${allowed.join(" or ")}, not ${wanted}`, {
      hint: `tctl auth rotate --type=${ask.kind} --manual --phase=${allowed[0]}`,
    });
  }
  if (ask.phase === undefined) return { state: begunAutomatic(state, graceOf(ask), now), keys: "make" };
  if (ask.graceSeconds !== 0) throw new PlatformError("invalid", "a grace period is only for an automatic rotation: leave --phase out");
  if (state.mode === "automatic" && state.phase !== "standby" && wanted !== "rollback" && !ask.manual) {
    throw new PlatformError("conflict", `the rotation of the ${ask.kind} authority is automatic, its next step is at ${state.next ?? "once"}`, {
      hint: "continue it manually with --manual, or undo it with --phase=rollback",
    });
  }
  return { state: entered(state, { phase: wanted, mode: "manual" }, now), keys: keyChange(ask.kind, state.phase, wanted) };
}

/** The step of an automatic rotation that is due; undefined: none. Pure. */
export function dueStep(kind: AuthorityKind, state: RotationState, now: Date): RotationStep | undefined {
  const { phase, mode, next, grace_seconds: grace } = state;
  if (mode !== "automatic" || next === undefined || grace === undefined || now.getTime() < Date.parse(next)) return undefined;
  const [to] = following[phase];
  if (to === undefined || phase === "standby" || phase === "rollback") return undefined;
  const after = entered(state, { phase: to, mode: "automatic" }, now);
  // From now, not from the due time: a service that was down does not rush through the phases.
  const scheduled = to === "standby" ? after : { ...after, grace_seconds: grace, next: later(now, grace / steps) };
  return { state: scheduled, keys: keyChange(kind, phase, to) };
}

export function signsWith(kind: AuthorityKind, phase: RotationPhase): "old" | "new" {
  const from = rotationPhases.indexOf(authorityKinds[kind].newSignsFrom);
  const isNew = phase !== "rollback" && rotationPhases.indexOf(phase) >= from;
  return isNew ? "new" : "old";
}

function keyChange(kind: AuthorityKind, from: RotationPhase, to: RotationPhase): KeyChange {
  if (to === "init") return "make";
  // The signing key stays: the new one, or after a rollback the old one.
  if (to === "standby") return "drop";
  return signsWith(kind, from) === signsWith(kind, to) ? "keep" : "swap";
}

function entered(state: RotationState, to: Pick<RotationState, "phase" | "mode">, now: Date): RotationState {
  const before = state.last_rotated === undefined ? {} : { last_rotated: state.last_rotated };
  if (to.phase !== "standby") return { ...to, ...before, started: to.phase === "init" ? now.toISOString() : (state.started ?? now.toISOString()) };
  return state.phase === "rollback" ? { ...to, ...before } : { ...to, last_rotated: now.toISOString() };
}

function begunAutomatic(state: RotationState, grace: number, now: Date): RotationState {
  return { ...entered(state, { phase: "init", mode: "automatic" }, now), grace_seconds: grace, next: later(now, grace / steps) };
}

function graceOf({ graceSeconds }: RotationAsk): number {
  if (graceSeconds === 0) return usualGraceSeconds;
  if (graceSeconds >= leastGraceSeconds && graceSeconds <= mostGraceSeconds) return graceSeconds;
  throw new PlatformError("invalid", `the grace period of ${graceSeconds} s is not between ${leastGraceSeconds} s and 90 days`);
}

function later(now: Date, seconds: number): string {
  return new Date(now.getTime() + seconds * 1000).toISOString();
}
