import { BlockList, isIP } from "node:net";

/**
 * Whether an IP address is in a certificate's `source-address` list: addresses and CIDR ranges, separated by commas.
 * A list that does not parse matches nothing.
 */
export function matchesSource(list: string, address: string): boolean {
  const plain = address.startsWith("::ffff:") && isIP(address.slice(7)) === 4 ? address.slice(7) : address;
  const family = familyOf(plain);
  if (family === undefined) return false;
  const allowed = new BlockList();
  for (const entry of list.split(",")) {
    const [network = "", prefix, ...rest] = entry.trim().split("/");
    const kind = familyOf(network);
    const most = kind === "ipv4" ? 32 : 128;
    if (kind === undefined || rest.length > 0 || (prefix !== undefined && !(/^\d{1,3}$/.test(prefix) && Number(prefix) <= most))) return false;
    allowed.addSubnet(network, prefix === undefined ? most : Number(prefix), kind);
  }
  return allowed.check(plain, family);
}

function familyOf(address: string): "ipv4" | "ipv6" | undefined {
  const version = isIP(address);
  return version === 4 ? "ipv4" : version === 6 ? "ipv6" : undefined;
}
