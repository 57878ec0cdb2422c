import type { HostPort } from "../../core/transport/host-port.ts";

/**
 * Lines for a known_hosts file: OpenSSH accepts a host's certificate from these authorities when the name matches
 * (sshd(8), SSH_KNOWN_HOSTS FILE FORMAT). One line for each authority.
 */
export function knownHostsLines(patterns: readonly string[], authorities: readonly string[], comment: string): readonly string[] {
  return authorities.map((line) => {
    const [type = "", key = ""] = line.trim().split(/\s+/);
    return `@cert-authority ${patterns.join(",")} ${type} ${key} ${comment}`;
  });
}

/** Names of the hosts of a cluster, and of the proxy itself as a jump host on any port. */
export function hostPatterns(cluster: string, proxy?: HostPort): readonly string[] {
  const own = proxy === undefined ? [] : [proxy.host, `[${proxy.host}]:*`];
  return [`*.${cluster}`, ...own];
}
