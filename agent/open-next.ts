import type { Duplex } from "node:stream";
import { PlatformError, toPlatformError } from "../core/errors/platform-error.ts";
import type { Env } from "../core/transport/dial/choose-proxy.ts";
import { discoverTunnels, type TunnelAddress } from "../core/transport/discover-tunnel.ts";
import { formatHostPort, parseHostPort } from "../core/transport/host-port.ts";
import { version } from "../core/versions/version.ts";
import type { AuthorityFollower } from "./follow-authorities.ts";
import type { UpdaterSide } from "./follow-updater.ts";
import type { IdentityKeeper } from "./identity-keeper.ts";
import type { HostLabels } from "./labels/host-labels.ts";
import { type OpenedTunnel, openTunnel } from "./open-tunnel.ts";
import type { TunnelWay } from "./tunnels.ts";

export interface NextTunnel {
  readonly nodename: string;
  /** Where this host joined. */
  readonly home: string;
  /** The proxy there runs in this process. */
  readonly isLocal: boolean;
  readonly identity: IdentityKeeper;
  readonly labels: HostLabels;
  readonly services: readonly string[];
  readonly process: string;
  readonly env: Env;
  readonly updater: UpdaterSide;
  readonly authorities: AuthorityFollower;
  /** Addresses to which a proxy referred and that could not be reached from here: until when they are left out, ms of the steady clock. */
  readonly avoided: Map<string, number>;
  /** Answers of web addresses that led to a proxy which had a tunnel already: until when they hold, ms of the same clock. */
  readonly answers: Map<string, { readonly targets: readonly TunnelAddress[]; readonly until: number }>;
}

interface Way extends TunnelWay {
  readonly onStream: (channel: Duplex) => void;
}

/** For an address to which a proxy refers, ms: there is still the one that was asked. */
const referredMs = 5_000;
const avoidedMs = 600_000;
const answersMs = 60_000;

/**
 * Opens a tunnel by the web address of a proxy. Where to is asked each time: an address that has changed is followed. An address to which the
 * proxy refers and that cannot be reached from here (a name that only others know) does not stop it: the address that was asked is tried next.
 */
export async function openNext(next: NextTunnel, way: Way, signal: AbortSignal): Promise<OpenedTunnel> {
  const { identity, env, authorities, home, isLocal } = next;
  const credentials = identity.current();
  const refers = !(isLocal && way.at === home);
  const proxy = parseHostPort(way.at, undefined, "the proxy's address");
  const held = next.answers.get(way.at);
  // A balancer that leads connections to two proxies in turns would lead every second one, the tunnel, to the same.
  const isHeld = held !== undefined && performance.now() < held.until;
  const targets = isHeld ? held.targets : await discoverTunnels({ proxy, hostCa: credentials.hostCaPem, env, signal, refers });
  next.answers.delete(way.at);
  const open = openAt(next, way, signal);
  try {
    for (const target of targets.slice(0, -1)) {
      const where = formatHostPort(target.address);
      if (performance.now() < (next.avoided.get(where) ?? 0)) continue;
      const opened = await open(target, referredMs).catch(onlyUnreachable);
      if (opened !== undefined) return opened;
      next.avoided.set(where, performance.now() + avoidedMs);
    }
    const last = targets.at(-1);
    if (last === undefined) throw new Error(`no tunnel address of ${formatHostPort(proxy)}`);
    return await open(last);
  } catch (thrown) {
    // Perhaps the proxy's certificate is of a key that came while this host was away.
    if (thrown instanceof PlatformError && thrown.code === "unauthenticated") await authorities.ask();
    if (thrown instanceof PlatformError && thrown.code === "conflict" && !isHeld)
      next.answers.set(way.at, { targets, until: performance.now() + answersMs });
    throw thrown;
  }
}

function openAt({ nodename, identity, labels, services, process, env, updater }: NextTunnel, { claim, onStream }: Way, signal: AbortSignal) {
  const facts = { hostname: nodename, labels: () => labels.current, services, version, process, status: updater.status };
  return (target: Parameters<typeof openTunnel>[0]["target"], timeoutMs?: number): Promise<OpenedTunnel> => {
    const dial = { env, ...(timeoutMs !== undefined && { timeoutMs }) };
    return openTunnel({ target, credentials: identity.current(), facts, dial, claim, onStream, signal });
  };
}

/** Whoever answered, and was the wrong one or refused, is not asked in another way. */
function onlyUnreachable(thrown: unknown): undefined {
  const { code } = toPlatformError(thrown);
  if (code === "conflict" || code === "denied" || code === "internal") throw thrown;
}
