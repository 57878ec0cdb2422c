import { PlatformError } from "../errors/platform-error.ts";
import type { MfaMark, UserIdentity } from "../identity/identity.ts";
import { type ServiceKind, serviceKinds } from "../kinds/service-kinds.ts";
import type { Role } from "../resources/role.ts";
import { type Ask, isServed } from "./ask.ts";
import { hasSay, wantedOf } from "./refuse.ts";

/* MFA for each session: a role with `require_session_mfa` demands a certificate that a fresh one-time code confirmed, for this one resource. */

/** What such a certificate may be for: an id of a host, the name of a resource, or the id of a session to join. */
export type MfaTarget = Pick<MfaMark, "kind" | "name">;

/**
 * The role that demands a code for this access, of all that the user holds; undefined: none does. A role's demand counts for the resources that it allows
 * itself; that of a role without labels of any kind, which only restricts, counts everywhere. `isPartial`: as in `authorize`. Pure.
 */
export function demandingRole(
  { traits }: Pick<UserIdentity, "traits">,
  held: readonly Role[],
  ask: Ask,
  { ownAccount = false, isPartial = false }: { readonly ownAccount?: boolean; readonly isPartial?: boolean | undefined } = {},
): Role | undefined {
  const demanding = held.filter(({ spec }) => spec.options?.require_session_mfa === true);
  if (demanding.length === 0 || ask.kind === "resource") return undefined;
  // No role restricts where joining happens: the options of all of them count.
  if (ask.kind === "join") return ask.session === undefined ? undefined : demanding[0];
  const wanted = wantedOf(ask, ownAccount);
  const allows = (role: Role): boolean => namesLabels(role, wanted.labelsCondition) && hasSay(role, wanted, traits);
  const binds = (role: Role): boolean => onlyRestricts(role) && hasSay(role, wanted, traits);
  // What is not known here may be allowed by the role without a demand.
  const isOpen = isPartial && held.some((role) => allows(role) && !demanding.includes(role));
  return demanding.find((role) => binds(role) || (!isOpen && allows(role)));
}

/** Whether a role names no labels of any kind: it allows no resource, and its options count everywhere. Pure. */
export function onlyRestricts(role: Role): boolean {
  return !Object.values(serviceKinds).some(({ labels }) => namesLabels(role, labels));
}

function namesLabels({ spec }: Role, condition: (typeof serviceKinds)[ServiceKind]["labels"]): boolean {
  return Object.keys(spec.allow?.[condition] ?? {}).length > 0;
}

/** What a certificate has to be for, to be used for this; undefined: nothing that a session is opened with. Pure. */
export function mfaTargetOf(ask: Ask): MfaTarget | undefined {
  if (isServed(ask)) return { kind: ask.kind, name: ask.served.name };
  switch (ask.kind) {
    case "ssh":
      return { kind: "ssh", name: ask.node.id };
    case "join":
      return ask.session === undefined ? undefined : { kind: "join", name: ask.session.sid };
    case "resource":
      return undefined;
  }
}

/** Why a certificate that a code confirmed may not be used for this: it is for one resource alone. Undefined when it may, or has no mark. Pure. */
export function refuseMfaTarget({ name, mfa }: Pick<UserIdentity, "name" | "mfa">, ask: Ask): string | undefined {
  if (mfa === undefined) return undefined;
  // Whether any session may be joined: no session is opened by it.
  if (ask.kind === "join" && ask.session === undefined) return undefined;
  const target = mfaTargetOf(ask);
  if (target?.kind === mfa.kind && target.name === mfa.name) return undefined;
  return `access denied: the one-time code of ${name} was for ${mfa.kind} ${JSON.stringify(mfa.name)}, and for nothing else`;
}

/** The refusal, `mfa_required`, by which clients know that they have to ask for a code and try again. Pure. */
export function mfaRequired(ask: Ask, { metadata }: Role): PlatformError {
  const { what, command } = described(ask);
  return new PlatformError("mfa_required", `${needsCode(what)} (role ${metadata.name}, require_session_mfa)`, {
    hint: `use ${command}, which asks for the code`,
  });
}

/** The same where only `what` the session is with is known for certain. Pure. */
export function mfaRequiredAt(what: string): PlatformError {
  return new PlatformError("mfa_required", needsCode(what));
}

function needsCode(what: string): string {
  return `${what} needs a one-time code for each session`;
}

function described(ask: Ask): { readonly what: string; readonly command: string } {
  if (!isServed(ask)) {
    if (ask.kind === "join") return { what: "joining this session", command: "tsh join" };
    return { what: ask.kind === "ssh" ? `host ${ask.node.name}` : "this", command: "tsh ssh" };
  }
  const { name } = ask.served;
  const commands = { app: `tsh proxy app ${name}`, db: `tsh db connect ${name} or tsh proxy db ${name}`, kube: `tsh proxy kube ${name}` };
  return { what: `${serviceKinds[ask.kind].served.noun} ${name}`, command: commands[ask.kind] };
}
