import { isIP } from "node:net";

/** The address of `ip`, `ip:port` or `[ip]:port`, IPv4 without the IPv6 wrapping; empty if there is none. */
export function ipOf(address: string): string {
  const host = isIP(address) > 0 ? address : (/^\[?([0-9A-Fa-f.:]+)\]?:\d{1,5}$/.exec(address)?.[1] ?? "");
  const plain = host.startsWith("::ffff:") && isIP(host.slice(7)) === 4 ? host.slice(7) : host;
  return isIP(plain) > 0 ? plain : "";
}
