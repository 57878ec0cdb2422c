import { compareVersions, parseVersion } from "../../core/versions/compare-versions.ts";
import type { UpgradeReason } from "../../core/versions/upgrade-reason.ts";
import type { EndpointAnswer } from "../endpoint/endpoint-answer.ts";
import type { Proof } from "../endpoint/judge-proof.ts";
import type { AgentFacts } from "../service/service.ts";
import { type SkippedVersion, type UpgradeInProgress, untilChanged } from "../state/parse-state.ts";
import type { FoundState } from "../state/state.ts";
import { type Schedule, windowAt } from "./schedule.ts";

/** All inputs of a decision. */
export interface Facts {
  /** Unix seconds. */
  readonly now: number;
  /** An admin's `force`: ignores the window, the skipped versions, the roll-out and the sessions. */
  readonly forced: boolean;
  /** Interrupted transactions were already checked for in this run. */
  readonly healed: boolean;
  /** Version of the running updater. */
  readonly updater: string;
  /** Version of the updater's package; omitted if it is not installed as one. */
  readonly updaterPackage?: string | undefined;
  /** Omitted if the agent's package is not installed. */
  readonly installed?: string | undefined;
  /** Why neither could be read, when an interruption is not healed yet. */
  readonly unreadable?: string | undefined;
  /** The admin's hold on the agent's package, and on the updater's. */
  readonly hold?: string | undefined;
  readonly updaterHold?: string | undefined;
  /** Set when the hold of the agent's package is unknown: then nothing is installed. */
  readonly unknownHold?: { readonly reason: UpgradeReason; readonly detail: string } | undefined;
  readonly endpoint: EndpointAnswer;
  /** Proof of the endpoint's version; omitted if it names none. */
  readonly proof?: Proof | undefined;
  /** Lowest version that may be installed, set by the host's admin. */
  readonly minimum?: string | undefined;
  readonly schedule: Schedule;
  readonly agent: Pick<AgentFacts, "active" | "version" | "draining">;
  /** Stamp of the configuration that the wanted version refused here, as it is now; omitted if it refused none, or cannot be read. */
  readonly configuration?: string | undefined;
  readonly found: FoundState;
}

/**
 * What to do next. `stay` ends the run; after any other act the facts are gathered and decided on again.
 * `heal`: complete an interrupted transaction; `forget`: an upgrade in progress has ended without effect; `install`, `activate` (reload and
 * watch), `accept` (stop watching), `roll_back`; `follow`: bring the updater's own package to `to`.
 * `reason` is the run's result if all goes well.
 */
export type Decision =
  | { readonly act: "stay"; readonly reason: UpgradeReason; readonly detail: string }
  | { readonly act: "heal" | "forget" | "activate" | "accept" | "roll_back"; readonly reason: UpgradeReason; readonly detail: string }
  | ({ readonly act: "install" | "follow" } & VersionChange);

/** A package that changes from one version to another. */
export interface VersionChange {
  readonly reason: UpgradeReason;
  readonly detail: string;
  readonly from: string;
  readonly to: string;
}

/** Maximum runs that watch an upgrade while the network is down: one day. */
export const maxWatches = 144;
/** Maximum draining processes before a non-critical upgrade waits. */
const maxDraining = 3;

/** The one decision of the updater. Pure. */
export function decide(facts: Facts): Decision {
  const { state, damaged } = facts.found;
  if (damaged && !facts.healed) return { act: "heal", reason: "healed", detail: "the state file is damaged: an upgrade may have been interrupted" };
  if (state.upgrade !== undefined) return decideInProgress(state.upgrade, facts);
  return decideTarget(facts);
}

function decideInProgress(upgrade: UpgradeInProgress, facts: Facts): Decision {
  const { phase, from, to } = upgrade;
  if (facts.unreadable !== undefined) return { act: "heal", reason: "healed", detail: `after the upgrade to ${to}: ${facts.unreadable}` };
  if (phase !== "watching" && !facts.healed) return { act: "heal", reason: "healed", detail: `the installation of ${to} was interrupted` };
  if (phase === "following") return forget(`the updater's own package is ${facts.updaterPackage ?? "not installed"}`);
  const { installed } = facts;
  if (installed !== undefined && installed !== from && installed !== to) return forget(`${installed} was installed in between`);
  if (phase === "rolling_back" || installed === undefined) {
    return { act: "roll_back", reason: "rolled_back", detail: `back to ${from}: ${upgrade.why ?? `${to} was not installed completely`}` };
  }
  if (installed === from) return forget(`${to} was not installed`);
  if (phase === "watching" && upgrade.tries >= maxWatches) {
    return { act: "accept", reason: "upgraded", detail: `${to} is kept: the network has been down too long to tell whether it is healthy` };
  }
  return { act: "activate", reason: "upgraded", detail: `${to} is installed; its health is being checked` };
}

function forget(detail: string): Decision {
  return { act: "forget", reason: "healed", detail };
}

function decideTarget(facts: Facts): Decision {
  const { endpoint, installed, forced } = facts;
  if (installed === undefined) return stay("not_configured", "the managed package is not installed");
  if (endpoint.kind === "failed") return stay(endpoint.reason, endpoint.detail);
  if (endpoint.held !== undefined && (!forced || endpoint.kind === "none")) return stay("held_by_rollout", endpoint.held);
  if (endpoint.kind === "none") return stay("not_wanted", endpoint.why ?? "the cluster wants no version at the moment");
  const target = parseVersion(endpoint.version);
  if (target === undefined)
    return stay("version_nonsense", `the version endpoint answered ${JSON.stringify(endpoint.version)}, which is not a version`);
  if (target.text === installed) return decideEqual(target.text, facts);
  return refusal(target.text, facts) ?? decideChange({ from: installed, to: target.text, critical: isCritical(facts) }, facts);
}

/** Versions that no proxy can order. An admin's `force` accepts an unsigned version, because a person decides, but not one that is too low. */
function refusal(to: string, { minimum, proof, forced }: Facts): Decision | undefined {
  const file = "/etc/platform-upgrade.d/minimum";
  if (minimum !== undefined && parseVersion(minimum) === undefined)
    return stay("not_configured", `${file} says ${JSON.stringify(minimum.slice(0, 64))}, which is not a version: nothing is installed`);
  if (minimum !== undefined && compareVersions(to, minimum) < 0)
    return stay("below_minimum", `the cluster wants ${to}, and this host accepts nothing below ${minimum} (${file})`);
  return proof?.kind === "refused" && !forced ? stay("not_signed", `${to} is not installed: ${proof.detail}`) : undefined;
}

/** Where the auth service has signed, its statement counts. */
function isCritical({ endpoint, proof }: Facts): boolean {
  if (proof?.kind === "signed") return proof.critical;
  return endpoint.kind === "version" && endpoint.critical && proof?.kind !== "refused";
}

/** The package has the wanted version; the process and the updater's own package may not. */
function decideEqual(version: string, facts: Facts): Decision {
  const { agent, updaterPackage, forced } = facts;
  if (agent.active && agent.version !== undefined && agent.version !== version) {
    return stay("restart_needed", `${version} is installed, but the running process is ${agent.version}: run systemctl reload platform`);
  }
  const may = forced || isCritical(facts) || windowAt(facts.schedule, facts.now).kind === "open";
  if (updaterPackage === undefined || updaterPackage === version) return stay("up_to_date", upToDate(version));
  const bad = badUpdater(version, facts);
  if (bad !== undefined) return stay("up_to_date", `${upToDate(version)}; ${bad}`);
  if (may && facts.updaterHold === undefined) {
    return { act: "follow", from: updaterPackage, to: version, reason: "up_to_date", detail: `the updater follows the agent to ${version}` };
  }
  return stay("up_to_date", upToDate(version));
}

function upToDate(version: string): string {
  return `${version} is the version that the cluster wants`;
}

/** Explains when the updater's own package did not run in this version. */
function badUpdater(version: string, { found, forced }: Facts): string | undefined {
  const bad = found.state.skip_updater?.find((one) => one.version === version);
  return bad === undefined || forced ? undefined : `its updater was rolled back on ${bad.since}: ${bad.why}`;
}

interface Change {
  readonly from: string;
  readonly to: string;
  readonly critical: boolean;
}

function decideChange(change: Change, facts: Facts): Decision {
  const { from, to } = change;
  if (facts.hold !== undefined) return stay("held_by_admin", `${facts.hold}; ${to} waits`);
  const bad = facts.found.state.skip.find(({ version }) => version === to);
  if (bad !== undefined && !facts.forced && !isChanged(bad, facts)) return knownBad(bad, facts);
  const waiting = change.critical || facts.forced ? undefined : (outsideWindow(to, facts) ?? manySessions(to, facts));
  if (waiting !== undefined) return waiting;
  if (facts.unknownHold !== undefined) return stay(facts.unknownHold.reason, facts.unknownHold.detail);
  return otherMajor(change, facts) ?? { act: "install", from, to, reason: "upgraded", detail: sentence(change, facts.forced, bad) };
}

/** The configuration that the version refused is another one now: it is judged again. */
function isChanged({ config }: SkippedVersion, { configuration }: Facts): boolean {
  return config !== undefined && configuration !== undefined && configuration !== config.stamp;
}

/** The version is skipped. An updater that went ahead to its major goes back to the agent's. */
function knownBad({ version: to, since, why, config }: SkippedVersion, facts: Facts): Decision {
  const detail = `${to} was rolled back on ${since}: ${why}${untilChanged(config)}`;
  const { installed = "", updater, updaterPackage, updaterHold, schedule, now } = facts;
  const apart = parseVersion(updater)?.major !== parseVersion(installed)?.major;
  if (!apart || updaterPackage === undefined || updaterPackage === installed) return stay("known_bad", detail);
  const besides = `the updater is ${updater}, of another major than the agent`;
  const hindrance = updaterHold ?? badUpdater(installed, facts);
  if (hindrance !== undefined) return stay("known_bad", `${detail}; ${besides}, and ${hindrance}`);
  if (windowAt(schedule, now).kind !== "open") return stay("known_bad", `${detail}; ${besides}: it goes back in the next maintenance window`);
  return { act: "follow", from: updaterPackage, to: installed, reason: "known_bad", detail: `${detail}; the updater goes back to ${installed}` };
}

function sentence({ from, to, critical }: Change, forced: boolean, bad: SkippedVersion | undefined): string {
  const what = compareVersions(to, from) < 0 ? "the cluster wants an older version" : "a newer version";
  const why = forced ? "an admin has forced it" : critical ? "it is critical" : "the maintenance window is open";
  const again = forced || bad?.config === undefined ? "" : `; it had refused the configuration, and ${bad.config.file} was changed`;
  return `${what}, ${to}, and ${why}${again}`;
}

function outsideWindow(to: string, { schedule, now }: Facts): Decision | undefined {
  const window = windowAt(schedule, now);
  const lost = schedule.unreadable > 0 ? ` (${schedule.unreadable} unreadable lines in the schedule)` : "";
  switch (window.kind) {
    case "open":
      return undefined;
    case "closed":
      return stay("outside_window", `${to} waits for the maintenance window of ${timeText(window.next)}${lost}`);
    case "past":
      return stay("stale_schedule", `${to} waits: the last maintenance window of the schedule ended at ${timeText(window.last)}${lost}`);
    case "none":
      return stay("no_schedule", `${to} waits: the agent has written no maintenance window yet${lost}`);
  }
}

function manySessions(to: string, { agent }: Facts): Decision | undefined {
  if (agent.draining < maxDraining) return undefined;
  return stay("waiting_for_sessions", `${to} waits: ${agent.draining} earlier processes still carry sessions`);
}

/** An updater only installs versions of its own major: another major may need steps that it does not know. So the updater is upgraded first. */
function otherMajor({ to }: Change, facts: Facts): Decision | undefined {
  const own = parseVersion(facts.updater);
  if (own !== undefined && own.major === parseVersion(to)?.major) return undefined;
  const { updaterPackage } = facts;
  const wants = `${to} needs an updater of its major; this one is ${facts.updater}`;
  if (updaterPackage === undefined) return stay("major_mismatch", `${wants}, and was not installed as a package`);
  if (facts.updaterHold !== undefined) return stay("major_mismatch", `${wants}, and ${facts.updaterHold}`);
  const bad = badUpdater(to, facts);
  if (bad !== undefined) return stay("major_mismatch", `${wants}, and ${bad}`);
  if (updaterPackage === to) return stay("major_mismatch", `${wants}, although its package is ${to}: another copy of it runs`);
  return {
    act: "follow",
    from: updaterPackage,
    to,
    reason: "major_mismatch",
    detail: `the updater moves to ${to} first; its next run upgrades the agent`,
  };
}

function stay(reason: UpgradeReason, detail: string): Decision {
  return { act: "stay", reason, detail };
}

/** Seconds as a readable time, for any number. */
export function timeText(seconds: number): string {
  const date = new Date(seconds * 1000);
  return Number.isNaN(date.getTime()) ? `second ${seconds}` : date.toISOString().replace(".000Z", "Z");
}
