import { type UpgradeRollout, upgradeRolloutSchema } from "../../../../core/resources/upgrade-rollout.ts";
import { type UpgradeReason, upgradeReasons } from "../../../../core/versions/upgrade-reason.ts";
import { findHold } from "../find-target.ts";
import { nextRollout, type RolloutStep } from "../next-rollout.ts";
import type { RolloutHost } from "../rollout-host.ts";
import type { RolloutState } from "../rollout-state.ts";

/** For the tests of this folder: hosts and states in few words, and one look at them. */
export const minute = 60_000;
export const hour = 60 * minute;
/** The moment of the look. */
export const t = 1_800_000_000_000;

/** As an admin would write it; not checked. */
export const rolloutDocument = (spec: object) => ({ kind: "upgrade_rollout", version: "v1", metadata: { name: "default" }, spec });

const groups = [
  { name: "staging", labels: { env: "staging" }, canaries: 1 },
  { name: "prod", labels: { env: "prod" }, canaries: 2, wait: "1h" },
];
export const specOf = (more: object = {}): UpgradeRollout["spec"] => upgradeRolloutSchema.parse(rolloutDocument({ groups, ...more })).spec;

export interface Played {
  readonly host: RolloutHost;
  readonly before?: string;
}

/** `s1 new`: s and p are the groups, x is in none; then its version (old, new), and what else there is to say. */
export function read(text: string): Played {
  const [id = "", version, ...rest] = text.split(" ");
  const env = { s: "staging", p: "prod" }[id[0] ?? ""];
  const says = (word: string): boolean => rest.includes(word);
  const reason = rest.find((word): word is UpgradeReason => word in upgradeReasons);
  const host: RolloutHost = {
    id,
    hostname: id,
    labels: env === undefined ? {} : { env },
    version: version === "new" ? "1.1.0" : "1.0.0",
    connected: !says("gone") && !says("away"),
    since: says("gone") ? t - 20 * minute : says("away") || says("just-back") ? t - minute : t - 5 * hour,
    enrolled: !says("unenrolled"),
    reason,
    reasonTarget: says("at-1.0.5") ? "1.0.5" : "1.1.0",
    sessions: 0,
    offered: says("instructed") ? t - 25 * minute : undefined,
  };
  return { host, ...(says("was-old") && { before: "1.0.0" }) };
}

export interface Case {
  readonly state?: Partial<RolloutState> | undefined;
  readonly hosts: readonly string[];
  readonly critical?: boolean;
  readonly target?: string;
  readonly spec?: object;
}

export const running: RolloutState = {
  channel: "default",
  version: "1.1.0",
  back: false,
  started: t - 3 * hour,
  passed: [],
  group: "staging",
  phase: "group",
  since: t - hour,
  all: false,
  canaries: [],
  took: {},
  failed: {},
};

export function play({ state, hosts, critical = false, target = "1.1.0", spec = {} }: Case): RolloutStep & { may: string } {
  const played = hosts.map(read);
  const before = new Map(played.flatMap(({ host, before: was }) => (was === undefined ? [] : [[host.id, was] as const])));
  const all = played.map(({ host }) => host);
  const last = state === undefined ? undefined : { ...running, ...state };
  const step = nextRollout(last, { channel: "default", target, critical, spec: specOf(spec), hosts: all, before, now: t });
  return { ...step, may: allowed(step.state, all, specOf(spec)) };
}

function allowed(state: RolloutState, hosts: readonly RolloutHost[], spec: UpgradeRollout["spec"]): string {
  return hosts.flatMap((host) => (findHold(state, host, { spec, now: t }) === undefined ? [host.id] : [])).join(" ");
}

export const canaries: Partial<RolloutState> = { phase: "canaries", canaries: ["s1"] };
export const prodWaits: Partial<RolloutState> = { passed: ["staging"], group: "prod", phase: "waiting", until: t + minute };
export const prodCanaries: Partial<RolloutState> = { passed: ["staging"], group: "prod", phase: "canaries", canaries: ["p1", "p2"] };
export const prodAll: Partial<RolloutState> = { passed: ["staging"], group: "prod" };
export const frozen = { freezes: [{ from: "2020-01-01", to: "2099-01-01", reason: "for ever" }] };
export const paused: Partial<RolloutState> = { paused: { since: t - hour, by: "alice" } };
export const stopped: Partial<RolloutState> = { stopped: { since: t - hour, why: "s1 failed" } };
