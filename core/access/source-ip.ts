import { PlatformError } from "../errors/platform-error.ts";
import type { UserIdentity } from "../identity/identity.ts";
import type { Role } from "../resources/role.ts";

/** Whether certificates of users with these roles are bound to the address of the login: one such role is enough. Pure. */
export function pinsSourceIp(roles: readonly Role[]): boolean {
  return roles.some(({ spec }) => spec.options?.pin_source_ip === true);
}

/**
 * Why a client at this address (empty or omitted when not known) may not use the identity. A role that binds certificates counts
 * at once: a certificate issued before without an address is refused. Pure.
 */
export function refuseSourceIp(identity: UserIdentity, roles: readonly Role[], clientIp: string | undefined): PlatformError | undefined {
  const { name, sourceIp } = identity;
  const hint = "log in from here with: tsh login";
  if (sourceIp === undefined) {
    if (!pinsSourceIp(roles)) return undefined;
    return new PlatformError("denied", `access denied: a role binds certificates of ${name} to an address (pin_source_ip), and this one has none`, {
      hint,
    });
  }
  if (sourceIp === clientIp) return undefined;
  const from = clientIp === undefined || clientIp === "" ? "the client's is not known here" : `the client is at ${clientIp}`;
  return new PlatformError("denied", `access denied: the certificate of ${name} is bound to the address ${sourceIp}, and ${from} (pin_source_ip)`, {
    hint,
  });
}
