import type { Labels } from "../resources/metadata.ts";
import type { LabelMatchers } from "../resources/role.ts";

/**
 * Whether labels satisfy matchers: every key must match (AND), any value of a list will do (OR).
 * No matchers match nothing; `'*': '*'` matches everything, labels or not.
 */
export function matchLabels(matchers: LabelMatchers | undefined, labels: Labels): boolean {
  const entries = Object.entries(matchers ?? {});
  if (entries.length === 0) return false;
  return entries.every(([key, wanted]) => {
    const values = typeof wanted === "string" ? [wanted] : wanted;
    if (key === "*") return values.includes("*");
    const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
    return value !== undefined && values.some((pattern) => matchValue(pattern, value));
  });
}

/** Exact text, `*`, a glob with `*`, or `^a regular expression$`. A broken expression matches nothing. */
export function matchValue(pattern: string, value: string): boolean {
  if (pattern === "*" || pattern === value) return true;
  if (pattern.startsWith("^") && pattern.endsWith("$")) {
    try {
      return new RegExp(pattern, "u").test(value);
    } catch {
      return false;
    }
  }
  return pattern.includes("*") && matchGlob(pattern.split("*"), value);
}

/** Linear: the parts between stars are looked for from left to right. */
function matchGlob(parts: readonly string[], value: string): boolean {
  const first = parts[0] ?? "";
  const last = parts.at(-1) ?? "";
  if (value.length < first.length + last.length || !value.startsWith(first) || !value.endsWith(last)) return false;
  let position = first.length;
  const limit = value.length - last.length;
  for (const part of parts.slice(1, -1)) {
    const found = value.indexOf(part, position);
    if (found < 0 || found + part.length > limit) return false;
    position = found + part.length;
  }
  return true;
}
