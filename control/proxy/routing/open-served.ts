import { randomInt } from "node:crypto";
import type { Duplex } from "node:stream";
import { differenceError, differingOffers } from "../../../core/access/agreed-offers.ts";
import { authorize } from "../../../core/access/authorize.ts";
import { errorText, PlatformError } from "../../../core/errors/platform-error.ts";
import { type ServedKind, serviceKinds } from "../../../core/kinds/service-kinds.ts";
import { bindsDbNames } from "../../../core/resources/db.ts";
import { type Offered, offeredHealths, splitHealth } from "../../../core/resources/offered.ts";
import { ipOf } from "../../../core/transport/host-port.ts";
import { agentOffer, type Offering } from "../tunnels/registry.ts";
import { openMs, type Tunnel } from "../tunnels/tunnel.ts";
import { beginStream } from "./begin-stream.ts";
import type { Access } from "./read-access.ts";
import type { ChosenHost, ClientRequest, RoutingServices, StreamAsk } from "./routing-services.ts";
import { wantedOffers } from "./wanted-offers.ts";

type Offers = readonly Offering<Tunnel>[];

/** Maximum wait for an agent that offers the resource, while hosts of the process before are still on their way here, ms. */
const comingMs = 5_000;

/** Authorizes the use of a resource that agents serve, and opens a channel to one of them, the `chosen` host. Throws PlatformError. */
export async function openServed(ask: StreamAsk<ServedKind>, services: RoutingServices, chosen?: ChosenHost): Promise<Duplex> {
  const { identity, request } = ask;
  const { kind, target } = request;
  const access = await services.access.forUser(identity);
  if (services.expected.areComing) await services.registry.offeredSoon(kind, target, comingMs);
  const offers = wantedOffers(request, services.registry);
  const allowed = allowedTunnels(ask, { ...access, offers }, services);
  requireAgreement(request, offers, services);
  const { tunnel, channel } = await openAny(allowed, request, services);
  if (chosen !== undefined) chosen.host = tunnel;
  await beginStream({ ...ask, access, host: tunnel.identity.id, channel }, services);
  return channel;
}

/** Tunnels of the agents that offer the resource and that the user may reach, the best first. Throws `not_found` or `denied`. */
function allowedTunnels(
  { identity, request, clientAddress }: StreamAsk<ServedKind>,
  { roles, locks, offers }: Pick<Access, "roles" | "locks"> & { readonly offers: Offers },
  services: RoutingServices,
): readonly Tunnel[] {
  const { kind, target } = request;
  if (offers.length === 0) {
    const { noun } = serviceKinds[kind].served;
    throw new PlatformError("not_found", `no connected agent offers ${noun} ${JSON.stringify(target.slice(0, 64))}`, {
      hint: `\`tsh ${kind === "app" ? "apps" : kind} ls\` lists those that you may use`,
    });
  }
  const ordered = inOrder(offers, randomInt);
  const facts = { identity, roles, locks, clientIp: ipOf(clientAddress), now: services.now() };
  let refusal: unknown;
  const allowed = ordered.flatMap(({ tunnel, offered: { name, labels, details } }) => {
    try {
      const makesAccounts = details?.admin_user !== undefined;
      authorize({ ...facts, ask: { kind, served: { name, labels }, ...namesIn(request, details), serverId: tunnel.identity.id, makesAccounts } });
      return [tunnel];
    } catch (thrown) {
      refusal ??= thrown;
      return [];
    }
  });
  if (allowed.length === 0) throw refusal;
  return allowed;
}

/**
 * Throws `conflict` while agents that offer the resource could decide differently about it, whichever of them the request names: access must depend neither
 * on the agent that a connection gets, nor on what another agent claims.
 */
function requireAgreement({ kind, target: name }: ClientRequest<ServedKind>, offers: Offers, { registry }: RoutingServices): void {
  const others = registry.offering(kind, name).filter(({ tunnel }) => offers.every((one) => one.tunnel !== tunnel));
  const pair = differingOffers([...offers, ...others].map(agentOffer));
  if (pair !== undefined) throw differenceError({ kind, name }, pair);
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

/** A channel to the first of them that opens one. Throws `unavailable` with the first failure. */
async function openAny(
  tunnels: readonly Tunnel[],
  { kind, target }: ClientRequest<ServedKind>,
  { log }: RoutingServices,
): Promise<{ readonly tunnel: Tunnel; readonly channel: Duplex }> {
  let fault: unknown;
  for (const tunnel of tunnels) {
    try {
      return { tunnel, channel: await tunnel.openStream(openMs) };
    } catch (thrown) {
      fault ??= thrown;
      log.info("an agent did not open a stream: trying the next one", { [kind]: target, host: tunnel.identity.id, error: errorText(thrown) });
    }
  }
  const { noun } = serviceKinds[kind].served;
  const silent = tunnels.length === 1 ? "its agent does not answer" : `none of its ${tunnels.length} agents answers`;
  throw new PlatformError("unavailable", `${noun} ${JSON.stringify(target.slice(0, 64))} is unreachable: ${silent}: ${errorText(fault)}`, {
    cause: fault,
    hint: "try again in a moment",
  });
}
