import { PlatformError } from "../../../core/errors/platform-error.ts";
import { type UpgradeRollout, upgradeRolloutSchema } from "../../../core/resources/upgrade-rollout.ts";
import type { Storage } from "../../storage/storage.ts";
import type { Actor, AuthContext } from "../auth-context.ts";
import { documentKey, fromEntry, named, type PutMode, toPut } from "../documents/document.ts";

const kind = "upgrade_rollout";
const name = "default";
const key = documentKey(kind, name);
const what = "upgrade_rollout default";

/** The cluster's upgrade_rollout, when there is one. */
export async function findRollout(storage: Storage): Promise<UpgradeRollout | undefined> {
  const entry = await storage.get(key);
  return entry === undefined ? undefined : fromEntry(upgradeRolloutSchema, entry);
}

export async function listRollouts({ storage }: Pick<AuthContext, "storage">): Promise<readonly UpgradeRollout[]> {
  const found = await findRollout(storage);
  return found === undefined ? [] : [found];
}

export async function getRollout({ storage }: Pick<AuthContext, "storage">, wanted: string): Promise<UpgradeRollout> {
  const found = wanted === name ? await findRollout(storage) : undefined;
  if (found !== undefined) return found;
  throw new PlatformError("not_found", `${kind} ${wanted} does not exist`, {
    hint: "create it with: tctl create <file>; until then every host is upgraded in its own window",
  });
}

export async function putRollout(context: AuthContext, rollout: UpgradeRollout, how: PutMode & { actor: Actor }): Promise<UpgradeRollout> {
  const entry = await named(what, context.storage.put(toPut(rollout, how)));
  context.audit.emit({ event: "rollout.updated", user: how.actor.name, name, "addr.remote": how.actor.address });
  await context.rollouts.look();
  return fromEntry(upgradeRolloutSchema, entry);
}

/** The states of all channels go with it. */
export async function deleteRollout(context: AuthContext, wanted: string, actor: Actor): Promise<void> {
  await getRollout(context, wanted);
  await named(what, context.storage.delete(key));
  context.audit.emit({ event: "rollout.deleted", user: actor.name, name, "addr.remote": actor.address });
  await context.rollouts.look();
}
