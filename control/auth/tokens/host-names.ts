import { BlockList, isIP, isIPv6 } from "node:net";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { baseName, canonicalName, isServiceName } from "../../../core/identity/cluster-names.ts";
import type { HostRole } from "../../../core/resources/token.ts";

export interface HostNamesAsk {
  readonly role: HostRole;
  readonly hostname: string;
  /** Further names, from public addresses. */
  readonly names: readonly string[];
  readonly cluster: string;
  readonly others: OtherNames;
  /** The host name in its current certificate; left out: the host is joining. */
  readonly held?: string | undefined;
}

/** Names of others, as base names: names reached by the same target have the same base. */
export interface OtherNames {
  /** Public addresses that proxies announced, and the cluster itself. */
  readonly services: Pick<ReadonlySet<string>, "has">;
  /** Host names of proxies: one node, on the same machine, may share each of them. */
  readonly proxies: Pick<ReadonlySet<string>, "has">;
  /** Host names of nodes. */
  readonly nodes: Pick<ReadonlySet<string>, "has">;
  /** Further names of nodes → host names of those that have them. Without those that hosts share on purpose. */
  readonly more: Pick<ReadonlyMap<string, readonly string[]>, "get">;
}

export interface JudgedNames {
  /** The host name first. */
  readonly names: readonly string[];
  readonly refused: readonly PlatformError[];
}

const maxNames = 32;
const dnsName = /^(?=.{1,253}$)[A-Za-z0-9_]([A-Za-z0-9_-]{0,62}[A-Za-z0-9])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]{0,62}[A-Za-z0-9])?)*$/;
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/i;

/** Every machine's own addresses. */
const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addSubnet("0.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");
loopback.addAddress("::", "ipv6");

/** As `judgeHostNames`, for a joining host: throws the first refusal, `invalid` or `denied`. Pure. */
export function checkHostNames(ask: HostNamesAsk): readonly string[] {
  const { names, refused } = judgeHostNames(ask);
  if (refused[0] !== undefined) throw refused[0];
  return names;
}

/**
 * Names that a host may have in its certificates: its host name first, then the requested ones. This checks everything that the
 * certificates are good for. Names that could impersonate another host's id, a service or another host are refused: stock SSH clients
 * trust the name in a host certificate. Two joining nodes may share a host name, which makes it ambiguous for routing (a machine that was
 * reinstalled has its old name); a host that has joined cannot rename itself to a taken name, and keeps the old one.
 * Throws `invalid` for too many names. Pure.
 */
export function judgeHostNames(ask: HostNamesAsk): JudgedNames {
  const asked = [...new Set([ask.hostname, ...ask.names])];
  if (asked.length > maxNames) throw new PlatformError("invalid", `too many names for one host: ${asked.length}; the maximum is ${maxNames}`);
  const refused: PlatformError[] = [];
  const isGood = (name: string, hostname: string): boolean => {
    const refusal = refusalOf(name, { ...ask, hostname });
    if (refusal !== undefined) refused.push(refusal);
    return refusal === undefined;
  };
  const { held } = ask;
  const candidates = [ask.hostname, ...(held === undefined || held === ask.hostname ? [] : [held])];
  const own = candidates.find((name) => isGood(name, name));
  const names = ask.names.filter((name) => name !== ask.hostname && isGood(name, own ?? ""));
  return { names: [...new Set([...(own === undefined ? [] : [ownForm(own, ask)]), ...names.map(withoutDot)])], refused };
}

/** A node is named by the short form: `web-1` instead of `web-1.example.com`, but it has both. */
function ownForm(name: string, { role, cluster }: Pick<HostNamesAsk, "role" | "cluster">): string {
  const plain = withoutDot(name);
  return role === "node" && isBelow(plain, cluster) ? plain.slice(0, baseName(plain, cluster).length) : plain;
}

function isBelow(name: string, cluster: string): boolean {
  return baseName(name, cluster) !== canonicalName(name);
}

function withoutDot(name: string): string {
  return name.endsWith(".") ? name.slice(0, -1) : name;
}

function refusalOf(name: string, ask: HostNamesAsk): PlatformError | undefined {
  const shown = JSON.stringify(name.slice(0, 100));
  const plain = withoutDot(name);
  if (isIP(plain) === 0 && !dnsName.test(plain)) return new PlatformError("invalid", `${shown} is neither a DNS name nor an address`);
  if (isOurs(plain, ask.cluster)) {
    return new PlatformError("invalid", `${shown} is a name reserved for the platform`, { hint: "choose another host name or public address" });
  }
  const owner = ownerOf(plain, ask);
  if (owner === undefined) return undefined;
  return new PlatformError("denied", `${shown} is the name of ${owner}: a ${ask.role} cannot have it`, {
    hint: "choose another platform.nodename or public_addr; remove a host that is gone with: tctl nodes rm",
  });
}

/** Checks both the name and its longer form; where the longer form of every name is a service's, no certificate gets it. */
function isOurs(name: string, cluster: string): boolean {
  return uuid.test(name) || isServiceName(name) || (!isServiceName(cluster) && isServiceName(`${name}.${cluster}`));
}

/** The owner of this name, if the host named `hostname` may not have it. */
function ownerOf(name: string, ask: HostNamesAsk): string | undefined {
  const { role, hostname, cluster, others } = ask;
  const [base, own] = [baseName(name, cluster), baseName(hostname, cluster)];
  const isNode = role === "node";
  if (isNode && (isLoopback(name) || base === "localhost" || base === "localhost.localdomain")) return "every host for itself";
  if (isNode && others.services.has(base)) return "a proxy or of the cluster";
  if (others.more.get(base)?.some((holder) => holder !== own) === true) return "a node";
  const isTaken = others.nodes.has(base);
  if (base !== own) return isTaken ? "a node" : isNode && others.proxies.has(base) ? "a proxy" : undefined;
  return isNode ? ownerOfOwn(name, isTaken, ask) : undefined;
}

/** The same for the host name of a node. */
function ownerOfOwn(name: string, isTaken: boolean, ask: HostNamesAsk): string | undefined {
  const { cluster, others, held } = ask;
  const isProxys = others.proxies.has(baseName(name, cluster));
  if (held === undefined) return isTaken && isProxys ? "a proxy, and another node shares it" : undefined;
  if (canonicalName(held) === canonicalName(ownForm(name, ask))) return undefined;
  return isTaken ? "a node" : isProxys && baseName(held, cluster) !== baseName(name, cluster) ? "a proxy" : undefined;
}

function isLoopback(name: string): boolean {
  return isIP(name) !== 0 && loopback.check(name, isIPv6(name) ? "ipv6" : "ipv4");
}
