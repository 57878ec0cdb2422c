import { isIP, isIPv6 } from "node:net";

/** Network of an address with or without a port: an IPv6 /64 is one network, since it usually belongs to one client. */
export function clientNetwork(peer: string): string {
  const address = isIP(peer) === 0 ? peer.replace(/:\d+$/, "").replace(/^\[(.*)\]$/, "$1") : peer;
  if (!isIPv6(address) || address.startsWith("::ffff:")) return address;
  const [head = "", tail] = address.split("::");
  const front = head.split(":").filter((part) => part !== "");
  const back = (tail ?? "").split(":").filter((part) => part !== "");
  const zeros = tail === undefined ? [] : Array.from({ length: Math.max(0, 8 - front.length - back.length) }, () => "0");
  return [...front, ...zeros, ...back].slice(0, 4).join(":");
}
