import type { KubeVerdict } from "./decide-kube.ts";
import type { ObjectRule } from "./object-rule.ts";

/**
 * Whether a request that runs may go on after access has changed: its user and all groups with which it runs are still lent for it, and what it shows may
 * still be shown. Roles that were added end nothing. Pure.
 */
export function stillHolds(before: KubeVerdict, after: KubeVerdict): boolean {
  if (before.user !== after.user || !before.groups.every((group) => after.groups.includes(group))) return false;
  if (after.shown === undefined) return true;
  if (before.shown === undefined) return false;
  const isShown = after.shown.rules === undefined || isWithin(before.shown.rules, after.shown.rules);
  return isShown && isWithin(after.shown.hidden, before.shown.hidden);
}

function isWithin(some: readonly ObjectRule[] | undefined, all: readonly ObjectRule[]): boolean {
  if (some === undefined) return false;
  const known = new Set(all.map((rule) => JSON.stringify(rule)));
  return some.every((rule) => known.has(JSON.stringify(rule)));
}
