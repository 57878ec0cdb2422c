import { PlatformError } from "../../../core/errors/platform-error.ts";
import { type Maintenance, maintenanceName, maintenanceSchema } from "../../../core/resources/maintenance.ts";
import { nextWindows } from "../../../core/resources/maintenance-windows.ts";
import { encodeSchedule } from "../../../core/versions/upgrade-schedule.ts";
import type { Storage } from "../../storage/storage.ts";
import type { AuditLog } from "../audit/audit-log.ts";
import { type Actor, documentKey, fromEntry, named, type PutMode, toPut } from "../document.ts";

/** Prefix of its storage keys. */
export const maintenancePrefix = "/cluster_maintenance_config/";

const key = documentKey("cluster_maintenance_config", maintenanceName);

const what = "the maintenance window";

interface Deps {
  readonly storage: Storage;
  readonly audit: AuditLog;
}

/** The cluster's maintenance configuration, when there is one. */
export async function findMaintenance(storage: Storage): Promise<Maintenance | undefined> {
  const entry = await storage.get(key);
  return entry === undefined ? undefined : fromEntry(maintenanceSchema, entry);
}

export async function listMaintenance({ storage }: Pick<Deps, "storage">): Promise<readonly Maintenance[]> {
  const found = await findMaintenance(storage);
  return found === undefined ? [] : [found];
}

export async function getMaintenance({ storage }: Pick<Deps, "storage">, name: string): Promise<Maintenance> {
  const found = name === maintenanceName ? await findMaintenance(storage) : undefined;
  if (found !== undefined) return found;
  throw new PlatformError("not_found", `cluster_maintenance_config ${name} does not exist`, {
    hint: "create it with: tctl create <file>; until then agents are upgraded only when a version is critical",
  });
}

export async function putMaintenance(deps: Deps, config: Maintenance, how: PutMode & { actor: Actor }): Promise<Maintenance> {
  const entry = await named(what, deps.storage.put(toPut(config, how)));
  deps.audit.emit({ event: "maintenance.updated", user: how.actor.name, name: maintenanceName, "addr.remote": how.actor.address });
  return fromEntry(maintenanceSchema, entry);
}

export async function deleteMaintenance(deps: Deps, name: string, actor: Actor): Promise<void> {
  await getMaintenance(deps, name);
  await named(what, deps.storage.delete(key));
  deps.audit.emit({ event: "maintenance.deleted", user: actor.name, name: maintenanceName, "addr.remote": actor.address });
}

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

export async function exportWindows({ storage, now }: { readonly storage: Storage; readonly now: () => Date }): Promise<ExportedWindows> {
  const config = await findMaintenance(storage);
  if (config === undefined) return { configured: false, systemdSchedule: "", kubeSchedule: "", revision: "" };
  const windows = nextWindows(config, now());
  const rfc3339 = (seconds: number): string => new Date(seconds * 1000).toISOString().replace(".000Z", "Z");
  const kube = { windows: windows.map(({ start, stop }) => ({ start: rfc3339(start), stop: rfc3339(stop) })) };
  const revision = config.metadata.revision ?? "";
  return { configured: true, systemdSchedule: encodeSchedule(windows), kubeSchedule: JSON.stringify(kube), revision };
}
