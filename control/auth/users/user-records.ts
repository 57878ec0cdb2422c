import { PlatformError } from "../../../core/errors/platform-error.ts";
import { type User, userSchema } from "../../../core/resources/user.ts";
import type { Actor } from "../actor.ts";
import type { AuthContext } from "../auth-context.ts";
import { documentKey, fromEntry, named, type PutMode, toPut } from "../documents/document.ts";
import { throttledSomewhere } from "../login/login-throttle.ts";
import { readCredential } from "./credentials.ts";
import { userIdWrite } from "./user-ids.ts";

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
