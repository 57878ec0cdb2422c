import type { Offered } from "../../../core/resources/offered.ts";
import type { DirectTarget } from "./find-target.ts";

/** An agent that proxies dial, and a resource that it offers. */
export interface DialledOffer {
  readonly target: DirectTarget;
  readonly offered: Offered;
  /** Its join token names resources of this kind. */
  readonly isNamed: boolean;
}

/** What agents offer that proxies dial, by kind and name of the resource. */
export class DialledOffers {
  /** Host id → what it offers. */
  readonly #byHost = new Map<string, readonly DialledOffer[]>();
  /** Kind and name → the offers of all hosts. */
  readonly #byResource = new Map<string, Map<string, DialledOffer>>();

  /** Replaces what a host offers. */
  set(id: string, offers: readonly DialledOffer[]): void {
    this.delete(id);
    if (offers.length === 0) return;
    this.#byHost.set(id, offers);
    for (const offer of offers) {
      const key = resourceKey(offer.offered);
      const all = this.#byResource.get(key) ?? new Map<string, DialledOffer>();
      this.#byResource.set(key, all.set(id, offer));
    }
  }

  delete(id: string): void {
    for (const { offered } of this.#byHost.get(id) ?? []) {
      const key = resourceKey(offered);
      const all = this.#byResource.get(key);
      all?.delete(id);
      if (all?.size === 0) this.#byResource.delete(key);
    }
    this.#byHost.delete(id);
  }

  offering(kind: string, name: string): readonly DialledOffer[] {
    return [...(this.#byResource.get(resourceKey({ kind, name }))?.values() ?? [])];
  }
}

function resourceKey({ kind, name }: Pick<Offered, "kind" | "name">): string {
  return `${kind}/${name}`;
}
