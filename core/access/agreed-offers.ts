import { PlatformError } from "../errors/platform-error.ts";
import { type ServedKind, serviceKinds } from "../kinds/service-kinds.ts";
import type { Offered } from "../resources/offered.ts";
import { formatPorts, mergedPorts, parsePorts } from "../resources/tcp-ports.ts";

/* Which agents' offers of one resource count, and whether they agree: access must not depend on the agent that a connection happens to get. */

/** An agent's offer of a resource. */
export interface AgentOffer {
  readonly host: { readonly id: string; readonly name: string };
  readonly offered: Pick<Offered, "labels" | "details">;
}

/**
 * The offers that count. A join token that names resources of a kind vouches for its hosts: while one of them offers the resource, hosts whose token
 * names none are passed over, whatever labels they assign. Pure.
 */
export function entitledOffers<One>(offers: readonly One[], isNamed: (one: One) => boolean): readonly One[] {
  const named = offers.filter(isNamed);
  return named.length > 0 ? named : offers;
}

/** Two offers that could lead to different decisions; undefined: all agree. The order of the offers does not matter. Pure. */
export function differingOffers<One extends AgentOffer>(offers: readonly One[]): readonly [One, One] | undefined {
  const [first, ...others] = offers.toSorted((a, b) => (a.host.id < b.host.id ? -1 : 1));
  if (first === undefined) return undefined;
  const other = others.find(({ offered }) => decidingFacts(offered) !== decidingFacts(first.offered));
  return other && [first, other];
}

/** What decisions depend on: labels, of a database its protocol and whether its agent makes accounts, and of an application its ports. */
function decidingFacts({ labels, details = {} }: AgentOffer["offered"]): string {
  return JSON.stringify([Object.entries(labels).toSorted(), details.protocol ?? "", details.admin_user !== undefined, portsOf(details.tcp_ports)]);
}

/** Equal for lists of the same ports. */
function portsOf(text: string | undefined): string {
  if (text === undefined) return "";
  const ranges = parsePorts(text);
  return ranges === undefined ? text : formatPorts(mergedPorts(ranges));
}

interface Named {
  readonly kind: ServedKind;
  readonly name: string;
}

/** A sentence about two such offers, with the hosts alone: labels are for admins. Pure. */
export function differenceText({ kind, name }: Named, [one, other]: readonly [AgentOffer, AgentOffer]): string {
  const isLabels = JSON.stringify(Object.entries(one.offered.labels).toSorted()) !== JSON.stringify(Object.entries(other.offered.labels).toSorted());
  const isPorts = portsOf(one.offered.details?.tcp_ports) !== portsOf(other.offered.details?.tcp_ports);
  const what = isLabels ? "labels" : isPorts ? "tcp_ports" : "settings";
  const hosts = [one, other].map(({ host }) => `${host.name} (${host.id})`).join(" and ");
  return `${serviceKinds[kind].served.noun} ${JSON.stringify(name.slice(0, 64))} is not used while the agents on ${hosts} assign differing ${what} to it`;
}

/** The refusal of a connection while they differ. */
export function differenceError(named: Named, pair: readonly [AgentOffer, AgentOffer]): PlatformError {
  return new PlatformError("conflict", differenceText(named, pair), { hint: differenceHint(named) });
}

/** What an admin can do. Pure. */
export function differenceHint({ kind, name }: Named): string {
  const resource = `${kind}/${name.slice(0, 64)}`;
  return `assign the same labels and settings on each host, or let the hosts that may offer it join with a token that names it: tctl tokens add --type=${serviceKinds[kind].token} --resources=${resource}`;
}
