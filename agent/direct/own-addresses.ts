import { maxDirectAddresses } from "../../core/resources/direct-host.ts";
import { formatHostPort, type HostPort, withPort } from "../../core/transport/host-port.ts";
import type { DirectWay } from "../config.ts";

export interface OwnAddresses {
  /** `host:port`, best first. */
  readonly addresses: readonly string[];
  /** Those of them that other hosts may share. */
  readonly shared: readonly string[];
}

const everywhere: ReadonlySet<string> = new Set(["0.0.0.0", "::"]);

/**
 * Addresses where the proxies reach this host: `advertise_ip`, else its listening address, else (if it listens on all) its address on the way to the
 * auth service; and each `public_addr`, with this port where it has none. Pure.
 */
export function ownAddresses(
  { publicAddresses, advertiseIp }: Pick<DirectWay, "publicAddresses" | "advertiseIp">,
  bound: HostPort,
  local: string | undefined,
): OwnAddresses {
  const { host, port } = bound;
  const own = advertiseIp ?? (everywhere.has(host) ? local?.replace(/^::ffff:(?=\d+\.)/, "") : host);
  const first = own === undefined ? [] : [formatHostPort({ host: own, port })];
  const open = publicAddresses.map((address) => formatHostPort(withPort(address, bound)));
  const addresses = [...new Set([...first, ...open])].slice(0, maxDirectAddresses);
  return { addresses, shared: addresses.filter((one) => open.includes(one)) };
}
