import { z } from "zod";
import { PlatformError } from "../errors/platform-error.ts";
import type { DialOptions } from "./dial/dial.ts";
import { httpsGet } from "./dial/https-get.ts";
import { formatHostPort, type HostPort, parseHostPort } from "./host-port.ts";

/** Address of the next tunnel, and whether it is inside TLS. */
export interface TunnelAddress {
  readonly address: HostPort;
  /** TLS with ALPN `platform-reversetunnel`; otherwise plain SSH. */
  readonly tls: boolean;
}

const address = z.string().max(300).optional();
const findSchema = z.object({
  proxy: z.object({
    tls_routing_enabled: z.boolean(),
    ssh: z.object({ public_addr: address, ssh_tunnel_public_addr: address, tunnel_listen_addr: address }).optional(),
  }),
});
export type FindAnswer = z.infer<typeof findSchema>;

const defaultTunnelPort = 3024;

/**
 * Addresses to try, in this order; at least one. With TLS routing: the public web address of the answer, then the address that was
 * asked, which is known to lead to a proxy: the public one may be a name that does not resolve here. Pure: `override` is
 * PLATFORM_TUNNEL_PUBLIC_ADDR.
 */
export function tunnelAddresses(answer: FindAnswer, proxy: HostPort, override: string | undefined): readonly TunnelAddress[] {
  const { tls_routing_enabled: tls, ssh } = answer.proxy;
  if (override) return [{ address: parseHostPort(override, tls ? proxy.port : defaultTunnelPort, "PLATFORM_TUNNEL_PUBLIC_ADDR"), tls }];
  if (tls) {
    const open = ssh?.public_addr ? parseHostPort(ssh.public_addr, proxy.port, "the proxy's public address") : proxy;
    const isSame = open.host.toLowerCase() === proxy.host.toLowerCase() && open.port === proxy.port;
    return [...(isSame ? [] : [{ address: open, tls }]), { address: proxy, tls }];
  }
  if (ssh?.ssh_tunnel_public_addr)
    return [{ address: parseHostPort(ssh.ssh_tunnel_public_addr, defaultTunnelPort, "the proxy's tunnel address"), tls }];
  const listen = ssh?.tunnel_listen_addr ? parseHostPort(ssh.tunnel_listen_addr, defaultTunnelPort, "the proxy's tunnel listener") : undefined;
  return [{ address: { host: proxy.host, port: listen?.port ?? defaultTunnelPort }, tls }];
}

export interface DiscoverOptions extends DialOptions {
  readonly proxy: HostPort;
  /** PEM certificates of the host authority. */
  readonly hostCa: readonly string[];
  /** False to use only the asked address, even if TLS routing would allow the public one. */
  readonly refers?: boolean;
}

/** Asks the proxy's web address for the addresses of its tunnels, in order of preference. Throws `unavailable`, `timeout`, `invalid`. */
export async function discoverTunnels(options: DiscoverOptions): Promise<readonly TunnelAddress[]> {
  const addresses = tunnelAddresses(await find(options), options.proxy, options.env.PLATFORM_TUNNEL_PUBLIC_ADDR);
  return options.refers === false ? addresses.slice(-1) : addresses;
}

async function find(options: DiscoverOptions): Promise<FindAnswer> {
  const { proxy, hostCa, ...dial } = options;
  // The web address may have a certificate of the cluster, a public one, or one that only its users' browsers know: any is accepted, because the
  // answer only has addresses to try, and the tunnel verifies the proxy. A connection dropped as untrusted would be an error in the proxy's log.
  const answer = await httpsGet(proxy, "/webapi/find", { ...dial, ca: hostCa, insecure: true, maxBytes: 65_536 });
  const where = formatHostPort(proxy);
  const what = `the answer of ${where} to /webapi/find`;
  const refuse = (why: string): PlatformError => {
    if (answer.isTrusted === true) return new PlatformError("unavailable", `${what} ${why}`, { hint: "is this the web address of the proxy?" });
    const by = answer.issuer === undefined ? "" : `, issued by ${answer.issuer},`;
    return new PlatformError("unavailable", `${what} ${why}, and its certificate${by} is not issued by the cluster's authority`, {
      hint: `if an HTTP proxy on the way inspects TLS, exempt ${where} from it; if not, is this the web address of the proxy?`,
    });
  };
  if (answer.status !== 200) throw refuse(`has status ${answer.status}`);
  let value: unknown;
  try {
    value = JSON.parse(answer.body.toString("utf8"));
  } catch {
    value = undefined;
  }
  const parsed = findSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw refuse("is not a proxy's answer");
}
