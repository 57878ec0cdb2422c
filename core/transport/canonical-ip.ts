import { isIPv4, isIPv6 } from "node:net";

const mappedPrefix = "::ffff:";

/**
 * The one form in which an IP address is compared, logged and signed, however it came in: IPv6 in its shortest form (RFC 5952), an IPv4 address in IPv6
 * (`::ffff:192.0.2.7`, `::ffff:c000:207`) as IPv4. Anything else, and an address with a zone, is returned unchanged. Pure.
 */
export function canonicalIp(address: string): string {
  // As Node writes the peers of a listener for both families.
  if (address.startsWith(mappedPrefix)) {
    const inside = address.slice(mappedPrefix.length);
    if (isIPv4(inside)) return inside;
  }
  if (!isIPv6(address) || address.includes("%")) return address;
  // The URL parser writes all forms alike.
  const shortest = new URL(`http://[${address}]/`).hostname.slice(1, -1);
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(shortest);
  if (mapped === null) return shortest;
  const [high, low] = [Number.parseInt(mapped[1] ?? "", 16), Number.parseInt(mapped[2] ?? "", 16)];
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}
