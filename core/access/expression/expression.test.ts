import fc from "fast-check";
import { expect, test } from "vitest";
import { anyCharacter } from "../../../test/fuzz/any-character.ts";
import { PlatformError } from "../../errors/platform-error.ts";
import { compileExpression } from "./compile-expression.ts";
import { matchExpression } from "./match-expression.ts";

const matches = (pattern: string, text: string): boolean => matchExpression(compileExpression(pattern), text);

test.for<readonly [pattern: string, matching: readonly string[], others: readonly string[]]>([
  ["^$", [""], ["a"]],
  ["^abc$", ["abc"], ["ab", "abcd", "xabc", "ABC"]],
  ["^a|b$", ["ax", "xb", "a", "b"], ["xa", "bx", ""]],
  ["^(a|b)$", ["a", "b"], ["ab", "", "c"]],
  ["^(?:ab|cd|)$", ["ab", "cd", ""], ["abcd", "a"]],
  ["^(?P<name>x)(?<other>y)$", ["xy"], ["x"]],
  ["^a*$", ["", "a", "aaaa"], ["b", "ab"]],
  ["^a+?$", ["a", "aa"], [""]],
  ["^ab?c$", ["ac", "abc"], ["abbc"]],
  ["^a{3}$", ["aaa"], ["aa", "aaaa"]],
  ["^a{2,}$", ["aa", "aaaaa"], ["a"]],
  ["^a{1,3}$", ["a", "aaa"], ["", "aaaa"]],
  ["^a{0}b$", ["b"], ["ab"]],
  ["^a{x}$", ["a{x}"], ["a"]],
  ["^(ab){2}$", ["abab"], ["ab", "ababab"]],
  ["^(a*)*$", ["", "aaa"], ["b"]],
  ["^(a|b)*c$", ["c", "abbac"], ["ab", "abcd"]],
  ["^w.b$", ["web", "wäb", "w😀b"], ["wb", "w\nb", "weeb"]],
  ["^[a-c]$", ["a", "b", "c"], ["d", "", "-"]],
  ["^[^a-c]$", ["d", "\n", "ü"], ["a", ""]],
  ["^[]a]$", ["]", "a"], ["b"]],
  ["^[a-]$", ["a", "-"], ["b"]],
  ["^[-a]$", ["a", "-"], ["b"]],
  ["^[\\d_]+$", ["1_2"], ["a"]],
  ["^[[:alpha:][:^digit:]]$", ["a", "-"], ["1"]],
  ["^[[:xdigit:]]+$", ["aF09"], ["g"]],
  ["^[a\\]]$", ["a", "]"], ["\\"]],
  ["^[\\x41-\\x{43}]$", ["A", "C"], ["D"]],
  ["^\\d+$", ["0", "42"], ["", "4a", "٤"]],
  ["^\\D$", ["a"], ["1"]],
  ["^\\w+$", ["a_1Z"], ["a-b", "ä"]],
  ["^\\W$", ["-"], ["a"]],
  ["^\\s\\S$", [" a", "\tb"], ["a ", "ab"]],
  ["^a\\.b$", ["a.b"], ["axb"]],
  ["^\\*\\+\\?\\(\\)\\[\\]\\{\\}\\|\\\\\\^\\$$", ["*+?()[]{}|\\^$"], [""]],
  ["^\\Aa\\z$", ["a"], ["ab"]],
  ["\\bweb\\b", ["web", "a web b", "x-web-y"], ["webs", "aweb"]],
  ["^a\\Bb$", ["ab"], ["a b"]],
  ["(?i)^prod$", ["prod", "PROD", "Prod"], ["pro"]],
  ["^(?i:p)rod$", ["Prod", "prod"], ["pROD"]],
  ["^(?i)[a-c]x$", ["BX"], ["dx"]],
  ["^web-[0-9]+\\.(prod|stage)\\.example\\.com$", ["web-1.prod.example.com"], ["web-.prod.example.com", "web-1.prodxexample.com"]],
  ["^(db|web)-(?:eu|us)-\\d{2}$", ["db-eu-01", "web-us-99"], ["db-ap-01", "db-eu-1"]],
  ["^.*$", ["", "anything"], ["two\nlines"]],
  ["^a$b$", [], ["a", "ab"]],
  ["^\\n\\t$", ["\n\t"], ["nt"]],
])("%s", ([pattern, matching, others]) => {
  expect(matching.filter((text) => !matches(pattern, text))).toEqual([]);
  expect(others.filter((text) => matches(pattern, text))).toEqual([]);
});

test.for<readonly [pattern: string, reason: RegExp]>([
  ["^(a$", /parenthesis is not closed/],
  ["^a)$", /closed that was not opened/],
  ["^[a$", /bracket is not closed/],
  ["^(*a)$", /nothing to repeat/],
  ["+a", /nothing to repeat/],
  ["^a**$", /repetition is repeated/],
  ["^a{2,1}$", /not a count/],
  ["^a{1001}$", /not a count/],
  ["^[b-a]$", /no order/],
  ["^[a-\\d]$", /no order/],
  ["^(?=a)a$", /not supported/],
  ["^(?!a)b$", /not supported/],
  ["^(?<=a)b$", /not supported/],
  ["^(a)\\1$", /\\1 is not supported/],
  ["^\\pL$", /\\p is not supported/],
  ["^\\xZZ$", /two hexadecimal/],
  ["^\\x{110000}$", /two hexadecimal/],
  ["^[[:moon:]]$", /not supported/],
  ["^a\\", /ends with a backslash/],
  [`${"(".repeat(200)}a${")".repeat(200)}`, /nested too deep/],
  ["^(a{1000}){1000}$", /too large/],
  ["^(((()){1000}){1000}){1000}$", /too large/],
  ["^(((a{0,50}){0,50}){0,50})$", /too large/],
])("%s cannot be used", ([pattern, reason]) => {
  expect(() => compileExpression(pattern)).toThrow(reason);
  expect(() => compileExpression(pattern)).toThrow(expect.objectContaining({ code: "invalid" }));
});

test.for(["^(a+)+$", "^(a|a)*$", "^(a|aa)+$", "^(.*a){20}$", "^(a*)*b$", "^([a-z]+)*[A-Z]$", "^(a?){100}a{100}$"])(
  "%s takes linear time on input that ruins a backtracking engine",
  (pattern) => {
    const program = compileExpression(pattern);
    const began = performance.now();
    matchExpression(program, `${"a".repeat(255)}!`);
    // A backtracking engine would never finish; even a loaded machine needs only milliseconds here.
    expect(performance.now() - began).toBeLessThan(2000);
  },
);

const atom = fc.constantFrom("a", "b", ".", "[ab]", "[^a]", "\\d", "\\w", "x");
const pattern = fc.letrec<{ one: string; many: string }>((tie) => ({
  one: fc.oneof(
    { maxDepth: 3 },
    atom,
    fc.tuple(tie("many"), fc.constantFrom("", "?:")).map(([inner, mark]) => `(${mark}${inner})`),
    fc.tuple(atom, fc.constantFrom("*", "+", "?", "{2}", "{0,2}", "{1,}", "*?")).map(([inner, times]) => `${inner}${times}`),
    fc.tuple(tie("many"), fc.constantFrom("*", "+", "?", "{2}")).map(([inner, times]) => `(${inner})${times}`),
  ),
  many: fc.oneof(
    { maxDepth: 3 },
    fc.array(tie("one"), { minLength: 1, maxLength: 3 }).map((parts) => parts.join("")),
    fc.tuple(tie("one"), tie("one")).map(([left, right]) => `${left}|${right}`),
  ),
})).many;
const text = fc.array(fc.constantFrom("a", "b", "x", "1", "-"), { maxLength: 8 }).map((chars) => chars.join(""));

test("an expression finds the same as JavaScript's engine", () => {
  fc.assert(
    fc.property(pattern, text, fc.boolean(), (inner, subject, anchored) => {
      const whole = anchored ? `^(?:${inner})$` : inner;
      expect(matches(whole, subject), `${whole} against ${subject}`).toBe(new RegExp(whole, "u").test(subject));
    }),
  );
});

test("any text is an expression or refused as invalid, and matching it ends", () => {
  const hostile = fc.oneof(
    fc.string({ maxLength: 60 }),
    fc.array(fc.constantFrom(..."()[]{}*+?|\\^$.-,09a:i<P>=!"), { maxLength: 40 }).map((all) => all.join("")),
  );
  fc.assert(
    fc.property(hostile, fc.string({ maxLength: 40, unit: anyCharacter }), (any, subject) => {
      try {
        expect(typeof matches(any, subject)).toBe("boolean");
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(PlatformError);
        expect(thrown).toMatchObject({ code: "invalid" });
      }
    }),
  );
});
