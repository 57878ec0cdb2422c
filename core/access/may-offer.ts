import { isServedKind } from "../kinds/service-kinds.ts";
import type { OfferLimits } from "../resources/token.ts";
import { matchValue } from "./match-labels.ts";

/** Whether a host with these limits may offer a resource. Pure. */
export function mayOffer(limits: OfferLimits, { kind, name }: { readonly kind: string; readonly name: string }): boolean {
  const names = isServedKind(kind) ? limits[kind] : undefined;
  return names === undefined || names.some((pattern) => matchValue(pattern, name));
}

/** Whether the token of a host with these limits names resources of this kind. Pure. */
export function isNamed(limits: OfferLimits, kind: string): boolean {
  return isServedKind(kind) && limits[kind] !== undefined;
}
