import type { UpgradeReason } from "../../../core/versions/upgrade-reason.ts";
import { jsonOf, objectOf, textOf } from "../cluster/json-value.ts";

/** Result of a run, as the annotation `platform.dev/update-status` shows it to people and to the agents, which report it to the inventory. */
export interface UpdateStatus {
  readonly reason: UpgradeReason;
  readonly detail: string;
  readonly current?: string;
  readonly target?: string;
  readonly channel: string;
  readonly updater_version: string;
  /** RFC 3339. */
  readonly at: string;
}

const maxDetail = 500;
/** Age at which an unchanged status is written again, so that a silent updater differs from one without news, ms. */
const refreshMs = 25 * 60_000;

export function encodeStatus(status: UpdateStatus): string {
  return JSON.stringify({ ...status, detail: status.detail.slice(0, maxDetail) });
}

/** Whether the status must be written over the annotation: it says something else, or is old. Pure. */
export function isNews(status: UpdateStatus, annotation: string | undefined): boolean {
  const before = objectOf(jsonOf(annotation ?? ""));
  const at = Date.parse(textOf(before.at));
  if (Number.isNaN(at) || Math.abs(Date.parse(status.at) - at) >= refreshMs) return true;
  return isOther(status, annotation);
}

/** Whether the reason or the versions are others than the annotation's: then people are notified by an Event. Pure. */
export function isOtherResult(status: UpdateStatus, annotation: string | undefined): boolean {
  const before = objectOf(jsonOf(annotation ?? ""));
  return before.reason !== status.reason || before.target !== status.target || before.current !== status.current;
}

function isOther(status: UpdateStatus, annotation: string | undefined): boolean {
  const { at: _, ...before } = objectOf(jsonOf(annotation ?? ""));
  const { at: __, ...now } = objectOf(jsonOf(encodeStatus(status)));
  return JSON.stringify(before) !== JSON.stringify(now);
}
