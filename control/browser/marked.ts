import type { MfaMark, UserIdentity } from "../../core/identity/identity.ts";

/** What a browser has confirmed, for the mark of certificates. An empty device: nothing. */
export interface Marking extends Omit<MfaMark, "until"> {
  /** The only address from which it may be used; empty: any. */
  readonly sourceIp: string;
}

/** The user of a browser with the mark of what was confirmed. Pure. */
export function marked(identity: UserIdentity, marking: Marking | undefined): UserIdentity {
  if (marking === undefined || marking.device === "") return identity;
  const { device, kind, name } = marking;
  const sourceIp = identity.sourceIp ?? marking.sourceIp;
  return { ...identity, mfa: { device, kind, name, until: identity.validBefore.toISOString() }, ...(sourceIp !== "" && { sourceIp }) };
}
