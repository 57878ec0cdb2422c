import { isIP } from "node:net";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { HostRole } from "../../../core/resources/token.ts";

export interface HostNamesAsk {
  readonly role: HostRole;
  readonly hostname: string;
  /** More names, from public addresses. */
  readonly names: readonly string[];
  readonly cluster: string;
  /** What other hosts are called, in lower case. */
  readonly others: OtherNames;
}

export interface OtherNames {
  /** Public addresses that proxies announced. */
  readonly proxies: ReadonlySet<string>;
  /** Host names of nodes, and those names below the cluster's. */
  readonly nodes: ReadonlySet<string>;
}

const maxNames = 32;
const dnsName = /^(?=.{1,253}$)[A-Za-z0-9_]([A-Za-z0-9_-]{0,62}[A-Za-z0-9])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]{0,62}[A-Za-z0-9])?)*$/;
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/i;
const loopback = /^(localhost(\.localdomain)?|127(\.\d+){3}|::1)$/;

/**
 * Names that a host may have in its certificates: its host name first, then those it asked for. What could pass for another
 * host's id, for a role's name or for a name that the service adds itself is refused. So are names of other hosts: stock SSH
 * clients go by the name in a host certificate. Two nodes may share a host name, which makes it ambiguous for routing; a
 * proxy may have any other name, also below the cluster's. Throws `invalid` or `denied`. Pure.
 */
export function checkHostNames(ask: HostNamesAsk): readonly string[] {
  const names = [...new Set([ask.hostname, ...ask.names])];
  if (names.length > maxNames) throw new PlatformError("invalid", `${names.length} names for one host; ${maxNames} are allowed`);
  for (const name of names) {
    const shown = JSON.stringify(name.slice(0, 100));
    if (isIP(name) === 0 && !dnsName.test(name)) throw new PlatformError("invalid", `${shown} is neither a DNS name nor an address`);
    if (isOurs(name, ask)) {
      throw new PlatformError("invalid", `${shown} is a name that the platform gives itself`, { hint: "choose another host name or public address" });
    }
    const owner = ownerOf(name.toLowerCase(), ask);
    if (owner !== undefined) {
      throw new PlatformError("denied", `${shown} is the name of ${owner}: a ${ask.role} cannot have it`, {
        hint: "choose another platform.nodename or public_addr; a host that is gone is removed with: tctl nodes rm",
      });
    }
  }
  return names;
}

function isOurs(name: string, { role, hostname, cluster }: HostNamesAsk): boolean {
  const lower = name.toLowerCase();
  if (uuid.test(name) || lower.endsWith(".platform.internal")) return true;
  return role === "node" && name !== hostname && lower.endsWith(`.${cluster.toLowerCase()}`);
}

/** Whose name this is, when the host may not have it. */
function ownerOf(lower: string, { role, hostname, cluster, others }: HostNamesAsk): string | undefined {
  const own = hostname.toLowerCase();
  if (role === "node") {
    if (loopback.test(lower)) return "every host for itself";
    if (others.proxies.has(lower)) return "a proxy";
  }
  const isOwn = lower === own || lower === `${own}.${cluster.toLowerCase()}`;
  return !isOwn && others.nodes.has(lower) ? "a node" : undefined;
}
