import type { Duplex } from "node:stream";
import { PlatformError, toPlatformError } from "../../core/errors/platform-error.ts";
import type { Env } from "../../core/transport/dial/choose-proxy.ts";
import { discoverTunnels, type TunnelAddress } from "../../core/transport/discover-tunnel.ts";
import { formatHostPort, parseHostPort } from "../../core/transport/host-port.ts";
import { version } from "../../core/versions/version.ts";
import type { UpdaterSide } from "../follow-updater.ts";
import type { AuthorityFollower } from "../identity/follow-authorities.ts";
import type { IdentityKeeper } from "../identity/identity-keeper.ts";
import type { HostLabels } from "../labels/host-labels.ts";
import { type OpenedTunnel, openTunnel, type TunnelWay } from "./open-tunnel.ts";

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
  /** Referred addresses that this host could not reach → time until which they are skipped, ms of the steady clock. */
  readonly avoided: Map<string, number>;
  /** Web addresses whose answer led to a proxy that already had a tunnel → time until which the answer is valid, ms of the same clock. */
  readonly answers: Map<string, { readonly targets: readonly TunnelAddress[]; readonly until: number }>;
}

interface Way extends TunnelWay {
  readonly onStream: (channel: Duplex) => void;
}

/** Timeout for a referred address, ms: the address that was asked remains as an alternative. */
const referredMs = 5_000;
const avoidedMs = 600_000;
const answersMs = 60_000;

/**
 * Opens a tunnel by the web address of a proxy. The tunnel address is requested each time, so a changed address is followed. An address to which the
 * proxy refers and that cannot be reached from here (a name that does not resolve here) is not fatal: the address that was asked is tried next.
 */
export async function openNext(next: NextTunnel, way: Way, signal: AbortSignal): Promise<OpenedTunnel> {
  const { identity, env, authorities, home, isLocal } = next;
  const credentials = identity.current();
  const refers = !(isLocal && way.at === home);
  const proxy = parseHostPort(way.at, undefined, "the proxy's address");
  const held = next.answers.get(way.at);
  // A balancer that alternates between two proxies would lead every second connection, the tunnel, to the same one.
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
    // The proxy's certificate may be signed by a key that was added while this host was offline.
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

/** A peer that answered, and was the wrong one or refused, is not tried in another way. */
function onlyUnreachable(thrown: unknown): undefined {
  const { code } = toPlatformError(thrown);
  if (code === "conflict" || code === "denied" || code === "internal") throw thrown;
}
