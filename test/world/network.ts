import { mkdir, rm, writeFile } from "node:fs/promises";
import { output } from "./program.ts";

/**
 * The firewalled world, in network namespaces of its own:
 *
 *   control (c)  <-- veth -->  proxy host (p)  <-- veth -->  agent host (a)
 *
 * Routing from a to c exists; only a's own firewall forbids it: it lets out nothing but TCP to the proxy host's ports.
 */
export interface Network extends AsyncDisposable {
  readonly control: string;
  readonly proxy: string;
  readonly agent: string;
  readonly controlAddress: string;
  /** The proxy host as the agent sees it. */
  readonly proxyAddress: string;
  /** TCP packets that the agent's firewall has dropped so far. */
  dropped(): Promise<number>;
  /** Takes the link between proxy host and control down or up. */
  link(state: "up" | "down"): Promise<void>;
}

const proxyPorts = [3128, 3129, 8888];

/** Needs root, iproute2 and nftables. */
export async function openNetwork(): Promise<Network> {
  const tag = `pw${process.pid.toString(36)}${Math.floor(Math.random() * 1296).toString(36)}`;
  const net = 200 + Math.floor(Math.random() * 50);
  const [control, proxy, agent] = [`${tag}c`, `${tag}p`, `${tag}a`];
  const controlAddress = `198.18.${net}.2`;
  const proxyAddress = `198.19.${net}.1`;
  const ip = (...args: string[]): Promise<string> => output("ip", args);
  for (const name of [control, proxy, agent]) {
    await mkdir(`/etc/netns/${name}`, { recursive: true });
    const names = `127.0.0.1 localhost\n${controlAddress} control.test\n${proxyAddress} proxy.test\n`;
    await writeFile(`/etc/netns/${name}/hosts`, names);
    await writeFile(`/etc/netns/${name}/resolv.conf`, "");
    await ip("netns", "add", name);
    await ip("-n", name, "link", "set", "lo", "up");
  }
  await ip("link", "add", "c0", "netns", control, "type", "veth", "peer", "name", "p0", "netns", proxy);
  await ip("link", "add", "a0", "netns", agent, "type", "veth", "peer", "name", "p1", "netns", proxy);
  for (const [space, device, address] of [
    [control, "c0", controlAddress],
    [proxy, "p0", `198.18.${net}.1`],
    [proxy, "p1", proxyAddress],
    [agent, "a0", `198.19.${net}.2`],
  ] as const) {
    await ip("-n", space, "addr", "add", `${address}/24`, "dev", device);
    await ip("-n", space, "link", "set", device, "up");
  }
  await ip("-n", agent, "route", "add", "default", "via", proxyAddress);
  await ip("-n", control, "route", "add", "default", "via", `198.18.${net}.1`);
  await output("sysctl", ["-qw", "net.ipv4.ip_forward=1"], { netns: proxy });
  await output("nft", ["-f", "-"], { netns: agent, input: firewall(proxyAddress) });
  return {
    control,
    proxy,
    agent,
    controlAddress,
    proxyAddress,
    dropped: async () => Number(/packets (\d+)/.exec(await output("nft", ["list", "counter", "inet", "fw", "dropped"], { netns: agent }))?.[1]),
    link: async (state) => {
      await ip("-n", proxy, "link", "set", "p0", state);
      if (state === "up") await ip("-n", control, "route", "replace", "default", "via", `198.18.${net}.1`);
    },
    [Symbol.asyncDispose]: async () => {
      for (const name of [control, proxy, agent]) {
        await ip("netns", "del", name).catch(() => {});
        await rm(`/etc/netns/${name}`, { recursive: true, force: true });
      }
    },
  };
}

function firewall(proxyAddress: string): string {
  return `table inet fw {
  counter dropped { }
  chain out {
    type filter hook output priority 0; policy drop;
    oif lo accept
    ct state established,related accept
    ip daddr ${proxyAddress} tcp dport { ${proxyPorts.join(", ")} } accept
    meta l4proto tcp counter name dropped drop
  }
  chain in {
    type filter hook input priority 0; policy drop;
    iif lo accept
    ct state established,related accept
  }
}
`;
}
