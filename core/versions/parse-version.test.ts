import fc from "fast-check";
import { expect, test } from "vitest";
import { parseVersion } from "./parse-version.ts";

test.for([
  ["v1.2.3", "1.2.3", 1],
  ["17.0.0-dev", "17.0.0-dev", 17],
  ["v1.0.0-rc.1+build.7", "1.0.0-rc.1+build.7", 1],
  ["0.0.0", "0.0.0", 0],
] as const)("%s is a version", ([text, plain, major]) => {
  expect(parseVersion(text)).toEqual({ text: plain, major });
});

const none = [
  "",
  "v",
  "none",
  "1",
  "1.2",
  "v1.2.3 ",
  " 1.2.3",
  "1.2.3\n",
  "vv1.2.3",
  "V1.2.3",
  "=1.2.3",
  "01.2.3",
  "1.2.3.4",
  "1.2.3_4",
  "<html>1.2.3</html>",
  `1.2.3-${"a".repeat(64)}`,
  "99999999999999999999.0.0",
];
test.for(none)("%j is none", (text) => {
  expect(parseVersion(text)).toBeUndefined();
});

test("it never throws on any text, and an accepted version has only valid characters", () => {
  const looksLike = fc.stringMatching(/^v?\d{1,3}\.\d{1,3}\.\d{1,3}[-+.a-z0-9 \n]{0,8}$/);
  fc.assert(
    fc.property(fc.oneof(fc.string(), looksLike), (text) => {
      const version = parseVersion(text);
      if (version !== undefined) expect(version.text).toMatch(/^\d+\.\d+\.\d+([-+][0-9A-Za-z.+-]+)?$/);
    }),
  );
});
