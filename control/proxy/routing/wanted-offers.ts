import type { ServedKind } from "../../../core/kinds/service-kinds.ts";
import { olderProcess, whileHealthy } from "../../../core/kinds/stream-kinds.ts";
import { splitHealth } from "../../../core/resources/offered.ts";
import type { Offering, Registered, TunnelRegistry } from "../tunnels/registry.ts";
import type { ClientRequest } from "./routing-services.ts";

type Registry<T extends Registered> = Pick<TunnelRegistry<T>, "offering" | "ofHost">;
type Offers<T extends Registered> = readonly Offering<T>[];

/** The offers that a request may use: all of them, or that of the agent which its parameter `host` names. */
export function wantedOffers<T extends Registered>({ kind, target, parameters }: ClientRequest<ServedKind>, registry: Registry<T>): Offers<T> {
  const { host: stated = "" }: Readonly<Record<string, string>> = parameters;
  const [id = "", older] = stated.split(olderProcess);
  if (older !== undefined) return ofOlderProcess({ kind, target, id, older }, registry);
  const all = registry.offering(kind, target);
  if (stated === "") return all;
  if (!stated.endsWith(whileHealthy)) return all.filter(({ tunnel }) => tunnel.identity.id === stated);
  const preferred = stated.slice(0, -whileHealthy.length);
  const hasHealthy = all.some(({ offered }) => splitHealth(offered).health === "healthy");
  const isAvoided = ({ offered }: Offers<T>[number]): boolean => hasHealthy && splitHealth(offered).health === "unhealthy";
  return all.filter((offer) => offer.tunnel.identity.id === preferred && !isAvoided(offer));
}

interface OlderAsk {
  readonly kind: string;
  readonly target: string;
  readonly id: string;
  /** 1: the process before the one that serves the host now. */
  readonly older: string;
}

/** A process that a reload of its agent has replaced serves its sessions to their end, and what belongs to them. */
function ofOlderProcess<T extends Registered>({ kind, target, id, older }: OlderAsk, registry: Registry<T>): Offers<T> {
  const draining = registry.ofHost(id).filter((tunnel) => tunnel.draining && !tunnel.ended);
  const tunnel = /^[1-9]$/.test(older) ? draining[Number(older) - 1] : undefined;
  const offered = tunnel?.offered.find((one) => one.kind === kind && one.name === target);
  return tunnel === undefined || offered === undefined ? [] : [{ tunnel, offered }];
}
