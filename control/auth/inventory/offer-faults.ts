import { differenceHint, differenceText, differingOffers, entitledOffers } from "../../../core/access/agreed-offers.ts";
import { isServedKind, serviceKinds } from "../../../core/kinds/service-kinds.ts";
import type { Offered } from "../../../core/resources/offered.ts";
import type { LiveNodes } from "./live-nodes.ts";

/** Why connections do not use what agents offer under one name. */
export interface OfferFault {
  readonly kind: string;
  readonly name: string;
  /** A sentence: agents decide differently about it, and nobody gets in. */
  readonly difference: string | undefined;
  /** Ids of hosts whose offers do not count, as the join token of another one names it. */
  readonly passedOver: ReadonlySet<string>;
}

/** Maximum names with a sentence each, and hosts in one. */
const mostNamed = 5;
const mostHosts = 3;

type Live = Pick<LiveNodes, "get">;
/** Resources that hosts offer. */
export interface Offers {
  all(): Iterable<readonly [hostId: string, offered: readonly Offered[]]>;
  /** Whether the join token of a host names resources of this kind. */
  isNamed(hostId: string, kind: string): boolean;
}

interface Offer {
  readonly host: { readonly id: string; readonly name: string };
  readonly offered: Offered;
}

/** The faults of all names that several connected hosts offer, by `kind/name`: the rules by which proxies choose agents. Pure. */
export function offerFaults(offers: Offers, live: Live): ReadonlyMap<string, OfferFault> {
  const faults = new Map<string, OfferFault>();
  for (const [key, all] of offersByName(offers, live)) {
    const { kind = "", name = "" } = all[0]?.offered ?? {};
    if (all.length < 2 || !isServedKind(kind)) continue;
    const entitled = entitledOffers(all, ({ host }) => offers.isNamed(host.id, kind));
    const pair = differingOffers(entitled);
    const passedOver = new Set(all.filter((one) => !entitled.includes(one)).map(({ host }) => host.id));
    if (pair === undefined && passedOver.size === 0) continue;
    faults.set(key, { kind, name, passedOver, difference: pair && differenceText({ kind, name }, pair) });
  }
  return faults;
}

function offersByName(offers: Offers, live: Live): ReadonlyMap<string, readonly Offer[]> {
  const found = new Map<string, Offer[]>();
  for (const [id, offered] of offers.all()) {
    const node = live.get(id);
    if (node?.connected !== true) continue;
    for (const one of offered) {
      const key = `${one.kind}/${one.name}`;
      const others = found.get(key) ?? [];
      others.push({ host: { id, name: node.hostname }, offered: one });
      found.set(key, others);
    }
  }
  return found;
}

/** For `tctl status`. Pure. */
export function offerWarnings(faults: Iterable<OfferFault>): readonly string[] {
  const all = [...faults].flatMap(({ kind, name, difference, passedOver }) => {
    if (!isServedKind(kind)) return [];
    if (difference !== undefined) return [`${difference}: ${differenceHint({ kind, name })}`];
    const what = `${serviceKinds[kind].served.noun} ${JSON.stringify(name.slice(0, 64))}`;
    const hosts = `${[...passedOver].toSorted().slice(0, mostHosts).join(", ")}${passedOver.size > mostHosts ? " and others" : ""}`;
    return [`${what} is not used at ${hosts}: the join token of another host that offers it names it, and theirs names none`];
  });
  const more = all.length - mostNamed;
  return more > 0 ? [...all.slice(0, mostNamed), `${more} more resources have agents that are not used: tctl kube ls, tctl db ls`] : all;
}
