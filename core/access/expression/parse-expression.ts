import { type CharTest, ignoringCase, readClass, readEscape } from "./char-class.ts";
import { ExpressionText } from "./expression-text.ts";

/** A position between two characters: start or end of the text, a word's edge, or anything but one. */
export type Assertion = "start" | "end" | "edge" | "inside";

export type ExpressionNode =
  | { readonly kind: "char"; readonly test: CharTest }
  | { readonly kind: "assert"; readonly assertion: Assertion }
  | { readonly kind: "sequence"; readonly parts: readonly ExpressionNode[] }
  | { readonly kind: "either"; readonly options: readonly ExpressionNode[] }
  /** A capturing group, numbered from 1. */
  | { readonly kind: "group"; readonly number: number; readonly part: ExpressionNode }
  /** `most` is Infinity for "any number"; `lazy` takes as few as possible. */
  | { readonly kind: "repeat"; readonly part: ExpressionNode; readonly least: number; readonly most: number; readonly lazy: boolean };

/** Maximum depth of nested groups. */
const maxDepth = 100;
/** Maximum count of a repetition, as in RE2. */
const maxRepeat = 1000;

interface Scope {
  readonly depth: number;
  ignoreCase: boolean;
}

export interface Expression {
  readonly node: ExpressionNode;
  /** Names of the groups from number 1 on; empty for a group without a name. */
  readonly groups: readonly string[];
}

/** The common part of RE2's syntax: classes, groups, alternatives, repetition, anchors, `(?i)`. Throws `invalid` with the reason. */
export function parseExpression(pattern: string): Expression {
  const text = new ExpressionText(pattern);
  const node = readEither(text, { depth: 0, ignoreCase: false });
  if (text.peek() !== undefined) throw text.wrong("a parenthesis is closed that was not opened");
  return { node, groups: text.groups };
}

function readEither(text: ExpressionText, scope: Scope): ExpressionNode {
  if (scope.depth > maxDepth) throw text.wrong("its groups are nested too deep");
  const options = [readSequence(text, scope)];
  while (text.skip("|")) options.push(readSequence(text, scope));
  const [only] = options;
  return options.length === 1 && only !== undefined ? only : { kind: "either", options };
}

function readSequence(text: ExpressionText, scope: Scope): ExpressionNode {
  const parts: ExpressionNode[] = [];
  for (let char = text.peek(); char !== undefined && char !== "|" && char !== ")"; char = text.peek()) {
    const part = readPart(text, scope);
    if (part !== undefined) parts.push(readRepeat(text, part));
  }
  return { kind: "sequence", parts };
}

function readRepeat(text: ExpressionText, part: ExpressionNode): ExpressionNode {
  const bounds = readBounds(text);
  if (bounds === undefined) return part;
  const lazy = text.skip("?");
  if (readBounds(text) !== undefined) throw text.wrong("a repetition is repeated");
  return { kind: "repeat", part, lazy, ...bounds };
}

function readBounds(text: ExpressionText): { least: number; most: number } | undefined {
  if (text.skip("*")) return { least: 0, most: Number.POSITIVE_INFINITY };
  if (text.skip("+")) return { least: 1, most: Number.POSITIVE_INFINITY };
  if (text.skip("?")) return { least: 0, most: 1 };
  const counted = text.take(/^\{(\d{1,4}(?:,\d{0,4})?)\}/);
  if (counted === undefined) return undefined;
  const [from = "", to] = counted.split(",");
  const least = Number(from);
  const most = to === undefined ? least : to === "" ? Number.POSITIVE_INFINITY : Number(to);
  if (most < least || least > maxRepeat || (most !== Number.POSITIVE_INFINITY && most > maxRepeat)) {
    throw text.wrong(`{${counted}} is not a count from 0 to ${maxRepeat}`);
  }
  return { least, most };
}

const anchors: Readonly<Record<string, Assertion>> = { A: "start", z: "end", b: "edge", B: "inside" };

/** One repeatable atom; undefined for a flag, which is not one. */
function readPart(text: ExpressionText, scope: Scope): ExpressionNode | undefined {
  if (readBounds(text) !== undefined) throw text.wrong("a repetition has nothing to repeat");
  const char = text.next() as string;
  if (char === "(") return readGroup(text, scope);
  if (char === "^" || char === "$") return { kind: "assert", assertion: char === "^" ? "start" : "end" };
  if (char === "\\") {
    const assertion = anchors[text.peek() ?? ""];
    if (assertion === undefined) return charNode(readEscape(text), scope);
    text.next();
    return { kind: "assert", assertion };
  }
  if (char === "[") return charNode(readClass(text), scope);
  if (char === ".") return { kind: "char", test: (code) => code >= 0 && code !== 10 };
  return charNode(char.codePointAt(0) as number, scope);
}

function charNode(what: CharTest | number, { ignoreCase }: Scope): ExpressionNode {
  const test: CharTest = typeof what === "number" ? (code) => code === what : what;
  return { kind: "char", test: ignoreCase ? ignoringCase(test) : test };
}

function readGroup(text: ExpressionText, scope: Scope): ExpressionNode | undefined {
  const inner: Scope = { depth: scope.depth + 1, ignoreCase: scope.ignoreCase };
  if (text.skip("?i)")) {
    scope.ignoreCase = true;
    return undefined;
  }
  let number: number | undefined;
  if (text.skip("?i:")) inner.ignoreCase = true;
  else if (!text.skip("?:")) {
    const name = text.take(/^\?P?<(\w{1,30})>/);
    if (name === undefined && text.peek() === "?") throw text.wrong("the syntax at the start of a group is not supported");
    number = text.groups.push(name ?? "");
  }
  const part = readEither(text, inner);
  if (!text.skip(")")) throw text.wrong("a parenthesis is not closed");
  return number === undefined ? part : { kind: "group", number, part };
}
