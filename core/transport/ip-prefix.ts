import { BlockList, isIP } from "node:net";

/** Whether a text is an IP address or a prefix: `10.0.0.0/8`, `fe80::/10`. Pure. */
export function isPrefix(text: string): boolean {
  return parsePrefix(text) !== undefined;
}

interface Prefix {
  readonly address: string;
  readonly length: number;
  readonly family: "ipv4" | "ipv6";
}

function parsePrefix(text: string): Prefix | undefined {
  const [, address = "", digits] = /^([0-9A-Fa-f.:]{2,45})(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const version = isIP(address);
  if (version === 0) return undefined;
  const longest = version === 4 ? 32 : 128;
  const length = digits === undefined ? longest : Number(digits);
  return length > longest ? undefined : { address, length, family: version === 4 ? "ipv4" : "ipv6" };
}

/** Shortest prefixes of one network: no provider or organization has more. */
const shortest = { ipv4: 8, ipv6: 16 } as const;
/** Networks of IPv6 that are nobody's on the Internet: private addresses, and those of one link. */
const local = [
  ["fc00::", 7],
  ["fe80::", 10],
] as const;

/** Whether a prefix that `isPrefix` accepts is shorter than that of any one network: /0 to /7, of IPv6 /0 to /15, or holds so many IPv4 addresses in IPv6. Pure. */
export function isWide(text: string): boolean {
  const prefix = parsePrefix(text);
  if (prefix === undefined) return false;
  const { address, length, family } = prefix;
  if (family === "ipv4") return length < shortest.ipv4;
  if (local.some(([start, its]) => length >= its && new IpSet([`${start}/${its}`]).has(address))) return false;
  const own = new BlockList();
  own.addSubnet(address, length, "ipv6");
  if (length < shortest.ipv6 || (length < wrapped && wrappingStarts.some((start) => own.check(start, "ipv6")))) return true;
  return length >= wrapped && length - wrapped < shortest.ipv4 && wrappings.check(address, "ipv6");
}

/** A set of IP addresses, from prefixes that `isPrefix` accepts. An IPv4 address is the same in each of its IPv6 forms. */
export class IpSet {
  readonly #list = new BlockList();

  constructor(prefixes: readonly string[]) {
    for (const text of prefixes) {
      const prefix = parsePrefix(text);
      if (prefix === undefined) throw new Error(`not a prefix: ${text}`);
      this.#list.addSubnet(prefix.address, prefix.length, prefix.family);
    }
  }

  has(address: string): boolean {
    const plain = address.replace(/%.*$/, "");
    const version = isIP(plain);
    if (version === 0) return false;
    const inside = version === 6 ? embeddedV4(plain) : undefined;
    return this.#list.check(plain, version === 4 ? "ipv4" : "ipv6") || (inside !== undefined && this.#list.check(inside, "ipv4"));
  }
}

/** IPv4 in IPv6: mapped (::ffff:0:0/96), NAT64 (64:ff9b::/96) and compatible (::/96). */
const wrapped = 96;
const wrappingStarts = ["::ffff:0:0", "64:ff9b::", "::"];
const wrappings = new BlockList();
for (const start of wrappingStarts) wrappings.addSubnet(start, wrapped, "ipv6");

/** The IPv4 address that an IPv6 address stands for, if it does. */
function embeddedV4(address: string): string | undefined {
  if (!wrappings.check(address, "ipv6")) return undefined;
  const dotted = /(\d+\.\d+\.\d+\.\d+)$/.exec(address)?.[1];
  if (dotted !== undefined) return dotted;
  // The URL parser writes all forms alike: `::ffff:a9fe:a9fe`.
  const groups = new URL(`http://[${address}]/`).hostname.slice(1, -1).split(":").slice(-2);
  const [high = 0, low = 0] = groups.map((group) => Number.parseInt(group || "0", 16));
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}
