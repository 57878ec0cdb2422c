import type { MessageInitShape } from "@bufbuild/protobuf";
import type { AuthClient } from "../../../core/api/auth-client.ts";
import type { OfferedSchema } from "../../../core/api/generated/platform/auth/v1/auth_pb.ts";
import { readOfferLimits } from "../../../core/api/offer-limits.ts";
import { errorText } from "../../../core/errors/platform-error.ts";
import type { HostIdentity } from "../../../core/identity/identity.ts";
import type { Log } from "../../../core/log/log.ts";
import { writeDocument } from "../../../core/resources/document.ts";
import { hostStatusDocument } from "../../../core/resources/host-status.ts";
import type { Offered } from "../../../core/resources/offered.ts";
import type { OfferLimits } from "../../../core/resources/token.ts";
import { silentMs } from "../../../core/transport/tunnel-message.ts";
import type { Registered, TunnelRegistry } from "./registry.ts";
import type { AgentFacts, Tunnel } from "./tunnel.ts";

/* What a proxy reports to the auth service about the hosts with a tunnel to it, and when. */

interface NodeReport {
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
  /** Resources that the token allows the host to offer. */
  readonly offerLimits: OfferLimits;
}

/** `closed`: the connection ended; `silent`: no response, but the tunnel may still recover; `stopped`: announced by the agent. */
type TunnelEnding = "closed" | "silent" | "stopped";

/**
 * Reports a host's tunnel to the auth service. Throws PlatformError: `denied` or `not_found` when the host was removed.
 */
export async function reportNode(auth: AuthClient, { identity, facts, peer, connected, ending = "closed" }: NodeReport): Promise<NodeAnswer> {
  const { sharesName, refusedServices, offerLimits } = await auth.reportNode({
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
  return { sharesName, refusedServices, offerLimits: readOfferLimits(offerLimits) };
}

/** The same for an open tunnel; stores the answer with it. */
async function reportUp(auth: AuthClient, tunnel: Pick<Tunnel, "identity" | "facts" | "peer" | "sharesName">): Promise<void> {
  const { identity, facts, peer } = tunnel;
  const { sharesName } = await reportNode(auth, { identity, facts, peer, connected: true });
  tunnel.sharesName = sharesName;
}

/** Reports a host's resources: the whole list, which replaces the previous one. Throws PlatformError. */
async function reportOffered(auth: AuthClient, { identity, offered }: Pick<Tunnel, "identity" | "offered">): Promise<void> {
  await auth.reportOffered({ hostId: identity.id, offered: offered.map(offeredMessage) });
}

function offeredMessage({ kind, name, labels, details }: Offered): MessageInitShape<typeof OfferedSchema> {
  return { kind, name, labels: { ...labels }, details: { ...details } };
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

interface AllReports {
  readonly auth: AuthClient;
  readonly statuses: Pick<StatusReports, "offered">;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** After an outage of the auth service: reports all hosts again, one after the other, and ends the tunnels of hosts that it refuses. */
export async function reportAll(registry: TunnelRegistry, { auth, statuses, log, signal }: AllReports): Promise<void> {
  for (const tunnel of [...registry.all()]) {
    if (signal.aborted) return;
    // An older, draining process of the host would report its older version.
    if (tunnel.ended || tunnel.draining) continue;
    try {
      await reportUp(auth, tunnel);
      if (tunnel.offered.length > 0) await statuses.offered(tunnel);
    } catch (thrown) {
      log.warn("could not report a connected host", { host: tunnel.identity.id, error: errorText(thrown) });
      const code = thrown instanceof Error && "code" in thrown ? thrown.code : undefined;
      if (code === "unavailable" || code === "timeout") return;
      if (code === "denied" || code === "not_found" || code === "unauthenticated") tunnel.end();
    }
  }
}

/** Minimum interval between two reports of one host, ms; only the last change in between is reported. */
const apartMs = 5_000;

type Offering = Pick<Tunnel, "identity" | "offered">;
type Reporting = Pick<Tunnel, "identity" | "facts" | "peer" | "ended" | "sharesName">;

/** Forwards hosts' reports about themselves while their tunnels are up. */
export class StatusReports {
  readonly #auth: AuthClient;
  readonly #log: Log;
  readonly #signal: AbortSignal;
  /** Host id → the tunnel with the next status; undefined: the host has just been reported. */
  readonly #waiting = new Map<string, { next: Reporting | undefined }>();
  /** Host id → the tunnel whose resources are reported after those that are being reported. */
  readonly #offering = new Map<string, { next: Offering | undefined; readonly done: Promise<void> }>();

  constructor({ auth, log, signal }: { auth: AuthClient; log: Log; signal: AbortSignal }) {
    this.#auth = auth;
    this.#log = log;
    this.#signal = signal;
  }

  /** Reports a host's changed status now, or as soon as the last report is old enough. */
  changed(tunnel: Reporting): void {
    const { id } = tunnel.identity;
    const waiting = this.#waiting.get(id);
    if (waiting !== undefined) waiting.next = tunnel;
    else this.#report(id, tunnel);
  }

  /** Reports a host's changed resources, one list after the other: a late answer must not bring an older one back. Never rejects. */
  offered(tunnel: Offering): Promise<void> {
    const { id } = tunnel.identity;
    const under = this.#offering.get(id);
    if (under !== undefined) {
      under.next = tunnel;
      return under.done;
    }
    const { promise: done, resolve } = Promise.withResolvers<void>();
    const entry: { next: Offering | undefined; readonly done: Promise<void> } = { next: tunnel, done };
    this.#offering.set(id, entry);
    void this.#reportOffered(id, entry).then(resolve);
    return done;
  }

  async #reportOffered(host: string, entry: { next: Offering | undefined }): Promise<void> {
    for (let { next } = entry; next !== undefined && !this.#signal.aborted; { next } = entry) {
      entry.next = undefined;
      await reportOffered(this.#auth, next).catch((error: unknown) => {
        this.#log.debug("could not report the resources of a host", { host, error: errorText(error) });
      });
    }
    this.#offering.delete(host);
  }

  #report(id: string, tunnel: Reporting): void {
    if (this.#signal.aborted || tunnel.ended) return;
    const entry: { next: Reporting | undefined } = { next: undefined };
    this.#waiting.set(id, entry);
    reportUp(this.#auth, tunnel).catch((error: unknown) => {
      // It is reported again when the auth service is back.
      this.#log.debug("could not report a host's status", { host: id, error: errorText(error) });
    });
    setTimeout(() => {
      this.#waiting.delete(id);
      if (entry.next !== undefined) this.#report(id, entry.next);
    }, apartMs).unref();
  }
}

/** Reports hosts that stopped responding to the auth service, long before their tunnels are closed, and when they respond again. */
export class SilenceWatch {
  readonly #registry: TunnelRegistry<Registered>;
  readonly #deps: { readonly auth: AuthClient; readonly log: Log };
  /** Ids of reported hosts. */
  readonly #silent = new Set<string>();

  constructor(registry: TunnelRegistry<Registered>, deps: { auth: AuthClient; log: Log }) {
    this.#registry = registry;
    this.#deps = deps;
  }

  /** Call this every few seconds; `now` is the tunnels' clock. */
  look(now: number): void {
    for (const tunnel of this.#registry.all()) {
      const { id } = tunnel.identity;
      const isSilent = tunnel.silentFor(now) >= silentMs;
      if (isSilent && !this.#silent.has(id) && this.#registry.ofHost(id).every((other) => other.silentFor(now) >= silentMs)) this.#lost(tunnel);
      if (!isSilent && this.#silent.delete(id)) this.#heard(tunnel);
    }
    for (const id of this.#silent) if (this.#registry.ofHost(id).length === 0) this.#silent.delete(id);
  }

  #lost(tunnel: Registered): void {
    this.#silent.add(tunnel.identity.id);
    this.#deps.log.warn("agent stopped responding", { host: tunnel.identity.id, name: tunnel.facts.hostname });
    reportGone(tunnel, this.#deps, "silent");
  }

  #heard(tunnel: Registered): void {
    const { auth, log } = this.#deps;
    const host = tunnel.identity.id;
    log.info("agent is responding again", { host, name: tunnel.facts.hostname });
    reportUp(auth, tunnel).catch((error: unknown) => {
      log.warn("could not report a connected host", { host, error: errorText(error) });
    });
  }
}
