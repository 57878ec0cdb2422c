import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { Actor } from "../actor.ts";
import type { AuthContext } from "../auth-context.ts";
import { clearFailures, throttledSomewhere } from "../login/login-throttle.ts";
import { findUser } from "./user-records.ts";

/** Clears the failed logins of a user; password and code stay. Returns whether any address was locked out. Throws `not_found`. */
export async function unlockUser(context: AuthContext, { user, actor }: { user: string; actor: Actor }): Promise<boolean> {
  if ((await findUser(context, user)) === undefined)
    throw new PlatformError("not_found", `user ${user} does not exist`, { hint: "tctl users ls lists the users" });
  const locked = await throttledSomewhere(context.storage, user);
  await context.storage.batch(await clearFailures(context.storage, user));
  context.audit.emit({ event: "user.unlocked", user: actor.name, name: user, "addr.remote": actor.address });
  return locked !== undefined;
}
