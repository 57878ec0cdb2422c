import type { Traits } from "../resources/user.ts";

export interface CertifiedUser {
  readonly roles: readonly string[];
  readonly traits: Traits;
  readonly mfa?: { readonly device: string } | undefined;
}

/** The device whose one-time code confirmed a session, for the events of its start; nothing where none was needed. Pure. */
export function confirmedBy({ mfa }: Pick<CertifiedUser, "mfa">) {
  return mfa === undefined ? {} : { with_mfa: mfa.device };
}

const maxRoles = 64;
/** Maximum of all traits together, bytes of JSON. */
const maxTraits = 8_192;
/** Stands for the values of a trait that have no room; further traits are left out. */
const cutMark = "… (cut)";

/** The roles and traits of a user as the start of a session has them: bounded, so that they never keep the event out of the log. Pure. */
export function recordedUser({ roles, traits }: CertifiedUser) {
  const kept: [name: string, values: string[]][] = [];
  let left = maxTraits;
  for (const [name, values] of Object.entries(traits)) {
    left -= jsonBytes(name);
    const fitting = values.filter((value) => {
      left -= jsonBytes(value);
      return left >= 0;
    });
    kept.push([name, left >= 0 ? fitting : [...fitting, cutMark]]);
    if (left < 0) break;
  }
  return { roles: roles.slice(0, maxRoles), traits: Object.fromEntries(kept) };
}

/** With what separates it from the next. */
function jsonBytes(text: string): number {
  return Buffer.byteLength(JSON.stringify(text)) + 4;
}
