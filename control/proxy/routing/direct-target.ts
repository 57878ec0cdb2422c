import { canonicalName, namesMeant } from "../../../core/identity/cluster-names.ts";
import { type DirectHost, directHostSchema } from "../../../core/resources/direct-host.ts";
import type { Labels } from "../../../core/resources/metadata.ts";
import { parseHostPort } from "../../../core/transport/host-port.ts";

/** A host that is dialled, in the form in which targets are chosen. */
export interface DirectTarget {
  readonly identity: { readonly id: string };
  readonly facts: { readonly hostname: string; readonly labels: Labels };
  /** `host:port`, the best first. */
  readonly addresses: readonly string[];
  /** Those of them that it may share with other hosts. */
  readonly shared: readonly string[];
  /** For people. */
  readonly peer: string;
}

/** Throws for what the auth service cannot have sent. */
export function readDirectTarget(json: string): DirectTarget {
  const { id, hostname, labels, addresses, shared }: DirectHost = directHostSchema.parse(JSON.parse(json));
  return { identity: { id }, facts: { hostname, labels }, addresses, shared, peer: addresses[0] ?? "" };
}

/**
 * The address under which all these hosts are one to people: the target is a public name of theirs, and each of them says that it is reached
 * at the same address under it. Undefined when the target means one of them, or when one of them says otherwise: nobody becomes a
 * part of others' name by claiming it, because who answers at that address is not for it to say. Pure.
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
