import { type AgentOffer, entitledOffers } from "../../../core/access/agreed-offers.ts";
import { isNamed } from "../../../core/access/may-offer.ts";
import type { Offered } from "../../../core/resources/offered.ts";
import type { RoutedTunnel, TunnelRegistry } from "../tunnels/registry.ts";
import { type DirectTarget, type TunnelTarget, tunnelTarget } from "./find-target.ts";
import type { HostDirectory } from "./host-directory.ts";

/** An agent that offers a resource, however it is reached. */
export interface OfferingAgent {
  readonly agent: TunnelTarget | DirectTarget;
  readonly offered: Offered;
}

export interface KnownAgents {
  readonly registry: Pick<TunnelRegistry<RoutedTunnel>, "allOffering" | "ofHost" | "newest">;
  readonly hosts: Pick<HostDirectory, "offering">;
}

/** The agents that offer a resource and count for it (`entitledOffers`), with a tunnel here or dialled. A host with a tunnel here is not dialled. */
export function offeringAgents({ kind, name }: Pick<Offered, "kind" | "name">, { registry, hosts }: KnownAgents): readonly OfferingAgent[] {
  const tunnels = registry.allOffering(kind, name).map(({ tunnel, offered }) => ({
    ...{ agent: tunnelTarget(tunnel), offered },
    isNamed: isNamed(tunnel.offerLimits, kind),
  }));
  const dialled = hosts.offering(kind, name).flatMap(({ target, offered, isNamed }) => {
    return registry.newest(target.identity.id) === undefined ? [{ agent: target, offered, isNamed }] : [];
  });
  return entitledOffers<OfferingAgent & { readonly isNamed: boolean }>([...tunnels, ...dialled], (one) => one.isNamed);
}

/** The same, as rules about several agents see it. */
export function agentOffer({ agent, offered }: OfferingAgent): AgentOffer {
  return { host: { id: agent.identity.id, name: agent.facts.hostname }, offered };
}
