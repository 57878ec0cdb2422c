import fc from "fast-check";
import { expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { parseBoundedYaml } from "./bounded-yaml.ts";

const many = (text: string): string => text.repeat(Math.floor(200_000 / text.length));
const keys = (count: number): string => Array.from({ length: count }, (_, at) => `k${at}`).join(",");

test.for<[what: string, text: string, message: RegExp]>([
  ["tens of thousands of keys", `{${keys(30_000)}}`, /too long/],
  ["a key twice", "a: 1\nb: 2\na: 3\n", /map keys must be unique at line 3, column 1$/],
  ["a key twice, as number and text", "{1: a, '1': b}", /unique/],
  ["a key that is a list", "? [a]\n: b\n", /keys must be strings at line 1/],
  ["open brackets", many("["), /nested/],
  ["open braces", many("{"), /nested/],
  ["lists in lists", many("- "), /nested/],
  ["keys in keys", many("? "), /nested/],
  ["keys in keys, line by line", Array.from({ length: 600 }, (_, at) => `${" ".repeat(at)}?\n`).join(""), /nested/],
  ["closing brackets", many("]"), /closed that was not opened at line 1, column 1$/],
  ["escapes", `"${many("\\x")}`, /too long/],
  ["anchors", many("&a "), /too long/],
  ["documents", many("---\n"), /too long/],
  ["directives", many("%a\n"), /too long/],
  ["lines of a scalar", `|\n${many(" \n")}`, /too long/],
])("%s: refused before it is parsed, or with its place", ([, text, message]) => {
  expect(() => parseBoundedYaml(text)).toThrow(
    expect.objectContaining({ code: expect.stringMatching(/^(invalid|limit)$/), message: expect.stringMatching(message) }),
  );
});

test("thousands of different keys are compared once each", () => {
  const text = `{${keys(9_500)}}`;
  const processorTime = (work: () => void): number => {
    const before = process.threadCpuUsage();
    work();
    return process.threadCpuUsage(before).user / 1_000;
  };
  const alone = processorTime(() => parse(text, { uniqueKeys: false }));
  // Comparing each with all earlier ones takes more than twenty times as long.
  expect(processorTime(() => parseBoundedYaml(text))).toBeLessThan(5 * alone + 100);
});

test("a long resource is read", () => {
  const logins = Array.from({ length: 3_000 }, (_, at) => `login-${at}`);
  const value = { kind: "role", spec: { allow: { logins }, certificate: "line of a certificate\n".repeat(2_000) } };
  expect(parseBoundedYaml(stringify(value))).toEqual(value);
});

test("other texts give what the parser gives", () => {
  const key = fc.string({ minLength: 1 }).filter((one) => one !== "__proto__");
  const leaf = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null));
  const value = fc.dictionary(key, fc.oneof(leaf, fc.array(leaf), fc.dictionary(key, fc.array(fc.dictionary(key, leaf)))));
  fc.assert(
    fc.property(value, fc.boolean(), (one, isFlow) => {
      const text = isFlow ? JSON.stringify(one) : stringify(one);
      expect(parseBoundedYaml(text)).toEqual(one);
    }),
  );
});
