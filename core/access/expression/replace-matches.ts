import { PlatformError } from "../../errors/platform-error.ts";
import { compileFinder, type Program } from "./compile-expression.ts";
import { findMatch, type Slots } from "./match-expression.ts";

export interface Replacer {
  readonly program: Program;
  readonly parts: readonly Part[];
}
/** Literal text, or the match of a group. */
type Part = string | { readonly group: number };

/** Maximum lengths: searching again after each match is quadratic in the text. */
const maxSteps = 500;
/** A longer text has no match; an e-mail address has up to 254 characters. */
const maxText = 256;

/** Throws `invalid` for an expression that cannot be read or is too large, or a replacement that names a missing group. */
export function compileReplacer(pattern: string, replacement: string): Replacer {
  const { program, groups } = compileFinder(pattern);
  if (program.length > maxSteps) {
    throw new PlatformError("invalid", `the expression ${JSON.stringify(pattern.slice(0, 200))} is too large for regexp.replace`);
  }
  return { program, parts: readReplacement(replacement, groups) };
}

/** The text with every match replaced, as Go's ReplaceAllString does; undefined when nothing matches. */
export function replaceMatches({ program, parts }: Replacer, text: string): string | undefined {
  const chars = [...text];
  if (chars.length > maxText) return undefined;
  const codes = chars.map((char) => char.codePointAt(0) as number);
  const between = (from: number | undefined, to: number | undefined): string =>
    from === undefined || to === undefined ? "" : chars.slice(from, to).join("");
  const filled = (slots: Slots): string =>
    parts.map((part) => (typeof part === "string" ? part : between(slots[2 * part.group], slots[2 * part.group + 1]))).join("");
  let replaced: string | undefined;
  let done = 0;
  for (let position = 0; position <= codes.length; ) {
    const slots = findMatch(program, codes, position);
    const [start, end] = slots ?? [];
    if (slots === undefined || start === undefined || end === undefined) break;
    replaced = (replaced ?? "") + between(done, start);
    // No empty match directly after another match.
    if (end > done || start === 0) replaced += filled(slots);
    done = end;
    position = Math.max(end, position + 1);
  }
  return replaced === undefined ? undefined : replaced + between(done, chars.length);
}

/** `$1`, `${1}`, `$name`, `${name}`; `$$` is a dollar. */
function readReplacement(text: string, groups: readonly string[]): readonly Part[] {
  const wrong = (why: string): PlatformError =>
    new PlatformError("invalid", `the replacement ${JSON.stringify(text.slice(0, 200))} cannot be used: ${why}`, {
      hint: "write $1 for the first group, $name for a named one (in braces where a letter follows), $$ for a dollar",
    });
  return (text.match(/\$\$|\$\w+|\$\{\w+\}|\$|[^$]+/g) ?? []).map((piece) => {
    if (piece === "$$") return "$";
    if (!piece.startsWith("$")) return piece;
    const name = piece.replace(/[${}]/g, "");
    if (name === "") throw wrong("it has a single dollar");
    const group = /^\d+$/.test(name) ? Number(name) : groups.indexOf(name) + 1;
    if (group > groups.length || (group === 0 && name !== "0")) throw wrong(`the expression has no group ${name}`);
    return { group };
  });
}
