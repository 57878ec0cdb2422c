import { randomBytes } from "node:crypto";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { type User, userSchema } from "../../../core/resources/user.ts";
import type { Put, Storage } from "../../storage/storage.ts";
import type { AuthContext } from "../auth-context.ts";
import { type Actor, documentKey, fromEntry, named, type PutMode, toPut } from "../document.ts";
import { clearFailures, throttledSomewhere } from "../login/login-throttle.ts";
import { countPasskeys } from "../passkeys/stored-passkeys.ts";
import { readCredential } from "./credentials.ts";

type Stores = Pick<AuthContext, "storage">;

/** All users with their status. */
export async function listUsers({ storage }: Stores): Promise<readonly User[]> {
  const entries = await storage.list("/user/");
  return await Promise.all(entries.map((entry) => withStatus({ storage }, fromEntry(userSchema, entry))));
}

export async function findUser({ storage }: Stores, name: string): Promise<User | undefined> {
  const entry = await storage.get(documentKey("user", name));
  return entry === undefined ? undefined : fromEntry(userSchema, entry);
}

export async function getUser(stores: Stores, name: string): Promise<User> {
  const user = await findUser(stores, name);
  if (user === undefined) throw new PlatformError("not_found", `user ${name} does not exist`);
  return await withStatus(stores, user);
}

/** Throws `invalid` for a role that does not exist. Certificates that were already issued keep their roles until they expire. */
export async function putUser(context: AuthContext, user: User, how: PutMode & { actor: Actor }): Promise<User> {
  const name = user.metadata.name;
  const roles = await Promise.all(user.spec.roles.map(async (role) => ({ role, entry: await context.storage.get(documentKey("role", role)) })));
  const unknown = roles.filter(({ entry }) => entry === undefined).map(({ role }) => role);
  if (unknown.length > 0) {
    throw new PlatformError("invalid", `user ${name}: unknown role: ${unknown.join(", ")}`, { hint: "`tctl get role` lists the roles" });
  }
  const existed = (await findUser(context, name)) !== undefined;
  const put = toPut(user, how);
  // A new user has a unique id, and a changed user keeps it, even when users are added or removed meanwhile.
  const writes = existed
    ? [{ ...put, expect: put.expect ?? "present" } as const]
    : [{ ...put, expect: put.expect ?? "absent" } as const, userIdWrite(name)];
  const [entry] = await named(`user ${name}`, context.storage.batch(writes));
  if (entry === undefined) throw new Error(`user ${name} was not written`);
  context.audit.emit({
    event: existed ? "user.update" : "user.create",
    user: how.actor.name,
    name,
    roles: user.spec.roles,
    "addr.remote": how.actor.address,
  });
  return await withStatus(context, fromEntry(userSchema, entry));
}

async function withStatus({ storage }: Stores, user: User): Promise<User> {
  const name = user.metadata.name;
  const locked = await throttledSomewhere(storage, name);
  if (locked !== undefined) return { ...user, status: { state: "locked", locked_until: locked.toISOString() } };
  const stored = await readCredential(storage, name);
  return { ...user, status: { state: stored?.credential.password === undefined ? "invited" : "active" } };
}

/** Number of passkeys of each of these users who has some. */
export async function passkeysOf({ storage }: Stores, names: readonly string[]): Promise<Readonly<Record<string, number>>> {
  const counts = names.map(async (name) => [name, await countPasskeys(storage, name, await readUserId(storage, name))] as const);
  return Object.fromEntries((await Promise.all(counts)).filter(([, count]) => count > 0));
}

/** Clears the failed logins of a user; password and code stay. Returns whether any address was locked out. Throws `not_found`. */
export async function unlockUser(context: AuthContext, { user, actor }: { user: string; actor: Actor }): Promise<boolean> {
  if ((await findUser(context, user)) === undefined)
    throw new PlatformError("not_found", `user ${user} does not exist`, { hint: "tctl users ls lists the users" });
  const locked = await throttledSomewhere(context.storage, user);
  await context.storage.batch(await clearFailures(context.storage, user));
  context.audit.emit({ event: "user.unlocked", user: actor.name, name: user, "addr.remote": actor.address });
  return locked !== undefined;
}

/**
 * A user's id is in the user's certificates: a user added under the name of a removed one is another user. It is stored apart from the
 * user's record, whose schema the previous version must be able to read. A user of an older version has none.
 */
export function userIdKey(name: string): string {
  return `/user_id/${encodeURIComponent(name)}`;
}

export function newUserId(): string {
  return randomBytes(16).toString("hex");
}

function userIdWrite(name: string): Put {
  return { key: userIdKey(name), value: newUserId() };
}

export async function readUserId(storage: Storage, name: string): Promise<string | undefined> {
  return (await storage.get(userIdKey(name)))?.value;
}
