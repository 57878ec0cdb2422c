import { maxDirectAddresses } from "../../core/resources/direct-host.ts";
import { formatHostPort, type HostPort, withPort } from "../../core/transport/host-port.ts";
import type { DirectWay } from "../config.ts";

export interface OwnAddresses {
  /** `host:port`, the best first. */
  readonly addresses: readonly string[];
  /** Those of them that other hosts may have too. */
  readonly shared: readonly string[];
}

const everywhere: ReadonlySet<string> = new Set(["0.0.0.0", "::"]);

/**
 * Where the proxies reach this host: at `advertise_ip`, else where it listens, else (it listens on every address) at that by which it reaches the
 * auth service; and at each `public_addr`, by this port where none is written. Pure.
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
