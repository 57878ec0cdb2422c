import { isIP } from "node:net";
import type { ProxyConfig } from "../../config.ts";

/** Names for the proxy's certificates besides its node name: its public addresses, and those of this host. */
export function proxyHostNames(config: ProxyConfig): readonly string[] {
  const addresses = [config.publicAddr, config.sshPublicAddr, config.tunnelPublicAddr, config.webListen];
  const hosts = addresses.flatMap((address) => address?.host ?? []).filter((host) => !(isIP(host) !== 0 && isUnspecified(host)));
  return [...new Set([...hosts, "localhost", "127.0.0.1"])].filter((name) => name !== config.nodename);
}

function isUnspecified(address: string): boolean {
  return /^[0:.]+$/.test(address);
}
