import type { Write } from "../../storage/storage.ts";
import { auditLock, removalLock } from "../access/locks.ts";
import type { AuthContext } from "../auth-context.ts";
import { allSessionRemovals } from "../browser-sessions/stored-session.ts";
import { machineTtl } from "../certificates/user-identity.ts";
import { type Actor, documentKey, named } from "../document.ts";
import { clearFailures } from "../login/login-throttle.ts";
import { allPasskeyRemovals } from "../passkeys/stored-passkeys.ts";
import { credentialKey, readCredential } from "./credentials.ts";
import { inviteKey } from "./invites.ts";
import { newUserId, readUserId, userIdKey } from "./users.ts";

/** Allowance for slow clocks of hosts: the lock outlives every certificate there too, ms. */
const spareMs = 24 * 3_600_000;

/**
 * Removes the user with password, code, passkeys and open invite, and locks out all of the user's certificates: the only way to do so. A user
 * added under the same name later is another user. Returns its side effects, a sentence each.
 */
export async function removeUser(context: AuthContext, name: string, actor: Actor): Promise<readonly string[]> {
  const { storage } = context;
  const invite = (await readCredential(storage, name))?.credential.invite;
  const expires = new Date(context.now().getTime() + machineTtl.ever * 1000 + spareMs);
  const id = (await readUserId(storage, name)) ?? newUserId();
  const { lock, write } = removalLock(context, { user: name, id, expires, by: actor.name });
  const writes: Write[] = [{ key: documentKey("user", name), expect: "present" }, { key: credentialKey(name) }, { key: userIdKey(name) }, write];
  writes.push(
    ...(await clearFailures(storage, name, true)),
    ...(await allSessionRemovals(storage, name)),
    ...(await allPasskeyRemovals(storage, name)),
  );
  if (invite !== undefined) writes.push({ key: inviteKey(invite) });
  await named(`user ${name}`, storage.batch(writes));
  context.audit.emit({ event: "user.delete", user: actor.name, name, "addr.remote": actor.address });
  auditLock(context, lock, actor);
  return [
    `Sessions of ${name} end now, and all certificates of ${name} are refused from now on: lock ${lock.metadata.name}, until none of them can still be valid (${lock.spec.expires}).`,
    `A user added as ${name} from now on is another user.`,
  ];
}
