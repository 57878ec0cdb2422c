import { canonicalName, namesMeant } from "../../../core/identity/cluster-names.ts";
import { parseHostPort } from "../../../core/transport/host-port.ts";
import type { DirectTarget } from "./target.ts";

/**
 * The address that makes all these hosts one for users: the target is a public name of theirs, and each of them announces that it is reached
 * at the same address under it. Undefined when the target means one of them, or when one of them disagrees: a host cannot become a
 * part of others' name by claiming it, because it does not decide which host answers at that address. Pure.
 */
export function sharedAddress(candidates: readonly DirectTarget[], target: string, cluster: string): string | undefined {
  if (candidates.length < 2) return undefined;
  const meant = new Set(namesMeant(target, cluster));
  if (candidates.some(({ identity, facts }) => meant.has(identity.id.toLowerCase()) || meant.has(canonicalName(facts.hostname)))) return undefined;
  const [first, ...others] = candidates.map(({ shared }) =>
    shared.filter((address) => meant.has(canonicalName(parseHostPort(address, undefined, "address").host))),
  );
  return first?.find((address) => others.every((shared) => shared.includes(address)));
}
