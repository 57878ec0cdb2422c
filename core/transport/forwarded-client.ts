import { ipOf } from "./host-port.ts";
import type { IpSet } from "./ip-prefix.ts";

/** Maximum entries that are read, from the last one: each is of one balancer on the way. */
const maxHops = 16;

/**
 * The client of a request that came from `peer` (an IP address), by `X-Forwarded-For`: each balancer appends the address that it got the request from. Read from
 * the end, while the address before is a trusted balancer's: the first address that is not one is the client, whatever it wrote into the header itself. Undefined:
 * `peer` is not a balancer, or the header states nobody. Pure.
 */
export function forwardedClient(header: string | undefined, peer: string, trusted: Pick<IpSet, "has">): string | undefined {
  if (!trusted.has(peer) || header === undefined) return undefined;
  let client: string | undefined;
  for (const entry of header.split(",").slice(-maxHops).toReversed()) {
    const address = addressIn(entry.trim());
    if (address === undefined) return client;
    client = address;
    if (!trusted.has(client)) return client;
  }
  return client;
}

/** `192.0.2.7`, `192.0.2.7:443`, `2001:db8::7`, `[2001:db8::7]`, `[2001:db8::7]:443`; some balancers write ports. */
function addressIn(entry: string): string | undefined {
  const address = ipOf(/^\[(.*)\]$/.exec(entry)?.[1] ?? entry);
  return address === "" || address.includes("%") ? undefined : address;
}
