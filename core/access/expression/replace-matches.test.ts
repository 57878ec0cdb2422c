import fc from "fast-check";
import { expect, test } from "vitest";
import { PlatformError } from "../../errors/platform-error.ts";
import { compileReplacer, replaceMatches } from "./replace-matches.ts";

const replace = (pattern: string, replacement: string, text: string) => replaceMatches(compileReplacer(pattern, replacement), text);

test.for<readonly [pattern: string, replacement: string, text: string, expected: string | undefined]>([
  ["^(.*)@example\\.com$", "$1", "alice@example.com", "alice"],
  ["^(.*)@example\\.com$", "$1", "alice@example.org", undefined],
  ["^(.*)@(.*)$", "$2-$1", "a@b@c", "c-a@b"],
  ["^(.*?)@(.*)$", "$2-$1", "a@b@c", "b@c-a"],
  ["(\\w)(\\w)", "$2$1", "abcde", "badce"],
  ["(?P<first>\\w+) (?<last>\\w+)", `${"$"}{last}.$first`, "Ada Lovelace", "Lovelace.Ada"],
  ["a", "$$", "banana", "b$n$n$"],
  ["a", "[$0]", "ab", "[a]b"],
  ["a*", "x", "baac", "xbxcx"],
  ["", "-", "ab", "-a-b-"],
  ["a|ab", "x", "ab", "xb"],
  ["ab|a", "x", "ab", "x"],
  ["(a)|(b)", "<$1$2>", "ab", "<a><b>"],
  ["(a)?b", "<$1>", "b", "<>"],
  ["(a+)(a*)", "$1|$2", "aaa", "aaa|"],
  ["(a+?)(a*)", "$1|$2", "aaa", "a|aa"],
  ["a{1,2}?", "x", "aaa", "xxx"],
  ["\\bweb\\b", "db", "web-web webs", "db-db webs"],
  ["^a", "x", "aa", "xa"],
  ["ü", "ue", "Müller", "Mueller"],
  ["😀", "x", "a😀b", "axb"],
  ["(?i)A", "x", "aA", "xx"],
  ["a", "", "banana", "bnn"],
  ["a", "b", "x".repeat(257), undefined],
])("%s → %s in %s", ([pattern, replacement, text, expected]) => {
  expect(replace(pattern, replacement, text)).toBe(expected);
});

test.for([
  ["(", "x"],
  ["(?=a)", "x"],
  ["a", "$1"],
  ["(a)", "$2"],
  ["(?P<n>a)", "$m"],
  ["a", "$"],
  ["(a{100}){6}", "x"],
] as const)("%s with %s is refused", ([pattern, replacement]) => {
  expect(() => compileReplacer(pattern, replacement)).toThrow(PlatformError);
});

/** Where JavaScript's syntax means the same, its engine is the reference. */
test("the result is the same as that of JavaScript's engine", () => {
  const atom = fc.constantFrom("a", "b", ".", "[ab]", "(a)", "(a|b)", "(ab|a)", "(b*)", "(a+?)");
  const pattern = fc.array(fc.tuple(atom, fc.constantFrom("", "", "*", "+", "?", "*?", "??")), { minLength: 1, maxLength: 4 });
  const text = fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 12 });
  fc.assert(
    fc.property(pattern, text, (parts, chars) => {
      // Only plain atoms are repeated: the contents of a repeated group after an empty iteration differ between engines.
      const source = parts.map(([part, count]) => (part.startsWith("(") ? part : part + count)).join("");
      const subject = chars.join("");
      const groups = (source.match(/\(/g) ?? []).length;
      const replacement = `<$0${groups > 0 ? "|$1" : ""}>`;
      let end = -1;
      let matched = false;
      const expected = subject.replace(new RegExp(source, "g"), (...found) => {
        const [whole, first] = found as [string, string];
        const at = Number(found[groups + 1]);
        matched = true;
        // Go does not replace an empty match directly after another one.
        const skipped = whole === "" && at === end;
        end = at + whole.length;
        return skipped ? "" : `<${whole}${groups > 0 ? `|${first ?? ""}` : ""}>`;
      });
      expect(replace(source, replacement, subject)).toBe(matched ? expected : undefined);
    }),
  );
});

test("the worst permitted expression takes well under a second", () => {
  const began = performance.now();
  expect(replace("(a|aa|a?)*(a*)*b", "x", "a".repeat(256))).toBeUndefined();
  expect(performance.now() - began).toBeLessThan(5000);
});
