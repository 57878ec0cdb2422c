import { PlatformError } from "../../../core/errors/platform-error.ts";
import { type Maintenance, maintenanceName, maintenanceSchema } from "../../../core/resources/maintenance.ts";
import type { Storage } from "../../storage/storage.ts";
import type { Actor } from "../actor.ts";
import type { AuditLog } from "../audit/audit-log.ts";
import { documentKey, fromEntry, named, type PutMode, toPut } from "../documents/document.ts";

const key = documentKey("cluster_maintenance_config", maintenanceName);
/** Prefix of its storage keys. */
export const maintenancePrefix = "/cluster_maintenance_config/";
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
