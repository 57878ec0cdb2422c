import { PlatformError } from "../../../core/errors/platform-error.ts";
import { markerRole, type WantedAccount } from "./account-server.ts";

/** Bounds of names at a kind of server. */
export interface NameRules {
  /** Names the kind in errors. */
  readonly server: string;
  /** Why a text cannot be the name of an account or a role there; undefined: it can. */
  readonly fault: (name: string) => string | undefined;
}

/** Refuses an account whose name this server would change or that is its admin's, and roles that would make it an admin. Throws `denied`. Pure. */
export function checkAccount({ name, roles }: WantedAccount, { server, fault }: NameRules, adminUser: string): void {
  const why = faultOf(name, fault, adminUser);
  if (why !== undefined) {
    throw new PlatformError("denied", `the user name ${JSON.stringify(name)} cannot be the name of an account of ${server}: ${why}`, {
      hint: "a user with another name can be given access, or an account that is there, by db_users and create_db_user_mode: off",
    });
  }
  for (const role of roles) {
    const reason = faultOf(role, fault, adminUser);
    if (reason === undefined) continue;
    throw new PlatformError("denied", `the role ${JSON.stringify(role)} at the server cannot be granted: ${reason}`, {
      hint: "correct db_roles in the roles of the platform",
    });
  }
}

function faultOf(name: string, fault: NameRules["fault"], adminUser: string): string | undefined {
  const own = [adminUser, markerRole].map((one) => one.toLowerCase());
  if (own.includes(name.toLowerCase())) return "it belongs to the agents";
  return fault(name);
}

/** The refusal of an account that somebody else has made. */
export function foreignAccount(name: string): PlatformError {
  return new PlatformError("denied", `the account ${name} is at the server already, and no agent has made it`, {
    hint: "an admin of the server can drop or rename it; or use it with db_users and create_db_user_mode: off",
  });
}
