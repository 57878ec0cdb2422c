import { maxAgentProxies, type ProxyState } from "../../../core/resources/proxy.ts";
import type { AuthContext } from "../auth-context.ts";
import { proxyLeaseMs, proxyStates } from "../inventory/cluster-proxies.ts";

/** Time before a missing tunnel causes a warning, ms. */
const settleMs = 90_000;
/** Maximum number of hosts in a warning. */
const named = 5;

export interface ProxyFacts {
  readonly states: readonly ProxyState[];
  /** Hosts with a tunnel: the time since when they are connected, ms, and the ids of the proxies. */
  readonly hosts: readonly { readonly hostname: string; readonly since: number; readonly proxies: readonly string[] }[];
  readonly now: number;
}

/** Warnings for an admin of several proxies, a sentence each. Pure. */
export function proxyWarnings({ states, hosts, now }: ProxyFacts): readonly string[] {
  const lost = states
    .filter(({ connected }) => !connected)
    .map(
      ({ name, addr }) =>
        `proxy ${name} (${addr}) is not connected to the auth service; start it, or remove it with tctl nodes rm; it leaves the agents' list ${proxyLeaseMs / 60_000} minutes after it was lost`,
    );
  if (states.length > maxAgentProxies) {
    return [
      ...lost,
      `the cluster has ${states.length} proxies, and an agent keeps tunnels to at most ${maxAgentProxies}: a host is reachable only through the proxies that it chose; see tctl nodes ls`,
    ];
  }
  const settled = states.filter(({ connected, since }) => connected && now - Date.parse(since) >= settleMs);
  const settledHosts = hosts.filter(({ since }) => now - since >= settleMs);
  return [...lost, ...settled.flatMap((proxy) => missingWarning(proxy, settledHosts))];
}

function missingWarning({ id, name, addr }: ProxyState, hosts: ProxyFacts["hosts"]): readonly string[] {
  const missing = hosts.filter(({ proxies }) => !proxies.includes(id)).map(({ hostname }) => hostname);
  if (missing.length === 0) return [];
  const names = missing.toSorted().slice(0, named).join(", ");
  const more = missing.length > named ? ` and ${missing.length - named} more` : "";
  const [are, have] = missing.length === 1 ? ["host has", "it is"] : ["hosts have", "they are"];
  return [
    `${missing.length} ${are} no tunnel to proxy ${name} (${addr}), so ${have} not reachable through it: ${names}${more}; run platform doctor there, and see public_addr of that proxy`,
  ];
}

/** The current facts for the warnings. */
export async function proxyFacts(context: Pick<AuthContext, "storage" | "live" | "proxies" | "now">): Promise<ProxyFacts> {
  const states = await proxyStates(context);
  const tunnelled = [...context.live.all()].filter(([, node]) => node.connected && node.isDialled !== true);
  const hosts = tunnelled.map(([, { hostname, since, proxies }]) => ({ hostname, since: since.getTime(), proxies }));
  return { states, hosts, now: context.now().getTime() };
}
