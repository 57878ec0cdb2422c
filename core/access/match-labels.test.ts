import fc from "fast-check";
import { expect, test } from "vitest";
import { matchLabels, matchValue } from "./match-labels.ts";

test.for([
  ["*", "", true],
  ["*", "anything", true],
  ["prod", "prod", true],
  ["prod", "Prod", false],
  ["prod", "production", false],
  ["", "", true],
  ["", "x", false],
  ["web-*", "web-1", true],
  ["web-*", "web-", true],
  ["web-*", "my-web-1", false],
  ["*-db", "orders-db", true],
  ["*-db", "orders-db2", false],
  ["a*c*e", "abcde", true],
  ["a*c*e", "ace", true],
  ["a*c*e", "aec", false],
  ["a*a", "a", false],
  ["ab*ba", "aba", false],
  ["**", "x", true],
  ["w.b*", "web", false],
  ["^web-[0-9]+$", "web-12", true],
  ["^web-[0-9]+$", "web-x", false],
  ["^web-[0-9]+$", "my-web-12", false],
  ["^(a|b)$", "b", true],
  ["^($", "($", false],
  ["^($", "^($", true],
  ["web-[0-9]+", "web-12", false],
] as const)("pattern %j against %j: %s", ([pattern, value, expected]) => {
  expect(matchValue(pattern, value)).toBe(expected);
});

test.for([
  ["no matchers", undefined, { a: "1" }, false],
  ["empty matchers", {}, { a: "1" }, false],
  ["everything", { "*": "*" }, {}, true],
  ["everything as a list", { "*": ["*"] }, { a: "1" }, true],
  ["any key with a value", { "*": "1" }, { a: "1" }, false],
  ["one key", { a: "1" }, { a: "1", b: "2" }, true],
  ["one key, other value", { a: "1" }, { a: "2" }, false],
  ["an absent key", { a: "*" }, { b: "1" }, false],
  ["an empty value", { a: "*" }, { a: "" }, true],
  ["both keys (AND)", { a: "1", b: "2" }, { a: "1", b: "2" }, true],
  ["only one of two keys", { a: "1", b: "2" }, { a: "1" }, false],
  ["any of a list (OR)", { a: ["1", "2"] }, { a: "2" }, true],
  ["none of a list", { a: ["1", "2"] }, { a: "3" }, false],
  ["an empty list", { a: [] }, { a: "1" }, false],
  ["everything, and a key that does not match", { "*": "*", a: "1" }, { a: "2" }, false],
  ["a key that every object has", { constructor: "*" }, {}, false],
] as const)("matchers: %s", ([, matchers, labels, expected]) => {
  expect(matchLabels(matchers, labels)).toBe(expected);
});

test("a glob agrees with its equivalent regular expression", () => {
  const piece = fc.constantFrom("a", "b", "*", "-");
  fc.assert(
    fc.property(fc.array(piece, { minLength: 1, maxLength: 8 }), fc.array(fc.constantFrom("a", "b", "-"), { maxLength: 10 }), (pattern, value) => {
      const expression = new RegExp(`^${pattern.map((part) => (part === "*" ? ".*" : part)).join("")}$`);
      expect(matchValue(pattern.join(""), value.join(""))).toBe(expression.test(value.join("")));
    }),
  );
});
