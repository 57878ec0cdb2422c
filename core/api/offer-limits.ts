import type { MessageInitShape } from "@bufbuild/protobuf";
import { isServedKind } from "../kinds/service-kinds.ts";
import type { OfferLimits } from "../resources/token.ts";
import type { OfferLimit, OfferLimitSchema } from "./generated/platform/auth/v1/auth_pb.ts";

/** Limits of a join token on the wire. Kinds of a later version are left out: this program serves none of their resources. Pure. */
export function readOfferLimits(limits: readonly Pick<OfferLimit, "kind" | "names">[]): OfferLimits {
  return Object.fromEntries(limits.filter(({ kind }) => isServedKind(kind)).map(({ kind, names }) => [kind, names]));
}

export function writeOfferLimits(limits: OfferLimits): readonly MessageInitShape<typeof OfferLimitSchema>[] {
  return Object.entries(limits).map(([kind, names]) => ({ kind, names: [...(names ?? [])] }));
}
