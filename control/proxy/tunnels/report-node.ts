import type { AuthClient } from "../../../core/api/auth-client.ts";
import { errorText } from "../../../core/errors/platform-error.ts";
import type { HostIdentity } from "../../../core/identity/identity.ts";
import type { Log } from "../../../core/log/log.ts";
import { writeDocument } from "../../../core/resources/document.ts";
import { hostStatusDocument } from "../../../core/resources/host-status.ts";
import type { TunnelRegistry } from "./registry.ts";
import type { AgentFacts, Tunnel } from "./tunnel.ts";

export interface NodeReport {
  readonly identity: HostIdentity;
  readonly facts: AgentFacts;
  readonly peer: string;
  readonly connected: boolean;
  /** Why it is not connected. */
  readonly ending?: TunnelEnding;
}

export interface NodeAnswer {
  /** Another host is recorded under a name of this one. */
  readonly sharesName: boolean;
  /** Services that the host's join token does not allow. */
  readonly refusedServices: readonly string[];
}

/** `closed`: the connection ended; `silent`: no response, but the tunnel may still recover; `stopped`: announced by the agent. */
export type TunnelEnding = "closed" | "silent" | "stopped";

/**
 * Reports a host's tunnel to the auth service. Throws PlatformError: `denied` or `not_found` when the host was removed.
 */
export async function reportNode(auth: AuthClient, { identity, facts, peer, connected, ending = "closed" }: NodeReport): Promise<NodeAnswer> {
  const { sharesName, refusedServices } = await auth.reportNode({
    hostId: identity.id,
    hostname: facts.hostname,
    labels: facts.labels,
    services: facts.services,
    version: facts.version,
    address: peer,
    connected,
    ending: connected ? "" : ending,
    names: [...identity.names],
    statusJson: facts.status === undefined ? "" : writeDocument(hostStatusDocument, facts.status),
  });
  return { sharesName, refusedServices };
}

/** The same for an open tunnel; stores the answer with it. */
export async function reportUp(auth: AuthClient, tunnel: Pick<Tunnel, "identity" | "facts" | "peer" | "sharesName">): Promise<void> {
  const { identity, facts, peer } = tunnel;
  const { sharesName } = await reportNode(auth, { identity, facts, peer, connected: true });
  tunnel.sharesName = sharesName;
}

/** Reports a host's resources: the whole list, which replaces the previous one. Throws PlatformError. */
export async function reportOffered(auth: AuthClient, { identity, offered }: Pick<Tunnel, "identity" | "offered">): Promise<void> {
  await auth.reportOffered({ hostId: identity.id, offered: offered.map(({ kind, name, labels }) => ({ kind, name, labels: { ...labels } })) });
}

/** Reports that the host has no tunnel here any more. A failure is only logged: after an outage the auth service gets all reports again. */
export function reportGone(
  tunnel: Pick<Tunnel, "identity" | "facts" | "peer">,
  { auth, log }: { auth: AuthClient; log: Log },
  ending: TunnelEnding = "closed",
): void {
  const { identity, facts, peer } = tunnel;
  reportNode(auth, { identity, facts, peer, connected: false, ending }).catch((error: unknown) => {
    log.warn("could not report the end of a tunnel", { host: identity.id, error: errorText(error) });
  });
}

/** After an outage of the auth service: reports all hosts again, one after the other, and ends the tunnels of hosts that it refuses. */
export async function reportAll(registry: TunnelRegistry, { auth, log, signal }: { auth: AuthClient; log: Log; signal: AbortSignal }): Promise<void> {
  for (const tunnel of [...registry.all()]) {
    if (signal.aborted) return;
    // An older, draining process of the host would report its older version.
    if (tunnel.ended || tunnel.draining) continue;
    try {
      await reportUp(auth, tunnel);
      if (tunnel.offered.length > 0) await reportOffered(auth, tunnel);
    } catch (thrown) {
      log.warn("could not report a connected host", { host: tunnel.identity.id, error: errorText(thrown) });
      const code = thrown instanceof Error && "code" in thrown ? thrown.code : undefined;
      if (code === "unavailable" || code === "timeout") return;
      if (code === "denied" || code === "not_found" || code === "unauthenticated") tunnel.end();
    }
  }
}
