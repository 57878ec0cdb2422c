import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isPinned, parseMadison, parsePolicy, parseSizes } from "./apt.ts";

const policy = (rows: readonly string[]): string => `platform-ent:
  Installed: 1.0.0
  Candidate: 1.2.0
  Version table:
${rows.map((row) => `${row}\n        500 http://a.example/apt stable/v1/main amd64 Packages`).join("\n")}
        100 /var/lib/dpkg/status
`;

describe("the policy of apt", () => {
  test("is read", () => {
    expect(parsePolicy(policy(["     1.2.0~rc.1 500", " *** 1.0.0 1001"]))).toEqual([
      { version: "1.2.0~rc.1", priority: 500, installed: false },
      { version: "1.0.0", priority: 1001, installed: true },
    ]);
  });

  test.for([
    ["nothing set", ["     1.2.0 500", " *** 1.0.0 500"], false],
    ["the installed version is no longer in the repository", ["     1.2.0 500", " *** 1.0.0 100"], false],
    ["every version has a higher priority", ["     1.2.0 900", " *** 1.0.0 900"], false],
    ["a default release", ["     1.2.0 990", " *** 1.0.0 990"], false],
    ["pinned to what is installed", ["     1.2.0 500", "     1.1.0 500", " *** 1.0.0 1001"], true],
    ["pinned to another version", ["     1.2.0 500", "     1.1.0 1001", " *** 1.0.0 500"], true],
    ["the repository has a negative priority", ["     1.2.0 -1", " *** 1.0.0 100"], true],
    ["the repository is only for explicit requests", ["     1.2.0 1", " *** 1.0.0 100"], true],
    ["one version has a negative priority", ["     1.2.0 -10", "     1.1.0 500", " *** 1.0.0 500"], true],
    ["no repository", [" *** 1.0.0 100"], false],
    ["nothing installed", ["     1.2.0 500"], false],
  ] as const)("%s: %j is a pin: %s", ([, rows, pinned]) => {
    expect(isPinned(parsePolicy(policy(rows)))).toBe(pinned);
  });
});

test("versions of the repository are read from madison", () => {
  const text = `platform-ent |      1.2.0 | http://a.example/apt stable/v1/main amd64 Packages
platform-ent | 1.2.0~rc.1 | http://a.example/apt stable/v1/main amd64 Packages
platform-ent-updater |      1.3.0 | http://a.example/apt stable/v1/main amd64 Packages
`;
  expect(parseMadison(text, "platform-ent")).toEqual(["1.2.0", "1.2.0~rc.1"]);
});

test("sizes are read; a missing unpacked size is estimated high", () => {
  expect(parseSizes("Package: platform-ent\nInstalled-Size: 110000\nSize: 28000952\n")).toEqual({ fetch: 28_000_952, unpack: 112_640_000 });
  expect(parseSizes("Size: 100\n")).toEqual({ fetch: 100, unpack: 500 });
  expect(parseSizes("")).toBeUndefined();
});

test("any text is read without harm", () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      isPinned(parsePolicy(text));
      parseMadison(text, "platform-ent");
      parseSizes(text);
    }),
  );
});
