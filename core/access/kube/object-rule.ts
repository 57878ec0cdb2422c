import { coreGroup, type KubeKind, type KubeRule, type KubeVerb, kubeKinds } from "../../resources/kube-rule.ts";
import type { Traits } from "../../resources/user.ts";
import { isExpression, matchValue } from "../match-labels.ts";
import { expandTemplate, isTemplate } from "../templates.ts";
import { type Cover, coverOf, coverOfLiteral, type NameScope, narrowest, widest } from "./cover.ts";
import type { ObjectAsk } from "./kube-ask.ts";

/** An entry of `kubernetes_resources` for one user: its templates are expanded. */
export interface ObjectRule {
  readonly kind: string;
  /** Undefined: objects in no namespace. */
  readonly namespace: NamePattern | undefined;
  readonly name: NamePattern;
  readonly verbs: readonly (KubeVerb | "*")[];
}

/** A pattern, or the values of a template, which are literal. */
export type NamePattern = { readonly pattern: string } | { readonly values: readonly string[] };

/** `denies`: what cannot be read stands for everything, as it may be meant for anything; otherwise for nothing. Pure. */
export function objectRule(rule: KubeRule, { traits, denies }: { readonly traits: Traits; readonly denies: boolean }): ObjectRule {
  const patternOf = (text: string): NamePattern => {
    if (!isTemplate(text) || isExpression(text)) return isUnreadable(text) && denies ? { pattern: "*" } : { pattern: text };
    try {
      return { values: expandTemplate(text, traits) };
    } catch {
      return denies ? { pattern: "*" } : { values: [] };
    }
  };
  const namespace = rule.namespace === undefined ? undefined : patternOf(rule.namespace);
  return { kind: rule.kind, namespace, name: patternOf(rule.name), verbs: rule.verbs };
}

/** Whether a regular expression is broken: it then matches whatever the match of a broken one is said to be. */
function isUnreadable(text: string): boolean {
  return isExpression(text) && matchValue(text, "", true) !== matchValue(text, "", false);
}

type Place = Pick<ObjectAsk, "group" | "resource" | "isNamespaced">;
type Scope = Pick<ObjectAsk, "namespace" | "name" | "prefix">;

/**
 * How much of what is asked for a rule matches, whatever its verbs. A rule for the kind `namespace` is for all that is in such a namespace too. Objects in
 * no namespace are matched by their kind, or by `*` without a limit to some namespaces. Pure.
 */
export function ruleCover(rule: ObjectRule, place: Place, scope: Scope): Cover {
  const ofNamespace = (pattern: NamePattern): Cover => patternCover(pattern, scope.namespace === undefined ? anyName : { exact: scope.namespace });
  if (place.isNamespaced && rule.kind === "namespace") return ofNamespace(rule.name);
  if (!isOfKind(rule.kind, place)) return "none";
  const names: NameScope = scope.name === undefined ? { prefix: scope.prefix ?? "" } : { exact: scope.name };
  if (place.isNamespaced) return rule.namespace === undefined ? "none" : narrowest([ofNamespace(rule.namespace), patternCover(rule.name, names)]);
  const isAnywhere = rule.namespace === undefined || patternCover(rule.namespace, anyName) === "all";
  return rule.kind === "*" && !isAnywhere ? "none" : patternCover(rule.name, names);
}

const anyName: NameScope = { prefix: "" };

function patternCover(of: NamePattern, scope: NameScope): Cover {
  return "pattern" in of ? coverOf(of.pattern, scope) : widest(of.values.map((value) => coverOfLiteral(value, scope)));
}

/** Whether a rule of this kind is for the objects at this place. Pure. */
function isOfKind(kind: string, { group, resource }: Place): boolean {
  if (kind === "*") return true;
  if (Object.hasOwn(kubeKinds, kind)) return kubeKinds[kind as KubeKind].places.some((one) => one.group === group && one.resource === resource);
  return kind === `${resource}.${group === "" ? coreGroup : group}`;
}

export function hasVerb({ verbs }: Pick<ObjectRule, "verbs">, verb: KubeVerb): boolean {
  return verbs.includes(verb) || verbs.includes("*");
}

/** Whether the rule is for everything there is, now and later. Pure. */
export function isEverything({ kind, namespace, name, verbs }: ObjectRule): boolean {
  const isAll = (of: NamePattern | undefined): boolean => of !== undefined && patternCover(of, anyName) === "all";
  return kind === "*" && verbs.includes("*") && isAll(namespace) && isAll(name);
}

/** Large for all names, then for patterns of names, then for single ones; the same for namespaces comes second. Pure. */
export function ruleWidth({ namespace, name }: ObjectRule): number {
  return 4 * patternWidth(name) + (namespace === undefined ? 0 : patternWidth(namespace));
}

function patternWidth(of: NamePattern): number {
  if (!("pattern" in of)) return 1;
  if (coverOf(of.pattern, anyName) === "all") return 3;
  return of.pattern.includes("*") || isExpression(of.pattern) ? 2 : 1;
}
