import { randomInt } from "node:crypto";
import type { Duplex } from "node:stream";
import { differenceError, differingOffers } from "../../../core/access/agreed-offers.ts";
import { type AuthorizeFacts, authorize } from "../../../core/access/authorize.ts";
import { PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import { type ServedKind, serviceKinds } from "../../../core/kinds/service-kinds.ts";
import { appFacts } from "../../../core/resources/app-details.ts";
import { bindsDbNames } from "../../../core/resources/db.ts";
import { type Offered, offeredHealths, splitHealth } from "../../../core/resources/offered.ts";
import { targetPort } from "../../../core/resources/tcp-ports.ts";
import { ipOf } from "../../../core/transport/host-port.ts";
import type { ExpectedHosts } from "../tunnels/expected-hosts.ts";
import type { RoutedTunnel, TunnelRegistry } from "../tunnels/registry.ts";
import type { AccessCache } from "./access-cache.ts";
import { beginStream } from "./begin-stream.ts";
import type { HostDirectory } from "./host-directory.ts";
import { agentOffer, type KnownAgents, type OfferingAgent, offeringAgents } from "./offering-agents.ts";
import { openToAgent } from "./open-to-agent.ts";
import type { Access } from "./read-access.ts";
import type { ChosenHost, ClientRequest, RoutingServices, StreamAsk } from "./routing-services.ts";
import { maxOfUser } from "./running-streams.ts";
import { isAvoided, wantedOffers } from "./wanted-offers.ts";

type Offers = readonly OfferingAgent[];

/** What a stream to a served resource needs of the proxy. */
interface Services extends KnownAgents, Pick<RoutingServices, "log" | "identity" | "running" | "limited" | "now"> {
  readonly access: Pick<AccessCache, "forUser">;
  readonly registry: KnownAgents["registry"] & Pick<TunnelRegistry<RoutedTunnel>, "offeredSoon">;
  readonly expected: Pick<ExpectedHosts, "areComing">;
  readonly hosts: Pick<HostDirectory, "offering" | "begun">;
}

/** Maximum wait for an agent that offers the resource, while hosts of the process before are still on their way here, ms. */
const comingMs = 5_000;
/** Streams of a user to a host from which on other agents take their share, although this one is preferred. */
const mostPreferred = maxOfUser / 2;

/** Authorizes the use of a resource that agents serve, and opens a channel to one of them, the `chosen` host. Throws PlatformError. */
export async function openServed(ask: StreamAsk<ServedKind>, services: Services, chosen?: ChosenHost): Promise<Duplex> {
  const { identity, request } = ask;
  const { kind, target } = request;
  const access = await services.access.forUser(identity);
  if (services.expected.areComing) await services.registry.offeredSoon(kind, target, comingMs);
  if ("directPort" in serviceKinds[kind]) await services.hosts.begun(comingMs);
  const offers = wantedOffers(request, services);
  const allowed = allowedAgents(ask, { ...access, offers }, services);
  requireAgreement(request, offers, services);
  requireTargetPort(request, allowed);
  return await beginAtOne(allowed, { ask, access, chosen }, services);
}

/**
 * Requires that a user may reach a database, with whatever account: then the user may ask about connections to it. The session that asks is open already, so it needs no
 * one-time code, but a certificate for another resource is refused. Throws PlatformError.
 */
export async function requireReach(
  { identity, database, clientAddress }: Pick<StreamAsk, "identity" | "clientAddress"> & { readonly database: string },
  services: Pick<Services, "access" | "registry" | "hosts" | "running" | "now">,
): Promise<void> {
  const access = await services.access.forUser(identity);
  const request = { kind: "db", target: database, parameters: { user: "", name: "", host: "", at: "" } } as const;
  const offers = wantedOffers(request, services);
  allowedAgents({ identity, request, clientAddress }, { ...access, offers, isBeforeMfa: true }, services);
  requireAgreement(request, offers, services);
}

interface Beginning {
  readonly ask: StreamAsk<ServedKind>;
  readonly access: Access;
  readonly chosen: ChosenHost | undefined;
}

/** A channel to the first of these agents that opens one and at which the user has not the maximum of streams. Throws that `limit`, or `unavailable`. */
async function beginAtOne(agents: Offers, { ask, access, chosen }: Beginning, services: Services): Promise<Duplex> {
  const wanted = { ...ask.request, hostAuthorities: access.hostCaPem, left: ask.left };
  let untried = agents;
  let limit: unknown;
  for (;;) {
    const { host, channel } = await openToAgent(untried, wanted, services).catch((thrown: unknown) => {
      throw limit ?? thrown;
    });
    if (chosen !== undefined) chosen.host = host;
    try {
      await beginStream({ ...ask, access, host: host.identity.id, channel }, services);
      return channel;
    } catch (thrown) {
      limit ??= thrown;
      // Those before it have opened none.
      untried = untried.slice(1 + untried.findIndex(({ agent }) => agent.identity.id === host.identity.id));
      if (untried.length === 0 || toPlatformError(thrown).code !== "limit") throw limit;
    }
  }
}

interface Allowing extends Pick<Access, "roles" | "locks">, Pick<AuthorizeFacts, "isBeforeMfa"> {
  readonly offers: Offers;
}

/** The agents that offer the resource and that the user may reach, the best first. Throws `not_found` or `denied`. */
function allowedAgents(
  { identity, request, preferred, clientAddress }: StreamAsk<ServedKind>,
  { roles, locks, offers, isBeforeMfa }: Allowing,
  { now, running }: Pick<Services, "now" | "running">,
): Offers {
  const { kind, target } = request;
  if (offers.length === 0) {
    const { noun } = serviceKinds[kind].served;
    throw new PlatformError("not_found", `no connected agent offers ${noun} ${JSON.stringify(target.slice(0, 64))}`, {
      hint: `\`tsh ${kind === "app" ? "apps" : kind} ls\` lists those that you may use`,
    });
  }
  const isCrowded = preferred !== undefined && running.count({ host: preferred, identity }) >= mostPreferred;
  const ordered = preferredFirst(inOrder(offers, randomInt), isCrowded ? undefined : preferred);
  const facts = { identity, roles, locks, clientIp: ipOf(clientAddress), now: now(), isBeforeMfa };
  let refusal: unknown;
  const allowed = ordered.filter(({ agent, offered: { name, labels, details } }) => {
    try {
      const makesAccounts = details?.admin_user !== undefined;
      authorize({ ...facts, ask: { kind, served: { name, labels }, ...namesIn(request, details), serverId: agent.identity.id, makesAccounts } });
      return true;
    } catch (thrown) {
      refusal ??= thrown;
      return false;
    }
  });
  if (allowed.length === 0) throw refusal;
  return allowed;
}

/**
 * Throws `conflict` while agents that offer the resource could decide differently about it, whichever of them the request names: access must depend neither
 * on the agent that a connection gets, nor on what another agent claims.
 */
function requireAgreement({ kind, target: name }: ClientRequest<ServedKind>, offers: Offers, known: KnownAgents): void {
  const pair = differingOffers([...offers, ...offeringAgents({ kind, name }, known)].map(agentOffer));
  if (pair !== undefined) throw differenceError({ kind, name }, pair);
}

/** Throws for a target port that the application does not have: its agents, which agree, list the same ones. */
function requireTargetPort({ kind, target: name, parameters }: ClientRequest<ServedKind>, [agent]: Offers): void {
  if (kind === "app" && agent !== undefined) targetPort({ name, tcpPorts: appFacts(agent.offered).tcpPorts }, parameters.port);
}

/** Those that see the resource healthy first, those that see it unhealthy last; equal ones in random order. `random` is below its argument. Pure. */
export function inOrder<One extends { readonly offered: Offered }>(offers: readonly One[], random: (below: number) => number): readonly One[] {
  const shuffled = [...offers];
  for (let last = shuffled.length - 1; last > 0; last -= 1) {
    const other = random(last + 1);
    const [one, two] = [shuffled[last], shuffled[other]];
    if (one !== undefined && two !== undefined) [shuffled[last], shuffled[other]] = [two, one];
  }
  const rank = ({ offered }: One): number => offeredHealths.indexOf(splitHealth(offered).health);
  return shuffled.sort((a, b) => rank(a) - rank(b));
}

/** The same with the offer of this host first, unless it is seen unhealthy there and another agent sees the resource healthy. */
function preferredFirst(ordered: Offers, host: string | undefined): Offers {
  const first = ordered.find(({ agent }) => agent.identity.id === host);
  if (first === undefined || isAvoided(first, ordered)) return ordered;
  return [first, ...ordered.filter((offer) => offer !== first)];
}

/** Names that the request states are checked here, unless they cannot be enforced; the agent checks the others, once the client has stated them. */
function namesIn(
  { kind, parameters }: ClientRequest<ServedKind>,
  { protocol = "" }: NonNullable<Offered["details"]> = {},
): { readonly names: Readonly<Record<string, string>>; readonly without: readonly string[] } {
  const known = Object.keys(serviceKinds[kind].names);
  const isBound = (name: string): boolean => kind !== "db" || name !== "name" || bindsDbNames(protocol);
  const stated = Object.entries<string>(parameters).filter(([name, value]) => value !== "" && isBound(name));
  const names = Object.fromEntries(stated.filter(([parameter]) => known.includes(parameter)));
  return { names, without: known.filter((parameter) => !(parameter in names)) };
}
