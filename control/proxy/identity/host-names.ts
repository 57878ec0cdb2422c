import { isIP } from "node:net";
import type { ProxyConfig } from "../../config.ts";

/**
 * Names for the proxy's certificates besides its node name: what people and agents reach it by, and this host itself.
 * A name below the cluster's own is left out: the auth service gives those itself and refuses to be asked for them.
 */
export function proxyHostNames(config: ProxyConfig, cluster: string | undefined): readonly string[] {
  const addresses = [config.publicAddr, config.sshPublicAddr, config.tunnelPublicAddr, config.webListen];
  const hosts = addresses.flatMap((address) => address?.host ?? []).filter((host) => !(isIP(host) !== 0 && isUnspecified(host)));
  const suffix = cluster === undefined ? undefined : `.${cluster.toLowerCase()}`;
  const allowed = hosts.filter((host) => suffix === undefined || !host.toLowerCase().endsWith(suffix));
  return [...new Set([...allowed, "localhost", "127.0.0.1"])].filter((name) => name !== config.nodename);
}

function isUnspecified(address: string): boolean {
  return /^[0:.]+$/.test(address);
}
