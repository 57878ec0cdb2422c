import { setTimeout as sleep } from "node:timers/promises";
import type { TLSSocket } from "node:tls";
import { toPlatformError } from "../../core/errors/platform-error.ts";
import type { Log } from "../../core/log/log.ts";
import { maxDirectAddresses } from "../../core/resources/directory-host.ts";
import type { HostStatus } from "../../core/resources/host-status.ts";
import type { Labels } from "../../core/resources/metadata.ts";
import type { Offered } from "../../core/resources/offered.ts";
import { canonicalIp } from "../../core/transport/canonical-ip.ts";
import { formatHostPort, type HostPort, withPort } from "../../core/transport/host-port.ts";
import type { ListenSockets } from "../../core/transport/listen-sockets.ts";
import type { AccessSource } from "../access/access-source.ts";
import type { Spool } from "../audit/spool.ts";
import type { DirectListen, DirectWay } from "../config.ts";
import type { AuthorityFollower } from "../identity/follow-authorities.ts";
import type { IdentityKeeper } from "../identity/identity-keeper.ts";
import type { Reach } from "../reach.ts";
import { recordOrLog } from "../service/record-or-log.ts";
import { DirectPort } from "./direct-port.ts";
import { FollowAuth, type FollowAuthOptions } from "./follow-auth.ts";

export interface DirectOptions {
  readonly way: DirectWay;
  readonly nodename: string;
  readonly services: readonly string[];
  readonly sockets: ListenSockets;
  readonly log: Log;
  readonly identity: Pick<IdentityKeeper, "current">;
  readonly auth: { client: FollowAuthOptions["client"]; close(): void; renew(): void; onRenewed(listener: () => void): void };
  readonly audit: Pick<Spool, "record" | "hold">;
  readonly access: Pick<AccessSource, "refresh">;
  readonly authorities: Pick<AuthorityFollower, "ask">;
  /** This host's local address on its connection to the auth service, once there was one. */
  readonly local: () => string | undefined;
  /** Serves one stream until it ends. Never throws. */
  readonly serve: (stream: TLSSocket) => Promise<void>;
  readonly status: () => HostStatus;
  readonly labels: () => Labels;
  readonly onAccess: (revision: string) => void;
  readonly onMaintenance: (revision: string) => void;
  readonly onResources: (revision: string) => void;
  /** Resources that the services offer now; undefined: no service of this host offers any. */
  readonly offered: () => readonly Offered[] | undefined;
  readonly steady: () => number;
  /** Pause of a replaced process between two requests for the roles, ms. */
  readonly askMs?: number;
}

/** A replaced process asks for the roles this often, ms: before the auth service's client would drop an idle connection. */
const usualAskMs = 8_000;
/** Time for the last report, ms. */
const farewellMs = 2_000;

/** Listens for proxies, and follows the auth service until it is stopped. Throws `unavailable` when it cannot listen on the port. */
export async function openDirect(options: DirectOptions): Promise<Reach> {
  const { way, nodename: hostname, services, log, identity, auth, authorities, status, labels } = options;
  const ports = await openPorts(options);
  const facts = () => {
    const { hostId } = identity.current();
    return { hostId, hostname, services, labels: labels(), status: status(), ...allAddresses(way, ports, options.local()) };
  };
  const { onAccess, onMaintenance, onResources, offered, steady } = options;
  const calls = { client: () => auth.client(), drop: () => auth.close(), renew: () => auth.renew() };
  const handlers = { onConnected: () => void authorities.ask(), onAccess, onMaintenance, onResources, offered };
  const follow = new FollowAuth({ log, ...calls, facts, ...handlers, serves: () => options.sockets.isStarted, steady });
  auth.onRenewed(() => follow.moveWatch());
  void options.sockets.started.then(() => follow.tell());
  const end = new AbortController();
  const following = follow.run(end.signal);
  return {
    tunnels: 0,
    get isConnected() {
      return follow.isUp;
    },
    get problem() {
      return follow.problem;
    },
    openAuth: () => undefined,
    tell: () => follow.tell(),
    // The new process reports this host from now on. A watch would count as its own, so this one asks: its streams must hear of changed roles.
    retire: async () => {
      end.abort();
      const ended = new AbortController();
      const asking = keepAsking(options, ended.signal);
      try {
        await Promise.all([following, ...ports.map(({ port }) => port.close())]);
      } finally {
        ended.abort();
        await asking;
      }
    },
    stop: async (force) => {
      end.abort();
      const farewell = new Promise<void>((resolve) => setTimeout(resolve, farewellMs).unref());
      if (follow.isUp) await Promise.race([follow.sayStopped(), farewell]);
      await following;
      await Promise.all(ports.map(({ port }) => port.close(force)));
    },
  };
}

/** Fetches roles, locks and authorities periodically, until the signal. Never rejects. */
async function keepAsking({ access, auth, log, askMs = usualAskMs }: DirectOptions, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await access.refresh().catch((thrown: unknown) => {
      const { code, message: error } = toPlatformError(thrown);
      log.debug("could not fetch roles for the streams of this replaced process", { code, error });
      // A connection whose other end is gone would swallow the next request too.
      if (code === "timeout") auth.close();
    });
    await sleep(askMs, undefined, { signal }).catch(() => {});
  }
}

interface OpenPort extends DirectListen {
  readonly port: Pick<DirectPort, "address" | "close">;
}

/** Each serves all that this host offers: what a proxy may ask for is decided by the stream, not by the port. */
async function openPorts(options: DirectOptions): Promise<readonly OpenPort[]> {
  const ports: OpenPort[] = [];
  try {
    for (const one of options.way.ports) ports.push({ ...one, port: await openPort(one.listen, options) });
    return ports;
  } catch (thrown) {
    await Promise.all(ports.map(({ port }) => port.close(AbortSignal.abort())));
    throw thrown;
  }
}

async function openPort(address: HostPort, { sockets, log, identity, audit, serve, nodename }: DirectOptions): Promise<DirectPort> {
  const onStrangers = ({ count, peer, error }: { count: number; peer: string; error: string }): void => {
    log.info("connections ended before a proxy authenticated", { count, peer, error });
    const text = `${count} ${count === 1 ? "connection" : "connections"} to the agent's port ended before a proxy authenticated; the last: ${error}`;
    const host = { server_id: identity.current().hostId, server_name: nodename };
    void recordOrLog({ audit, log }, { event: "auth", error: text, "addr.remote": peer, ...host });
  };
  return await DirectPort.open({ address, sockets, log, credentials: () => identity.current(), serve, onStrangers });
}

interface OwnAddresses {
  /** `host:port`, best first. */
  readonly addresses: readonly string[];
  /** Those of them that other hosts may share. */
  readonly shared: readonly string[];
}

/** The addresses of the host, which are those of SSH if it is served, and those of its other services. Pure. */
export function allAddresses(
  { advertiseIp }: Pick<DirectWay, "advertiseIp">,
  ports: readonly (Pick<DirectListen, "kind" | "publicAddresses"> & { readonly port: Pick<DirectPort, "address"> })[],
  local: string | undefined,
): OwnAddresses & { readonly served: Readonly<Record<string, readonly string[]>> } {
  const own = ports.map(({ kind, publicAddresses, port }) => ({ kind, ...ownAddresses({ publicAddresses, advertiseIp }, port.address, local) }));
  const others = own.filter(({ kind, addresses }) => kind !== "ssh" && addresses.length > 0);
  const served = Object.fromEntries(others.map(({ kind, addresses }) => [kind, addresses]));
  const [first] = own;
  // A name that users call a host by is one of SSH.
  return { addresses: first?.addresses ?? [], shared: first?.kind === "ssh" ? first.shared : [], served };
}

const everywhere: ReadonlySet<string> = new Set(["0.0.0.0", "::"]);

/**
 * Addresses where the proxies reach this host: `advertise_ip`, else its listening address, else (if it listens on all) its address on the way to the
 * auth service; and each `public_addr`, with this port where it has none. Pure.
 */
export function ownAddresses(
  { publicAddresses, advertiseIp }: Pick<DirectListen, "publicAddresses"> & Pick<DirectWay, "advertiseIp">,
  bound: HostPort,
  local: string | undefined,
): OwnAddresses {
  const { host, port } = bound;
  const own = advertiseIp ?? (everywhere.has(host) ? local && canonicalIp(local) : host);
  const first = own === undefined ? [] : [formatHostPort({ host: own, port })];
  const open = publicAddresses.map((address) => formatHostPort(withPort(address, bound)));
  const addresses = [...new Set([...first, ...open])].slice(0, maxDirectAddresses);
  return { addresses, shared: addresses.filter((one) => open.includes(one)) };
}
