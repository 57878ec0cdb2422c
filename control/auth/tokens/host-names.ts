import { isIP } from "node:net";
import { PlatformError } from "../../../core/errors/platform-error.ts";

const maxNames = 32;
const dnsName = /^(?=.{1,253}$)[A-Za-z0-9_]([A-Za-z0-9_-]{0,62}[A-Za-z0-9])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]{0,62}[A-Za-z0-9])?)*$/;
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/i;

/**
 * Names that a host may have in its certificates: its host name first, then those it asked for. What could pass for another
 * host's id, for a role's name or for a name that the service adds itself is refused. Throws `invalid`.
 */
export function checkHostNames(facts: { hostname: string; names: readonly string[]; cluster: string }): readonly string[] {
  const names = [...new Set([facts.hostname, ...facts.names])];
  if (names.length > maxNames) throw new PlatformError("invalid", `${names.length} names for one host; ${maxNames} are allowed`);
  for (const name of names) {
    const lower = name.toLowerCase();
    const shown = JSON.stringify(name.slice(0, 100));
    if (isIP(name) === 0 && !dnsName.test(name)) throw new PlatformError("invalid", `${shown} is neither a DNS name nor an address`);
    if (uuid.test(name) || lower.endsWith(".platform.internal") || (lower.endsWith(`.${facts.cluster.toLowerCase()}`) && name !== facts.hostname)) {
      throw new PlatformError("invalid", `${shown} is a name that the platform gives itself`, { hint: "choose another host name or public address" });
    }
  }
  return names;
}
