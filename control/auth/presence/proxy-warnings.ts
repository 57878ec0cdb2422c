import { maxAgentProxies, type ProxyState } from "../../../core/resources/proxy.ts";
import type { AuthContext } from "../auth-context.ts";
import { proxyLeaseMs, proxyStates } from "../inventory/cluster-proxies.ts";

/** Proxies and hosts have this long to meet before a missing tunnel is worth a warning, ms. */
const settleMs = 90_000;
/** Hosts named in a warning. */
const named = 5;

export interface ProxyFacts {
  readonly states: readonly ProxyState[];
  /** Hosts with a tunnel: since when they are connected, ms, and the ids of the proxies. */
  readonly hosts: readonly { readonly hostname: string; readonly since: number; readonly proxies: readonly string[] }[];
  readonly now: number;
}

/** What an admin should know of several proxies, a sentence each. Pure. */
export function proxyWarnings({ states, hosts, now }: ProxyFacts): readonly string[] {
  const lost = states
    .filter(({ connected }) => !connected)
    .map(
      ({ name, addr }) =>
        `proxy ${name} (${addr}) is not connected to the auth service; start it, or forget it with tctl nodes rm; by itself it goes off the agents' list ${proxyLeaseMs / 60_000} minutes after it was lost`,
    );
  if (states.length > maxAgentProxies) {
    return [
      ...lost,
      `the cluster has ${states.length} proxies, and an agent keeps tunnels to at most ${maxAgentProxies}: a host is reached only through the proxies that it chose; see tctl nodes ls`,
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
    `${missing.length} ${are} no tunnel to proxy ${name} (${addr}), so ${have} not reached through it: ${names}${more}; run platform doctor there, and see public_addr of that proxy`,
  ];
}

/** The facts for the warnings, as of now. */
export async function proxyFacts(context: Pick<AuthContext, "storage" | "live" | "proxies" | "now">): Promise<ProxyFacts> {
  const states = await proxyStates(context);
  const tunnelled = [...context.live.all()].filter(([, node]) => node.connected && node.isDialled !== true);
  const hosts = tunnelled.map(([, { hostname, since, proxies }]) => ({ hostname, since: since.getTime(), proxies }));
  return { states, hosts, now: context.now().getTime() };
}
