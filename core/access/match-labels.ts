import { PlatformError } from "../errors/platform-error.ts";
import type { Labels } from "../resources/metadata.ts";
import type { LabelMatchers } from "../resources/role.ts";
import type { Traits } from "../resources/user.ts";
import { compileExpression, type Program } from "./expression/compile-expression.ts";
import { matchExpression } from "./expression/match-expression.ts";
import { expandTemplate, isTemplate } from "./templates.ts";

export interface MatchOptions {
  /** Traits of the user, for templates in the matchers; omitted for none. */
  readonly traits?: Traits;
  /** Whether an unreadable value counts as a match: it does where a match denies. */
  readonly unreadable?: boolean;
}

/**
 * Whether labels satisfy matchers: every key must match (AND), any value of a list suffices (OR).
 * No matchers match nothing; `'*': '*'` matches everything, labels or not.
 */
export function matchLabels(matchers: LabelMatchers | undefined, labels: Labels, options: MatchOptions = {}): boolean {
  const entries = Object.entries(matchers ?? {});
  if (entries.length === 0) return false;
  return entries.every(([key, wanted]) => {
    const patterns = typeof wanted === "string" ? [wanted] : wanted;
    if (key === "*") return patterns.includes("*");
    const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
    return value !== undefined && patterns.some((pattern) => matchPattern(pattern, value, options));
  });
}

/** The value of a template is compared literally: a `*` in a trait is a star, not a pattern that matches everything. */
function matchPattern(pattern: string, value: string, { traits = {}, unreadable = false }: MatchOptions): boolean {
  if (!isTemplate(pattern) || isExpression(pattern)) return matchValue(pattern, value, unreadable);
  try {
    return expandTemplate(pattern, traits).includes(value);
  } catch {
    return unreadable;
  }
}

/** Exact text, `*`, a glob with `*`, or `^an expression of RE2$`, in linear time. `unreadable` is the result for a broken expression. */
export function matchValue(pattern: string, value: string, unreadable = false): boolean {
  if (pattern === "*" || pattern === value) return true;
  if (!isExpression(pattern)) return pattern.includes("*") && matchGlob(pattern.split("*"), value);
  try {
    return matchExpression(compiled(pattern), value);
  } catch (thrown) {
    if (thrown instanceof PlatformError) return unreadable;
    throw thrown;
  }
}

/** Whether a matcher's value is an expression, readable or not. */
export function isExpression(pattern: string): boolean {
  return pattern.startsWith("^") && pattern.endsWith("$");
}

const programs = new Map<string, Program>();
const maxPrograms = 256;

/** Roles are matched against every host: compiled expressions are cached. */
function compiled(pattern: string): Program {
  const known = programs.get(pattern);
  if (known !== undefined) return known;
  const program = compileExpression(pattern);
  if (programs.size >= maxPrograms) programs.clear();
  programs.set(pattern, program);
  return program;
}

/** Linear: searches the parts between stars from left to right. */
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
