import type { ExpressionText } from "./expression-text.ts";

/** Whether a code point belongs; -1 never does. */
export type CharTest = (codePoint: number) => boolean;

const between =
  (first: number, last: number): CharTest =>
  (code) =>
    code >= first && code <= last;
const anyOf =
  (tests: readonly CharTest[]): CharTest =>
  (code) =>
    tests.some((test) => test(code));
const not =
  (test: CharTest): CharTest =>
  (code) =>
    code >= 0 && !test(code);

const digit = between(0x30, 0x39);
const upper = between(0x41, 0x5a);
const lower = between(0x61, 0x7a);
const space: CharTest = (code) => code === 0x20 || (code >= 9 && code <= 13 && code !== 11);
/** ASCII, as in RE2. */
export const isWord: CharTest = anyOf([digit, upper, lower, (code) => code === 0x5f]);

const classes: Readonly<Record<string, CharTest>> = { d: digit, D: not(digit), w: isWord, W: not(isWord), s: space, S: not(space) };
const posix: Readonly<Record<string, CharTest>> = {
  alnum: anyOf([digit, upper, lower]),
  alpha: anyOf([upper, lower]),
  digit,
  lower,
  upper,
  space,
  word: isWord,
  xdigit: anyOf([digit, between(0x41, 0x46), between(0x61, 0x66)]),
};
const controls: Readonly<Record<string, number>> = { n: 10, r: 13, t: 9, f: 12, v: 11, a: 7 };

/** The class or code point after a backslash. Throws `invalid` for an unknown one. */
export function readEscape(text: ExpressionText): CharTest | number {
  const letter = text.next();
  if (letter === undefined) throw text.wrong("it ends with a backslash");
  const known = classes[letter] ?? controls[letter];
  if (known !== undefined) return known;
  if (letter === "x") return readHex(text);
  if (/[A-Za-z0-9]/.test(letter)) throw text.wrong(`\\${letter} is not supported`);
  return letter.codePointAt(0) as number;
}

function readHex(text: ExpressionText): number {
  const digits = text.take(/^\{([0-9A-Fa-f]{1,6})\}/) ?? text.take(/^([0-9A-Fa-f]{2})/);
  const code = digits === undefined ? Number.NaN : Number.parseInt(digits, 16);
  if (!(code <= 0x10ffff)) throw text.wrong("\\x needs two hexadecimal digits, or {…}");
  return code;
}

/** The rest of `[…]`, after its first bracket. */
export function readClass(text: ExpressionText): CharTest {
  const isNegated = text.skip("^");
  const tests: CharTest[] = [];
  let isFirst = true;
  while (isFirst || !text.skip("]")) {
    isFirst = false;
    tests.push(readMember(text));
  }
  return isNegated ? not(anyOf(tests)) : anyOf(tests);
}

function readMember(text: ExpressionText): CharTest {
  const name = text.take(/^\[:([^\]]*):\]/);
  if (name !== undefined) return posixClass(text, name);
  const first = readOne(text);
  if (typeof first === "function") return first;
  const isRange = text.peek() === "-" && text.peek(1) !== "]" && text.peek(1) !== undefined;
  if (!isRange) return (code) => code === first;
  text.next();
  const last = readOne(text);
  if (typeof last === "function" || last < first) throw text.wrong("a range in brackets has no order");
  return between(first, last);
}

function posixClass(text: ExpressionText, name: string): CharTest {
  const isNegated = name.startsWith("^");
  const key = isNegated ? name.slice(1) : name;
  const test = Object.hasOwn(posix, key) ? posix[key] : undefined;
  if (test === undefined) throw text.wrong(`[:${name}:] is not supported`);
  return isNegated ? not(test) : test;
}

function readOne(text: ExpressionText): CharTest | number {
  const char = text.next();
  if (char === undefined) throw text.wrong("a bracket is not closed");
  return char === "\\" ? readEscape(text) : (char.codePointAt(0) as number);
}

/** The same test, ignoring case. */
export function ignoringCase(test: CharTest): CharTest {
  return (code) => {
    if (code < 0) return false;
    const char = String.fromCodePoint(code);
    return test(code) || test(char.toLowerCase().codePointAt(0) ?? -1) || test(char.toUpperCase().codePointAt(0) ?? -1);
  };
}
