import type { TLSSocket } from "node:tls";
import type { Log } from "../../core/log/log.ts";
import { maxDirectAddresses } from "../../core/resources/directory-host.ts";
import type { HostStatus } from "../../core/resources/host-status.ts";
import type { Labels } from "../../core/resources/metadata.ts";
import { formatHostPort, type HostPort, withPort } from "../../core/transport/host-port.ts";
import type { ListenSockets } from "../../core/transport/listen-sockets.ts";
import type { Spool } from "../audit/spool.ts";
import type { AuthSource } from "../auth-source.ts";
import type { DirectWay } from "../config.ts";
import type { AuthorityFollower } from "../follow-authorities.ts";
import type { IdentityKeeper } from "../identity-keeper.ts";
import type { Reach } from "../reach.ts";
import { recordOrLog } from "../service/record-or-log.ts";
import { DirectPort } from "./direct-port.ts";
import { FollowAuth } from "./follow-auth.ts";

export interface DirectOptions {
  readonly way: DirectWay;
  readonly nodename: string;
  readonly services: readonly string[];
  readonly sockets: ListenSockets;
  readonly log: Log;
  readonly identity: Pick<IdentityKeeper, "current">;
  readonly auth: Pick<AuthSource, "client" | "close">;
  readonly audit: Pick<Spool, "record">;
  readonly authorities: Pick<AuthorityFollower, "ask">;
  /** This host's local address on its connection to the auth service, once there was one. */
  readonly local: () => string | undefined;
  /** Serves one stream until it ends. Never throws. */
  readonly serve: (stream: TLSSocket) => Promise<void>;
  readonly status: () => HostStatus;
  readonly labels: () => Labels;
  readonly onAccess: (revision: string) => void;
  readonly onMaintenance: (revision: string) => void;
  readonly steady: () => number;
}

/** Time for the last report, ms. */
const farewellMs = 2_000;

/** Listens for proxies, and follows the auth service until it is stopped. Throws `unavailable` when it cannot listen on the port. */
export async function openDirect(options: DirectOptions): Promise<Reach> {
  const { way, nodename: hostname, services, log, identity, auth, authorities, status, labels } = options;
  const port = await openPort(options);
  const facts = () => {
    const { hostId } = identity.current();
    return { hostId, hostname, services, labels: labels(), status: status(), ...ownAddresses(way, port.address, options.local()) };
  };
  const { onAccess, onMaintenance, steady } = options;
  const client = () => auth.client();
  const told = { onConnected: () => void authorities.ask(), onAccess, onMaintenance };
  const follow = new FollowAuth({ log, client, drop: () => auth.close(), facts, ...told, serves: () => options.sockets.isStarted, steady });
  void options.sockets.started.then(() => follow.tell());
  const end = new AbortController();
  const following = follow.run(end.signal);
  return {
    tunnels: 0,
    get isConnected() {
      return follow.isUp;
    },
    openAuth: () => undefined,
    tell: () => follow.tell(),
    // The new process reports this host from now on.
    retire: async () => {
      end.abort();
      await following;
      await port.close();
    },
    stop: async (force) => {
      end.abort();
      const farewell = new Promise<void>((resolve) => setTimeout(resolve, farewellMs).unref());
      if (follow.isUp) await Promise.race([follow.sayStopped(), farewell]);
      await following;
      await port.close(force);
    },
  };
}

async function openPort({ way, sockets, log, identity, audit, serve, nodename }: DirectOptions): Promise<DirectPort> {
  const onStrangers = ({ count, peer, error }: { count: number; peer: string; error: string }): void => {
    log.info("connections ended before a proxy authenticated", { count, peer, error });
    const text = `${count} ${count === 1 ? "connection" : "connections"} to the agent's port ended before a proxy authenticated; the last: ${error}`;
    const host = { server_id: identity.current().hostId, server_name: nodename };
    void recordOrLog({ audit, log }, { event: "auth", error: text, "addr.remote": peer, ...host });
  };
  return await DirectPort.open({ address: way.listen, sockets, log, credentials: () => identity.current(), serve, onStrangers });
}

interface OwnAddresses {
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
