import type { z } from "zod";
import { nearestName } from "./nearest-name.ts";
import { isReferenceKey } from "./reference-keys.ts";

/** The message for an unknown key in the section `path`, whose known keys are given. */
export function unknownKeyText(path: string, key: string, known: readonly string[]): string {
  const full = path === "" ? key : `${path}.${key}`;
  if (isReferenceKey(path, key)) return `${full} is not supported yet; remove it${path === "" ? ", or set enabled: no" : ""}`;
  const near = nearestName(key, known);
  const shown = JSON.stringify(key.slice(0, 64)).slice(1, -1);
  const name = path === "" ? shown : `${path}.${shown}`;
  if (near !== undefined) return `${name} is not a known key; did you mean ${near}?`;
  return `${name} is not a known key; the keys here are ${known.join(", ")}`;
}

/** The error of a value, as "must …" after the key's full name. */
export function valueText(issue: z.core.$ZodIssue, value: unknown): string {
  const path = issue.path.map(String).join(".");
  if (issue.code === "invalid_key") return `${path} ${issue.issues[0]?.message ?? issue.message}`;
  if (issue.code !== "invalid_type") return `${path} ${issue.message}`;
  if (value === undefined && !path.includes(".")) return `${path} is missing`;
  return `${path} ${typeText(issue, value)}`;
}

/** The error of a value with the wrong type: "must be …, not …". */
export function typeText(issue: { readonly expected: string }, value: unknown): string {
  if (value === undefined) return "is missing; add it";
  const quoted = issue.expected === "string" && typeof value === "number" ? "; put it in quotes" : "";
  if (value === null) return "is empty; give it a value or remove the line";
  if (issue.expected === "int" && typeof value === "number") return "must be a whole number";
  return `must be ${kinds[issue.expected] ?? issue.expected}, not ${kindOf(value)}${quoted}`;
}

const kinds: Readonly<Record<string, string>> = {
  string: "text",
  number: "a number",
  int: "a whole number",
  boolean: "yes or no",
  object: "a section of keys",
  record: "a section of keys",
  array: "a list",
};

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  return kinds[typeof value] ?? typeof value;
}

/** The keys that a schema knows at a path. */
export function keysAt(schema: unknown, path: readonly PropertyKey[]): readonly string[] {
  const object = unwrap(schema);
  const [head, ...rest] = path;
  if (head === undefined) return object?.shape === undefined ? [] : Object.keys(object.shape);
  if (object?.shape !== undefined) return keysAt(object.shape[String(head)], rest);
  const inner = object?.element ?? object?.valueType;
  return inner === undefined ? [] : keysAt(inner, rest);
}

interface Def {
  readonly type?: string;
  readonly innerType?: unknown;
  readonly in?: unknown;
  readonly out?: unknown;
  readonly shape?: Readonly<Record<string, unknown>>;
  readonly element?: unknown;
  readonly valueType?: unknown;
}

/** Unwraps optional, default and pipe to the object, record or array inside. */
function unwrap(schema: unknown): Def | undefined {
  let def = (schema as { def?: Def } | undefined)?.def;
  for (let depth = 0; depth < 8 && def !== undefined; depth++) {
    if (def.type === "pipe") {
      const out = (def.out as { def?: Def }).def;
      def = out?.type === "transform" ? (def.in as { def?: Def }).def : out;
    } else if (def.innerType !== undefined) def = (def.innerType as { def?: Def }).def;
    else return def;
  }
  return def;
}
