import type { EndpointAnswer } from "../endpoint/endpoint-answer.ts";
import type { SkippedVersion, UpgradeInProgress } from "../state/parse-state.ts";
import type { Facts } from "../tick/decide.ts";
import type { Schedule } from "../tick/schedule.ts";

/** Facts of a healthy host at 1.0.0, at second 1500 of a window from 1000 to 2000. */
export const calmFacts: Facts = {
  now: 1500,
  forced: false,
  healed: false,
  updater: "1.0.0",
  updaterPackage: "1.0.0",
  installed: "1.0.0",
  hold: undefined,
  updaterHold: undefined,
  endpoint: { kind: "version", version: "1.0.0", critical: false },
  schedule: { windows: [{ start: 1000, stop: 2000 }], unreadable: 0 },
  agent: { active: true, version: "1.0.0", draining: 0 },
  found: { state: { skip: [] }, damaged: false },
};

export function wants(version: string, more: { readonly critical?: boolean; readonly held?: string } = {}): EndpointAnswer {
  return { kind: "version", version, critical: false, ...more };
}

export function windows(...pairs: readonly (readonly [start: number, stop: number])[]): Schedule {
  return { windows: pairs.map(([start, stop]) => ({ start, stop })), unreadable: 0 };
}

/** A state with an upgrade from 1.0.0 to 1.1.0 in the phase. */
export function inPhase(phase: UpgradeInProgress["phase"], more: Partial<UpgradeInProgress> = {}): Facts["found"] {
  const upgrade = { phase, from: "1.0.0", to: "1.1.0", started: "2026-01-01T00:00:00Z", boot: "b", before: "ready", tries: 0, ...more } as const;
  return { state: { skip: [], upgrade }, damaged: false };
}

/** Versions that were rolled back; with a stamp, because they refused that configuration. */
export function skipping(versions: readonly string[], stamp?: string): Facts["found"] {
  const config = stamp === undefined ? {} : { config: { file: "/etc/platform.yaml", stamp } };
  const skip: SkippedVersion[] = versions.map((version) => ({ version, since: "2026-01-01T00:00:00Z", why: "it keeps failing", ...config }));
  return { state: { skip }, damaged: false };
}

/** Versions of the updater's own package that did not run here. */
export function badUpdaters(...versions: readonly string[]): Facts["found"] {
  const skip_updater = versions.map((version) => ({ version, since: "2026-01-01T00:00:00Z", why: "it crashes" }));
  return { state: { skip: [], skip_updater }, damaged: false };
}
