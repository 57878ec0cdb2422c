import { PlatformError } from "../../../core/errors/platform-error.ts";
import { type UpgradeRollout, upgradeRolloutSchema } from "../../../core/resources/upgrade-rollout.ts";
import type { Storage } from "../../storage/storage.ts";
import type { AuditLog } from "../audit/audit-log.ts";
import { type Actor, documentKey, fromEntry, named, type PutMode, toPut } from "../document.ts";

const kind = "upgrade_rollout";
const name = "default";
const key = documentKey(kind, name);
const what = "upgrade_rollout default";

interface Deps {
  readonly storage: Storage;
  readonly audit: AuditLog;
  /** Checked after a change. */
  readonly rollouts: { look(): Promise<void> };
}

/** The cluster's upgrade_rollout, when there is one. */
export async function findRollout(storage: Storage): Promise<UpgradeRollout | undefined> {
  const entry = await storage.get(key);
  return entry === undefined ? undefined : fromEntry(upgradeRolloutSchema, entry);
}

export async function listRollouts({ storage }: Pick<Deps, "storage">): Promise<readonly UpgradeRollout[]> {
  const found = await findRollout(storage);
  return found === undefined ? [] : [found];
}

export async function getRollout({ storage }: Pick<Deps, "storage">, wanted: string): Promise<UpgradeRollout> {
  const found = wanted === name ? await findRollout(storage) : undefined;
  if (found !== undefined) return found;
  throw new PlatformError("not_found", `${kind} ${wanted} does not exist`, {
    hint: "create it with: tctl create <file>; until then every host upgrades in its own window",
  });
}

export async function putRollout(deps: Deps, rollout: UpgradeRollout, how: PutMode & { actor: Actor }): Promise<UpgradeRollout> {
  const entry = await named(what, deps.storage.put(toPut(rollout, how)));
  deps.audit.emit({ event: "rollout.updated", user: how.actor.name, name, "addr.remote": how.actor.address });
  await deps.rollouts.look();
  return fromEntry(upgradeRolloutSchema, entry);
}

/** The states of all channels are deleted with it. */
export async function deleteRollout(deps: Deps, wanted: string, actor: Actor): Promise<void> {
  await getRollout(deps, wanted);
  await named(what, deps.storage.delete(key));
  deps.audit.emit({ event: "rollout.deleted", user: actor.name, name, "addr.remote": actor.address });
  await deps.rollouts.look();
}
