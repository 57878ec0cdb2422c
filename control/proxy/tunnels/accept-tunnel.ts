import type { Duplex } from "node:stream";
import { mayOffer } from "../../../core/access/may-offer.ts";
import type { AuthClient } from "../../../core/api/auth-client.ts";
import { errorText, PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import type { HostIdentity } from "../../../core/identity/identity.ts";
import type { Log } from "../../../core/log/log.ts";
import { type Offered, OfferedPages } from "../../../core/resources/offered.ts";
import { readFrame, readMessages } from "../../../core/transport/read-frame.ts";
import { decodeAgentMessage, encodeTunnelMessage, maxTunnelMessage } from "../../../core/transport/tunnel-message.ts";
import { misfitText } from "../../../core/versions/compare-versions.ts";
import { version } from "../../../core/versions/version.ts";
import type { NewConnection } from "../receive-socket.ts";
import { type AccessCache, type AccessRevisions, accessRevisions } from "../routing/access-cache.ts";
import { type AgentServices, acceptAgent, agentChannels, handshakeMs } from "./accept-agent.ts";
import type { ExpectedHosts } from "./expected-hosts.ts";
import type { OfferDisputes } from "./offer-disputes.ts";
import type { TunnelRegistry } from "./registry.ts";
import { type NodeAnswer, reportGone, reportNode, type StatusReports } from "./report-node.ts";
import { type AgentFacts, endConnection, Tunnel, type TunnelParts } from "./tunnel.ts";

export interface TunnelServices extends AgentServices {
  readonly log: Log;
  readonly auth: AuthClient;
  readonly access: AccessCache;
  readonly registry: TunnelRegistry;
  readonly statuses: StatusReports;
  readonly disputes: Pick<OfferDisputes<Tunnel>, "look">;
  readonly expected: ExpectedHosts;
  /** Hosts whose tunnel is being reported to the auth service. */
  readonly arriving: ExpectedHosts;
  /** Another process has taken over: it reports for this proxy now. */
  readonly retired: () => boolean;
  readonly clock: () => number;
  /** Called when a tunnel has started or ended. */
  readonly tunnelsChanged: () => void;
}

/** Accepts an agent's SSH connection and registers its tunnel. Resolves then; throws the agent's fault. */
export async function acceptTunnel({ socket: transport, peer, established }: NewConnection, services: TunnelServices): Promise<void> {
  transport.on("end", endToo);
  const { connection, identity } = await acceptAgent(transport, services);
  established();
  const control = agentChannels({ connection, peer, relayAuth: services.relayAuth, timeoutMs: handshakeMs });
  try {
    await admit({ identity, peer, connection, transport, control }, services);
  } catch (thrown) {
    endConnection(connection, transport);
    throw thrown;
  }
}

function endToo(this: Duplex): void {
  this.end();
}

interface Applicant extends Pick<TunnelParts, "identity" | "peer" | "connection" | "transport"> {
  readonly control: Promise<Duplex>;
}

async function admit(applicant: Applicant, services: TunnelServices): Promise<void> {
  const { identity, connection, peer, transport } = applicant;
  const channel = await applicant.control;
  channel.on("error", () => {});
  const facts = certified(identity, await readHello(channel, services.signal));
  const { id, names } = identity;
  services.arriving.expect([{ id, names: [facts.hostname, ...names] }]);
  // Streams waiting for it continue once it is registered, or refused.
  using _arrived = { [Symbol.dispose]: () => services.arriving.arrived(id) };
  let answer: NodeAnswer;
  try {
    answer = await reportNode(services.auth, { identity, facts, peer, connected: true });
  } catch (thrown) {
    const { code, message, hint } = toPlatformError(thrown);
    channel.end(encodeTunnelMessage({ type: "refused", code, message, ...(hint !== undefined && { hint }) }));
    throw thrown;
  }
  const { refusedServices: refused } = answer;
  const allowed = { ...facts, services: facts.services.filter((service) => !refused.includes(service)) };
  const tunnel = new Tunnel({ identity, facts: allowed, peer, connection, channel, transport, clock: services.clock });
  tunnel.sharesName = answer.sharesName;
  tunnel.refusedServices = refused;
  tunnel.offerLimits = answer.offerLimits;
  if (transport.destroyed) return reportGone(tunnel, services);
  serve(tunnel, { channel, transport }, services);
}

/** An agent uses a name of its certificate: for another name it must renew the certificate. */
function certified(identity: HostIdentity, facts: AgentFacts): AgentFacts {
  const wanted = facts.hostname.toLowerCase();
  const hostname = identity.names.find((name) => name.toLowerCase() === wanted) ?? identity.names[0] ?? identity.id;
  return { ...facts, hostname };
}

async function readHello(channel: Duplex, signal: AbortSignal): Promise<AgentFacts> {
  const body = await readFrame(channel, { maxLength: maxTunnelMessage, timeoutMs: handshakeMs, what: "agent's hello", signal });
  const message = decodeAgentMessage(body);
  if (message.type !== "hello") throw new PlatformError("invalid", `the agent started with ${message.type} instead of hello`);
  const { type: _type, ...facts } = message;
  return facts;
}

interface Served {
  readonly channel: Duplex;
  readonly transport: Duplex;
}

/** From welcome to the end of the tunnel. */
function serve(tunnel: Tunnel, { channel, transport }: Served, services: TunnelServices): void {
  const { registry, log, access, statuses } = services;
  const about = { host: tunnel.identity.id, name: tunnel.facts.hostname, peer: tunnel.peer };
  registry.add(tunnel);
  services.expected.arrived(tunnel.identity.id);
  services.tunnelsChanged();
  log.info("agent connected", { ...about, version: tunnel.facts.version });
  const { refusedServices: refused } = tunnel;
  const misfit = noticeOf(tunnel.facts.version);
  if (misfit !== undefined) log.warn("incompatible agent version", { ...about, notice: misfit });
  if (refused.length > 0) log.warn("an agent offers services that its join token does not allow", { ...about, services: refused.join(", ") });
  const notice = [...(misfit === undefined ? [] : [misfit]), ...(refused.length === 0 ? [] : [refusedText(refused)])].join("; ") || undefined;
  const welcome = { type: "welcome", takesResources: true, proxyId: services.identity.current().hostId, ...accessRevisions(access) } as const;
  tunnel.send({ ...welcome, ...(notice !== undefined && { notice }) });
  transport.on("close", () => {
    tunnel.ended = true;
    const last = registry.remove(tunnel);
    services.tunnelsChanged();
    log.info("agent disconnected", about);
    // A process that never served must leave nothing in the inventory.
    const left = registry.newest(tunnel.identity.id);
    if (left !== undefined) statuses.changed(left);
    if (last && !services.signal.aborted && !services.retired()) reportGone(tunnel, services, tunnel.draining ? "stopped" : "closed");
  });
  channel.on("close", () => tunnel.end());
  const pages = new OfferedPages();
  const offer = (offered: readonly Offered[]): void => {
    const served = offered.filter(({ kind }) => !refused.includes(kind));
    const allowed = served.filter((one) => mayOffer(tunnel.offerLimits, one));
    const others = served.filter((one) => !allowed.includes(one)).map(({ kind, name }) => `${kind} ${name}`);
    if (others.length > 0) {
      log.warn("an agent offers resources that its join token does not allow", { ...about, count: others.length, first: others[0] });
    }
    registry.offer(tunnel, allowed);
    services.disputes.look(allowed);
  };
  readMessages(channel, {
    maxLength: maxTunnelMessage,
    what: "tunnel message",
    decode: decodeAgentMessage,
    onMessage: (message) => {
      tunnel.heard();
      if (message.type === "ping") tunnel.send({ type: "pong", time: message.time, ...revisions(access) });
      if (message.type === "draining") tunnel.draining = true;
      if (message.type === "resources") {
        const offered = pages.add(message.resources, message.more);
        if (offered !== undefined) offer(offered);
        if (offered !== undefined && registry.newest(tunnel.identity.id) === tunnel) void services.statuses.offered(tunnel);
      }
      if (message.type === "status") {
        const { status, labels = tunnel.facts.labels } = message;
        tunnel.facts = { ...tunnel.facts, status, labels };
        if (registry.newest(tunnel.identity.id) === tunnel) statuses.changed(tunnel);
      }
    },
    onError: (error) => {
      log.warn("agent violated the tunnel protocol", { ...about, error: errorText(error) });
      tunnel.end();
    },
  });
}

/** It is not disconnected: an unreachable host cannot be repaired. */
function noticeOf(peer: string): string | undefined {
  const misfit = misfitText("this agent", { peer, cluster: version });
  return misfit === undefined ? undefined : `${misfit.message}: newer features may not work; ${misfit.hint}`;
}

function revisions(access: AccessCache): AccessRevisions & { maintenanceRevision?: string } {
  const { maintenanceRevision } = access;
  return { ...accessRevisions(access), ...(maintenanceRevision !== undefined && { maintenanceRevision }) };
}

function refusedText(services: readonly string[]): string {
  return `this host may not offer ${services.join(", ")}: its join token was not for that; leave the cluster and join with a token for all that it serves`;
}
