import { differenceHint, differenceText, differingOffers, entitledOffers } from "../../../core/access/agreed-offers.ts";
import { isNamed } from "../../../core/access/may-offer.ts";
import { isServedKind, type ServedKind, serviceKinds } from "../../../core/kinds/service-kinds.ts";
import type { Log } from "../../../core/log/log.ts";
import type { Offered } from "../../../core/resources/offered.ts";
import { agentOffer, type Registered, type TunnelRegistry } from "./registry.ts";

/** Maximum texts that one agent is sent while its tunnel lasts, and in one message. */
const most = { texts: 100, atOnce: 3 } as const;
/** Maximum length of a notice, characters. */
const maxNotice = 2000;

export interface DisputesOptions<T extends Registered> {
  readonly registry: Pick<TunnelRegistry<T>, "allOffering">;
  readonly log: Log;
  /** Sends a notice for the agent's log. */
  readonly notify: (tunnel: T, notice: string) => void;
}

/**
 * Notices about offers that are not used, in the logs of the agents concerned and of the proxy: agents that assign differing labels to one resource, and
 * agents that are passed over for those whose token names it. Each text once while a tunnel lasts: an agent that changes its offers all the time fills no logs.
 */
export class OfferDisputes<T extends Registered> {
  readonly #options: DisputesOptions<T>;
  readonly #sent = new WeakMap<T, Set<string>>();

  constructor(options: DisputesOptions<T>) {
    this.#options = options;
  }

  /** Call this when an agent has changed what it offers. */
  look(offered: readonly Pick<Offered, "kind" | "name">[]): void {
    const fresh = new Map<T, string[]>();
    for (const { kind, name } of offered) {
      if (!isServedKind(kind)) continue;
      for (const [tunnel, text] of disputesOf({ kind, name }, this.#options.registry.allOffering(kind, name))) {
        if (this.#isNew(tunnel, text)) fresh.set(tunnel, [...(fresh.get(tunnel) ?? []), text]);
      }
    }
    const { log, notify } = this.#options;
    for (const [tunnel, texts] of fresh) {
      const more = texts.length > most.atOnce ? [`and ${texts.length - most.atOnce} more`] : [];
      const notice = [...texts.slice(0, most.atOnce), ...more].join("; ").slice(0, maxNotice);
      log.warn("an agent offers resources that are not used", { host: tunnel.identity.id, name: tunnel.facts.hostname, reason: notice });
      notify(tunnel, notice);
    }
  }

  #isNew(tunnel: T, text: string): boolean {
    const sent = this.#sent.get(tunnel) ?? new Set();
    if (sent.has(text) || sent.size >= most.texts) return false;
    this.#sent.set(tunnel, sent.add(text));
    return true;
  }
}

/** What is wrong with one resource, for each agent concerned. Pure. */
function disputesOf<T extends Registered>(
  named: { readonly kind: ServedKind; readonly name: string },
  all: ReturnType<TunnelRegistry<T>["allOffering"]>,
): readonly (readonly [tunnel: T, text: string])[] {
  const { kind, name } = named;
  if (all.length < 2) return [];
  const entitled = entitledOffers(all, ({ tunnel }) => isNamed(tunnel.offerLimits, kind));
  const pair = differingOffers(entitled.map(agentOffer));
  const differ = pair && `${differenceText(named, pair)}: ${differenceHint(named)}`;
  const over = `${serviceKinds[kind].served.noun} ${JSON.stringify(name.slice(0, 64))} of this host is not used: the join token of another host that offers it names it, and that of this host names none`;
  return all.flatMap((one) => {
    const text = entitled.includes(one) ? differ : over;
    return text === undefined ? [] : [[one.tunnel, text] as const];
  });
}
