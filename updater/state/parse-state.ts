import { type UpgradeReason, upgradeReasons } from "../../core/versions/upgrade-reason.ts";

/** State of the agent before an upgrade: it must not be worse afterwards. `silent`: started by systemd, but without an answer. */
export type AgentBefore = "stopped" | "silent" | "answering" | "ready";

/**
 * An upgrade that has begun. `installing`: the package may be in any condition; `watching`: it is `to`, but the agent has not been
 * seen healthy; `rolling_back`: `from` must be installed again; `following`: as `installing`, for the updater's own package.
 */
export interface UpgradeInProgress {
  readonly phase: "installing" | "watching" | "rolling_back" | "following";
  readonly from: string;
  readonly to: string;
  /** RFC 3339. */
  readonly started: string;
  /** Kernel's id of the boot in which it began. */
  readonly boot: string;
  readonly before: AgentBefore;
  /** Runs that have worked on this phase. */
  readonly tries: number;
  /** Why it is rolled back. */
  readonly why?: string;
  /** Set when the new process refused its configuration. */
  readonly config?: RefusedConfiguration;
}

/** A configuration that a version refused: another one may suit it. */
export interface RefusedConfiguration {
  /** What people have to change, in words: a path. */
  readonly file: string;
  /** Stamp of its state when it was refused; empty for a file that was not there. Another one is another attempt. */
  readonly stamp: string;
}

/** End of a sentence about a version: when it is tried again, if it refused its configuration. */
export function untilChanged(config: RefusedConfiguration | undefined): string {
  return config === undefined ? "" : `; it is tried again once ${config.file} is changed`;
}

/** A version that was rolled back here. */
export interface SkippedVersion {
  readonly version: string;
  /** RFC 3339. */
  readonly since: string;
  readonly why: string;
  /** Set if it is skipped only as long as this configuration is not changed. */
  readonly config?: RefusedConfiguration;
}

/** /var/lib/platform-upgrade/state; the names are those of the file, which the agent reads too. */
export interface UpdaterState {
  readonly updater_version?: string;
  readonly host_id?: string;
  /** Path of the agent's configuration file, as it last reported it. */
  readonly config_file?: string;
  readonly channel?: string;
  readonly current?: string;
  readonly target?: string;
  readonly reason?: UpgradeReason;
  readonly detail?: string;
  /** Time of the auth service's last accepted statement, Unix seconds; omitted if none was seen. */
  readonly signed_at?: number;
  /** When the last run ended, RFC 3339. */
  readonly at?: string;
  readonly upgrade?: UpgradeInProgress;
  readonly skip: readonly SkippedVersion[];
  /** Versions of the updater's own package that did not run here; omitted for none. */
  readonly skip_updater?: readonly SkippedVersion[];
}

const maxSkipped = 20;
/** Longest text, characters. */
export const maxText = 500;
const phases = ["installing", "watching", "rolling_back", "following"] as const;
const befores = ["stopped", "silent", "answering", "ready"] as const;

/**
 * Contents of a state file; undefined if it is invalid, or has an unknown kind of upgrade in progress. Any other field that
 * is invalid is left out: a newer or older updater may have written it. Never throws.
 */
export function parseState(text: string): UpdaterState | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isRecord(value)) return undefined;
  const upgrade = value.upgrade === undefined ? undefined : parseUpgrade(value.upgrade);
  if (value.upgrade !== undefined && upgrade === undefined) return undefined;
  const reason = shortText(value.reason);
  return {
    ...texts(value, ["updater_version", "host_id", "config_file", "channel", "current", "target", "detail", "at"]),
    ...(reason !== undefined && isReason(reason) && { reason }),
    ...(typeof value.signed_at === "number" && Number.isSafeInteger(value.signed_at) && { signed_at: value.signed_at }),
    ...(upgrade !== undefined && { upgrade }),
    skip: skippedOf(value.skip),
    ...(Array.isArray(value.skip_updater) && value.skip_updater.length > 0 && { skip_updater: skippedOf(value.skip_updater) }),
  };
}

/** The list with one more, without duplicates; drops the oldest when it is full. */
export function addSkipped(skip: readonly SkippedVersion[], added: SkippedVersion): SkippedVersion[] {
  return [...withoutSkipped(skip, added.version), { ...added, why: added.why.slice(0, maxText) }].slice(-maxSkipped);
}

export function withoutSkipped(skip: readonly SkippedVersion[], version: string): SkippedVersion[] {
  return skip.filter((one) => one.version !== version);
}

function parseUpgrade(value: unknown): UpgradeInProgress | undefined {
  if (!isRecord(value)) return undefined;
  const phase = phases.find((one) => one === value.phase);
  const before = befores.find((one) => one === value.before);
  const [from, to, started] = [shortText(value.from), shortText(value.to), shortText(value.started)];
  if (phase === undefined || before === undefined || from === undefined || to === undefined || started === undefined) return undefined;
  const tries = typeof value.tries === "number" && Number.isSafeInteger(value.tries) && value.tries >= 0 ? value.tries : 0;
  const why = typeof value.why === "string" ? { why: value.why.slice(0, maxText) } : {};
  return { phase, from, to, started, boot: shortText(value.boot) ?? "", before, tries, ...why, ...refusedOf(value) };
}

/** The entries of a list that are well-formed. */
export function skippedOf(value: unknown): SkippedVersion[] {
  return Array.isArray(value) ? value.flatMap(parseSkipped).slice(-maxSkipped) : [];
}

function parseSkipped(value: unknown): SkippedVersion[] {
  if (!isRecord(value)) return [];
  const [version, since] = [shortText(value.version), shortText(value.since)];
  if (version === undefined || version === "" || since === undefined) return [];
  return [{ version, since, why: typeof value.why === "string" ? value.why.slice(0, maxText) : "", ...refusedOf(value) }];
}

function refusedOf({ config }: Record<string, unknown>): { config?: RefusedConfiguration } {
  if (!isRecord(config)) return {};
  const [file, stamp] = [config.file, shortText(config.stamp)];
  return typeof file === "string" && file.length <= maxText && stamp !== undefined ? { config: { file, stamp } } : {};
}

function texts<Name extends string>(value: Record<string, unknown>, names: readonly Name[]): Partial<Record<Name, string>> {
  const found: Partial<Record<Name, string>> = {};
  for (const name of names) {
    const text = value[name];
    if (typeof text === "string") found[name] = text.slice(0, maxText);
  }
  return found;
}

/** A short text: a version, a time, an id. */
function shortText(value: unknown): string | undefined {
  return typeof value === "string" && value.length <= 80 ? value : undefined;
}

function isReason(text: string): text is UpgradeReason {
  return Object.hasOwn(upgradeReasons, text);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
