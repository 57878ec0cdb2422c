import { PlatformError } from "../../errors/platform-error.ts";
import type { KubeVerb } from "../../resources/kube-rule.ts";
import { type Cover, narrowest, widest } from "./cover.ts";
import type { KubeAccess, Loan } from "./kube-access.ts";
import { type KubeAsk, kindText, type ObjectAsk, type WantedSubjects } from "./kube-ask.ts";
import { hasVerb, isEverything, type ObjectRule, ruleCover, ruleWidth } from "./object-rule.ts";

/** A request that may go on, as whom, and what of the answer may be shown. */
export interface KubeVerdict {
  /** Users and groups for the headers with which the agent speaks for the user. */
  readonly user: string;
  readonly groups: readonly string[];
  /** Whose loan it is. */
  readonly roles: readonly string[];
  /** Whether an object may be shown, or deleted with others; undefined: all of them. `namespace` is empty for one in none. */
  readonly shows?: ((namespace: string, name: string) => boolean) | undefined;
  /** The rules by which it shows. */
  readonly shown?: Shown | undefined;
  /** For the client: objects that only other roles allow are missing. */
  readonly warning?: string | undefined;
}

/** Everyone who is authenticated is in it, whatever the roles say. */
const everyone = "system:authenticated";

/**
 * Whether a request may go on, and as whom. Groups of a role are sent only with requests for objects that the rules of roles with the same users and groups
 * allow. A request for one object, or for objects that these rules cover as a whole, gets everything that such roles lend. A list of which several loans
 * cover only a part gets the groups of one: that with the widest rules, unless the client names users or groups. Throws `denied`. Pure.
 */
export function decideKube(access: KubeAccess, ask: KubeAsk, wanted: WantedSubjects = { groups: [] }): KubeVerdict {
  const loans = wantedLoans(access, wanted);
  switch (ask.type) {
    case "open":
      return asOf(access, loans, wanted);
    case "path": {
      const whole = loans.filter(({ rules }) => rules.some(isEverything));
      if (whole.length > 0) return asOf(access, whole, wanted);
      throw refusal(access, `use the path ${ask.path.slice(0, 200)}: it is not an object's, and only a role that allows everything allows it`);
    }
    case "object":
      return decideObject(access, ask, { loans, wanted });
  }
}

interface Choice {
  readonly loans: readonly Loan[];
  readonly wanted: WantedSubjects;
}

function decideObject(access: KubeAccess, ask: ObjectAsk, { loans, wanted }: Choice): KubeVerdict {
  const denials = access.denied.map(({ role, rule }) => ({ role, rule, cover: deniedCover(rule, ask) }));
  const denying = denials.find(({ cover }) => cover === "all" || (cover === "some" && isOfOneObject(ask)));
  if (denying !== undefined) throw refusal(access, `${askText(ask)}: role ${denying.role} denies it`);
  const covers = loans.map((loan) => ({ loan, cover: loanCover(loan.rules, ask) }));
  const whole = covers.filter(({ cover }) => cover === "all").map(({ loan }) => loan);
  const hidden = denials.filter(({ cover }) => cover === "some").map(({ rule }) => rule);
  if (whole.length > 0) {
    const shown = { rules: undefined, hidden };
    return { ...asOf(access, whole, wanted), ...(hidden.length > 0 && { shows: shownBy(shown, ask), shown }) };
  }
  const parts = isOfOneObject(ask) ? [] : covers.filter(({ cover }) => cover === "some").map(({ loan }) => loan);
  const [first, ...others] = widestFirst(parts, ask);
  if (first === undefined) throw notAllowed(access, ask, loans);
  const warning = others.length === 0 ? undefined : partText(first, others);
  const shown = { rules: first.rules, hidden };
  return { ...asOf(access, [first], wanted), shows: shownBy(shown, ask), shown, ...(warning !== undefined && { warning }) };
}

/** The loans that the client's own headers leave, each of which lends the wanted user and one of the wanted groups. Throws `denied` for what none lends. */
function wantedLoans(access: KubeAccess, { user, groups }: WantedSubjects): readonly Loan[] {
  if (access.loans.length === 0) throw noLoanError(access);
  const lendsUser = (loan: Loan): boolean => user === undefined || usersOf(access, loan).includes(user);
  const ofUser = access.loans.filter(lendsUser);
  if (ofUser.length === 0) throw refusal(access, `act as user ${quoted(user ?? "")}: no role lists it in kubernetes_users`);
  const own = groups.filter((group) => group !== everyone);
  const unlent = own.find((group) => !ofUser.some((loan) => loan.groups.includes(group)));
  if (unlent !== undefined) throw refusal(access, `act in group ${quoted(unlent)}: no role that applies lists it in kubernetes_groups`);
  return own.length === 0 ? ofUser : ofUser.filter((loan) => own.some((group) => loan.groups.includes(group)));
}

/** For a user to whom no role lends anything at the cluster. */
export function noLoanError(access: KubeAccess): PlatformError {
  const what = "do anything: no role that allows its labels lists kubernetes_groups or kubernetes_users";
  return refusal(access, what, "`tctl access explain USER kube/CLUSTER` shows what each role says");
}

function usersOf({ user }: KubeAccess, { users }: Loan): readonly string[] {
  return users.length === 0 ? [user] : users;
}

/** The identity that these loans, of which each allows the whole request, lend together. Throws `denied`. */
function asOf(access: KubeAccess, loans: readonly Loan[], wanted: WantedSubjects): KubeVerdict {
  const groups = [...new Set(loans.flatMap((loan) => loan.groups))];
  const unlent = wanted.groups.find((group) => group !== everyone && !groups.includes(group));
  if (unlent !== undefined) throw refusal(access, `act in group ${quoted(unlent)} here: the roles that lend it do not allow this request`);
  const users = [...new Set(loans.flatMap((loan) => loan.users))];
  const [only = access.user, ...more] = wanted.user === undefined ? users : [wanted.user];
  if (more.length > 0) {
    throw refusal(
      access,
      `do this without a choice: its roles lend the users ${[only, ...more].slice(0, 8).map(quoted).join(", ")}`,
      "choose one with --as",
    );
  }
  return {
    user: only,
    groups: wanted.groups.length > 0 ? [...new Set(wanted.groups)] : [...groups, ...(groups.includes(everyone) ? [] : [everyone])],
    roles: loans.flatMap(({ roles }) => roles),
  };
}

/** For each verb some rule: rules of roles with the same loan add up. */
function loanCover(rules: readonly ObjectRule[], ask: ObjectAsk): Cover {
  return narrowest(ask.verbs.map((verb) => widest(rules.filter((rule) => hasVerb(rule, verb)).map((rule) => ruleCover(rule, ask, ask)))));
}

function deniedCover(rule: ObjectRule, ask: ObjectAsk): Cover {
  return ask.verbs.some((verb) => hasVerb(rule, verb)) ? ruleCover(rule, ask, ask) : "none";
}

/** Verbs whose answer, or effect, can be cut down to some objects. */
const listing: readonly KubeVerb[] = ["list", "watch", "deletecollection"];

/** Whether it is for one object, known or not yet: all or nothing. */
function isOfOneObject({ name, verbs }: ObjectAsk): boolean {
  return name !== undefined || !verbs.every((verb) => listing.includes(verb));
}

interface Shown {
  /** Undefined: all that are not hidden. */
  readonly rules: readonly ObjectRule[] | undefined;
  readonly hidden: readonly ObjectRule[];
}

function shownBy({ rules, hidden }: Shown, ask: ObjectAsk): (namespace: string, name: string) => boolean {
  const { group, resource, isNamespaced, verbs } = ask;
  const matches = (rule: ObjectRule, namespace: string, name: string): boolean => {
    const scope = { name, ...(isNamespaced && { namespace }) };
    return ruleCover(rule, { group, resource, isNamespaced }, scope) === "all";
  };
  const byVerb = rules === undefined ? [] : verbs.map((verb) => rules.filter((rule) => hasVerb(rule, verb)));
  return (namespace, name) =>
    byVerb.every((ofVerb) => ofVerb.some((rule) => matches(rule, namespace, name))) && !hidden.some((rule) => matches(rule, namespace, name));
}

/** Those with the widest rules first; equal ones in the order in which they are. */
function widestFirst(loans: readonly Loan[], ask: ObjectAsk): readonly Loan[] {
  const counts = (rule: ObjectRule): boolean => ask.verbs.some((verb) => hasVerb(rule, verb)) && ruleCover(rule, ask, ask) !== "none";
  const width = ({ rules }: Loan): number => Math.max(0, ...rules.filter(counts).map(ruleWidth));
  return loans.toSorted((one, other) => width(other) - width(one));
}

function partText(first: Loan, others: readonly Loan[]): string {
  const groups = [...new Set(others.flatMap((loan) => [...loan.groups, ...loan.users]))].slice(0, 8).join(", ");
  const roles = others
    .flatMap((loan) => loan.roles)
    .slice(0, 8)
    .join(", ");
  return `shown is what role ${first.roles.slice(0, 8).join(", ")} allows; other objects that role ${roles} allows are missing: choose with --as-group or --as (${groups})`;
}

function notAllowed(access: KubeAccess, ask: ObjectAsk, loans: readonly Loan[]): PlatformError {
  const roles = [...new Set(loans.flatMap((loan) => loan.roles))].slice(0, 8).join(", ");
  const rule = [
    `kind: ${kindText(ask)}`,
    ...(ask.isNamespaced ? [`namespace: ${ask.namespace ?? "'*'"}`] : []),
    `name: ${ask.name ?? "'*'"}`,
    `verbs: [${ask.verbs.join(", ")}]`,
  ];
  return refusal(
    access,
    `${askText(ask)}: no rule in kubernetes_resources of ${roles} allows it`,
    `a role that lends users or groups there needs the rule {${rule.join(", ")}}`,
  );
}

/** `list pod in namespace "a"`. */
export function askText({ verbs, name, namespace, isNamespaced, ...kind }: ObjectAsk): string {
  const place = !isNamespaced ? "" : namespace === undefined ? " in all namespaces" : ` in namespace ${quoted(namespace)}`;
  return `${verbs.join(" and ")} ${kindText(kind)}${name === undefined ? "" : ` ${quoted(name)}`}${place}`;
}

function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 256));
}

function refusal({ user, cluster }: KubeAccess, what: string, hint?: string): PlatformError {
  return new PlatformError("denied", `access denied: ${user} may not, at Kubernetes cluster ${quoted(cluster)}, ${what}`, { hint });
}
