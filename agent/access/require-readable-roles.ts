import { PlatformError } from "../../core/errors/platform-error.ts";
import type { UserIdentity } from "../../core/identity/identity.ts";
import type { Access } from "./access-source.ts";

/** Throws `denied` when the user has a role that this agent cannot read: it may deny what is asked for. Pure. */
export function requireReadableRoles({ roles }: Pick<UserIdentity, "roles">, { unreadable }: Pick<Access, "unreadable">, hostname: string): void {
  const role = roles.find((one) => unreadable.includes(one));
  if (role === undefined) return;
  throw new PlatformError("denied", `access denied: the agent on ${hostname} is too old to read role ${role}`, { hint: "upgrade the agent" });
}
