import type { z } from "zod";
import { valueAt } from "./cross-rules.ts";
import { keysAt, typeText } from "./issue-text.ts";
import { nearestName } from "./nearest-name.ts";

/** What is wrong with one field of a resource. */
export interface ResourceProblem {
  /** The field; of an unknown one, the field itself and not the object around it. */
  readonly path: readonly PropertyKey[];
  /** What is wrong, and what to write: continues the field's name. */
  readonly text: string;
}

/** The problems that a schema has with a resource, in the words of someone who writes one. Pure. */
export function resourceProblems(schema: z.ZodType, error: z.ZodError, resource: unknown): readonly ResourceProblem[] {
  return error.issues.flatMap((issue): readonly ResourceProblem[] => {
    if (issue.code === "unrecognized_keys") {
      const known = keysAt(schema, issue.path);
      return issue.keys.map((key) => ({ path: [...issue.path, key], text: unknownText(key, known) }));
    }
    return [{ path: issue.path, text: problemText(issue, valueAt(resource, issue.path)) }];
  });
}

function unknownText(key: string, known: readonly string[]): string {
  const near = nearestName(key, known);
  if (near !== undefined) return `is not a known field; did you mean ${near}?`;
  return known.length === 0 ? "is not a known field" : `is not a known field; the fields here are ${known.join(", ")}`;
}

/** The schema's own message where it has one. */
function problemText(issue: z.core.$ZodIssue, value: unknown): string {
  if (issue.code === "invalid_key") return issue.issues[0]?.message ?? issue.message;
  if (!issue.message.startsWith("Invalid ")) return issue.message;
  if (issue.code === "invalid_value") {
    const wanted = issue.values.map((one) => String(one)).join(" or ");
    return value === undefined ? `is missing; write ${String(issue.path.at(-1))}: ${wanted}` : `must be ${wanted}`;
  }
  if (issue.code !== "invalid_type") return issue.message;
  // YAML 1.2, which resources are, has no yes and no.
  if (issue.expected === "boolean" && value !== undefined && value !== null) return "must be true or false";
  const inBrackets = issue.expected === "array" && typeof value === "string" ? "; write it in brackets: [ ]" : "";
  return typeText(issue, value) + inBrackets;
}
