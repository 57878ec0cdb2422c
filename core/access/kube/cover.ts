import { isExpression, matchValue } from "../match-labels.ts";

/** Names that a request may be about: one, or all that begin with a prefix (empty: all names). */
export type NameScope = { readonly exact: string } | { readonly prefix: string };

/** How much of a scope is matched. `some`: possibly a part of it. */
export type Cover = "none" | "some" | "all";

/** How much of the scope a pattern of a role matches. Pure. */
export function coverOf(pattern: string, scope: NameScope): Cover {
  if ("exact" in scope) return matchValue(pattern, scope.exact) ? "all" : "none";
  if (pattern === "*" || pattern === "^.*$") return "all";
  if (isExpression(pattern)) return "some";
  const star = pattern.indexOf("*");
  if (star < 0) return pattern.startsWith(scope.prefix) ? "some" : "none";
  const head = pattern.slice(0, star);
  if (star === pattern.length - 1 && scope.prefix.startsWith(head)) return "all";
  return head.startsWith(scope.prefix) || scope.prefix.startsWith(head) ? "some" : "none";
}

/** A literal name: a value of a trait is not a pattern. Pure. */
export function coverOfLiteral(name: string, scope: NameScope): Cover {
  if ("exact" in scope) return name === scope.exact ? "all" : "none";
  return name.startsWith(scope.prefix) ? "some" : "none";
}

/** The larger of several: alternatives. Pure. */
export function widest(covers: readonly Cover[]): Cover {
  if (covers.includes("all")) return "all";
  return covers.includes("some") ? "some" : "none";
}

/** The smaller of several: conditions that all have to hold. Pure. */
export function narrowest(covers: readonly Cover[]): Cover {
  if (covers.includes("none")) return "none";
  return covers.includes("some") ? "some" : "all";
}
