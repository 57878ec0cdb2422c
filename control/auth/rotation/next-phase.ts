import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { AuthorityKind, RotationPhase, RotationState } from "../../../core/resources/rotation.ts";

/** Which phases may follow which. */
const following: Readonly<Record<RotationPhase, readonly RotationPhase[]>> = {
  standby: ["init"],
  init: ["update_clients", "rollback"],
  update_clients: ["update_servers", "rollback"],
  update_servers: ["standby", "rollback"],
  rollback: ["standby"],
};

/** Phases in which the new key signs. Who verifies a user's certificate is told within seconds; who verifies a host's, people, later. */
const signedByNew: Readonly<Record<AuthorityKind, readonly RotationPhase[]>> = {
  user: ["update_clients", "update_servers"],
  host: ["update_servers"],
};

/** A third of the grace for each of three phases. */
const steps = 3;
/** Shortest automatic rotation, seconds: hosts and proxies need moments to hear of a phase. */
export const leastGraceSeconds = 15;
export const usualGraceSeconds = 30 * 3_600;
const mostGraceSeconds = 90 * 86_400;

/** What a step does to the two keys: makes the new one, exchanges which one signs, or drops the one that does not sign. */
export type KeyChange = "make" | "swap" | "drop" | "keep";

export interface RotationAsk {
  readonly kind: AuthorityKind;
  /** Undefined: the whole rotation, by itself. */
  readonly phase: RotationPhase | undefined;
  /** 0: the usual. */
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

/** The step that somebody asks for. Pure; throws `conflict` with the phases that are allowed, or `invalid`. */
export function askedStep(state: RotationState, ask: RotationAsk, now: Date): RotationStep {
  const wanted = ask.phase ?? "init";
  const allowed = following[state.phase];
  if (!allowed.includes(wanted)) {
    const under = state.phase === "standby" ? "is in standby" : `is in phase ${state.phase}`;
    throw new PlatformError("conflict", `the ${ask.kind} authority ${under}: from there it goes to ${allowed.join(" or ")}, not to ${wanted}`, {
      hint: `tctl auth rotate --type=${ask.kind} --manual --phase=${allowed[0]}`,
    });
  }
  if (ask.phase === undefined) return { state: begunAutomatic(state, graceOf(ask), now), keys: "make" };
  if (ask.graceSeconds !== 0) throw new PlatformError("invalid", "a grace period belongs to a rotation that goes on by itself: leave --phase out");
  if (state.mode === "automatic" && state.phase !== "standby" && wanted !== "rollback" && !ask.manual) {
    throw new PlatformError("conflict", `the rotation of the ${ask.kind} authority goes on by itself, next at ${state.next ?? "once"}`, {
      hint: "lead it by hand from now on with --manual, or undo it with --phase=rollback",
    });
  }
  return { state: entered(state, { phase: wanted, mode: "manual" }, now), keys: keyChange(ask.kind, state.phase, wanted) };
}

/** The step of an automatic rotation whose time has come; undefined: none. Pure. */
export function dueStep(kind: AuthorityKind, state: RotationState, now: Date): RotationStep | undefined {
  const { phase, mode, next, grace_seconds: grace } = state;
  if (mode !== "automatic" || next === undefined || grace === undefined || now.getTime() < Date.parse(next)) return undefined;
  const [to] = following[phase];
  if (to === undefined || phase === "standby" || phase === "rollback") return undefined;
  const after = entered(state, { phase: to, mode: "automatic" }, now);
  // From now, not from when it was due: a service that was away does not rush through the phases.
  const scheduled = to === "standby" ? after : { ...after, grace_seconds: grace, next: later(now, grace / steps) };
  return { state: scheduled, keys: keyChange(kind, phase, to) };
}

export function signsWith(kind: AuthorityKind, phase: RotationPhase): "old" | "new" {
  return signedByNew[kind].includes(phase) ? "new" : "old";
}

function keyChange(kind: AuthorityKind, from: RotationPhase, to: RotationPhase): KeyChange {
  if (to === "init") return "make";
  // The key that signs is the one that stays: the new one, or after a rollback the old one.
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
  throw new PlatformError("invalid", `a grace period of ${graceSeconds} s; ${leastGraceSeconds} s to 90 days are taken`);
}

function later(now: Date, seconds: number): string {
  return new Date(now.getTime() + seconds * 1000).toISOString();
}
