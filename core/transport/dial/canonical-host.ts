import { BlockList, isIPv4, isIPv6 } from "node:net";
import { domainToASCII } from "node:url";
import { canonicalIp } from "../canonical-ip.ts";

/** A host in comparable form: a name in lower case without trailing dots, in its xn-- form if not ASCII, or an address in its shortest form. */
export type CanonicalHost =
  | { readonly kind: "name"; readonly name: string }
  | { readonly kind: "address"; readonly family: "ipv4" | "ipv6"; readonly address: string };

/**
 * Accepts names and addresses, IPv6 with or without brackets. Whatever the system's resolver would read as an IPv4 address
 * (`127.1`, `0x7f000001`) counts as one, and so does an IPv4-mapped IPv6 address. Never throws.
 */
export function canonicalHost(host: string): CanonicalHost {
  const bare = inAscii(host.toLowerCase()).replace(/^\[(.*)\]$/, "$1");
  const unzoned = bare.replace(/%.*$/, "");
  if (isIPv6(unzoned)) return canonicalIpv6(unzoned);
  const name = bare.replace(/\.+$/, "");
  if (/^(0x[0-9a-f]*|\d+)(\.(0x[0-9a-f]*|\d+)){0,3}$/.test(name)) {
    const address = URL.canParse(`http://${name}/`) ? new URL(`http://${name}/`).hostname : "";
    if (isIPv4(address)) return { kind: "address", family: "ipv4", address };
  }
  return { kind: "name", name };
}

/** Text that is not a name in Unicode either stays unchanged. */
function inAscii(text: string): string {
  const isName = !/^[\0-\x7f]*$/.test(text) && !/[/\\?#@:]/.test(text);
  return (isName && domainToASCII(text)) || text;
}

function canonicalIpv6(text: string): CanonicalHost {
  const address = canonicalIp(text);
  return { kind: "address", family: isIPv4(address) ? "ipv4" : "ipv6", address };
}

/** Addresses that mean the machine itself; the unspecified ones connect there as well. */
const ownAddresses = new BlockList();
ownAddresses.addSubnet("127.0.0.0", 8, "ipv4");
ownAddresses.addAddress("0.0.0.0", "ipv4");
ownAddresses.addAddress("::1", "ipv6");
ownAddresses.addAddress("::", "ipv6");

/** `localhost` and the names below it (RFC 6761), 127.0.0.0/8, ::1, and the unspecified addresses. */
export function isThisMachine(host: CanonicalHost): boolean {
  if (host.kind === "name") return host.name === "localhost" || host.name.endsWith(".localhost");
  return ownAddresses.check(host.address, host.family);
}
