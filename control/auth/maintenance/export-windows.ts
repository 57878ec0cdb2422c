import { encodeSchedule } from "../../../core/versions/upgrade-schedule.ts";
import type { AuthContext } from "../auth-context.ts";
import { findMaintenance } from "./maintenance.ts";
import { nextWindows } from "./next-windows.ts";

/** The maintenance windows in the formats of the updaters. */
export interface ExportedWindows {
  /** False: the cluster has no maintenance configuration. */
  readonly configured: boolean;
  readonly systemdSchedule: string;
  /** `{"windows":[{"start":RFC 3339,"stop":RFC 3339}]}`. */
  readonly kubeSchedule: string;
  /** Revision of the configuration; empty: there is none. */
  readonly revision: string;
}

export async function exportWindows({ storage, now }: Pick<AuthContext, "storage" | "now">): Promise<ExportedWindows> {
  const config = await findMaintenance(storage);
  if (config === undefined) return { configured: false, systemdSchedule: "", kubeSchedule: "", revision: "" };
  const windows = nextWindows(config, now());
  const rfc3339 = (seconds: number): string => new Date(seconds * 1000).toISOString().replace(".000Z", "Z");
  const kube = { windows: windows.map(({ start, stop }) => ({ start: rfc3339(start), stop: rfc3339(stop) })) };
  const revision = config.metadata.revision ?? "";
  return { configured: true, systemdSchedule: encodeSchedule(windows), kubeSchedule: JSON.stringify(kube), revision };
}
