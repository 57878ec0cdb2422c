import type { ServedKind } from "../../../core/kinds/service-kinds.ts";
import { olderProcess, whileHealthy } from "../../../core/kinds/stream-kinds.ts";
import { splitHealth } from "../../../core/resources/offered.ts";
import { tunnelTarget } from "./find-target.ts";
import { type KnownAgents, type OfferingAgent, offeringAgents } from "./offering-agents.ts";
import type { ClientRequest } from "./routing-services.ts";

type Offers = readonly OfferingAgent[];

/** The offers that a request may use: all of them, or that of the agent which its parameter `host` names. */
export function wantedOffers({ kind, target, parameters }: ClientRequest<ServedKind>, known: KnownAgents): Offers {
  const { host: stated = "" }: Readonly<Record<string, string>> = parameters;
  const [id = "", older] = stated.split(olderProcess);
  if (older !== undefined) return ofOlderProcess({ kind, target, id, older }, known);
  const all = offeringAgents({ kind, name: target }, known);
  if (stated === "") return all;
  if (!stated.endsWith(whileHealthy)) return all.filter(({ agent }) => agent.identity.id === stated);
  const preferred = stated.slice(0, -whileHealthy.length);
  return all.filter((offer) => offer.agent.identity.id === preferred && !isAvoided(offer, all));
}

/** Whether an agent does not reach the resource while another one of these does. */
export function isAvoided({ offered }: OfferingAgent, all: Offers): boolean {
  return splitHealth(offered).health === "unhealthy" && all.some((other) => splitHealth(other.offered).health === "healthy");
}

interface OlderAsk {
  readonly kind: string;
  readonly target: string;
  readonly id: string;
  /** 1: the process before the one that serves the host now. */
  readonly older: string;
}

/** A process that a reload of its agent has replaced serves its sessions to their end, and what belongs to them. It keeps its tunnel, not its port. */
function ofOlderProcess({ kind, target, id, older }: OlderAsk, { registry }: KnownAgents): Offers {
  const draining = registry.ofHost(id).filter((tunnel) => tunnel.draining && !tunnel.ended);
  const tunnel = /^[1-9]$/.test(older) ? draining[Number(older) - 1] : undefined;
  const offered = tunnel?.offered.find((one) => one.kind === kind && one.name === target);
  return tunnel === undefined || offered === undefined ? [] : [{ agent: tunnelTarget(tunnel), offered }];
}
