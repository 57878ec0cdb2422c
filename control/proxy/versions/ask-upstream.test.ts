import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { HttpsAnswer } from "../../../core/transport/dial/https-get.ts";
import { criticalOf, versionOf } from "./ask-upstream.ts";

const answer = (text: string, status = 200): HttpsAnswer => ({ status, headers: {}, body: Buffer.from(text) });

describe("an upstream's version", () => {
  test.for([
    ["v1.2.3", "v1.2.3"],
    ["1.2.3\n", "v1.2.3"],
    ["  v2.0.0-rc.1\r\n", "v2.0.0-rc.1"],
    ["none", "none"],
    ["none\n", "none"],
    [" None \n", "none"],
  ] as const)("is read from %j", ([text, version]) => {
    expect(versionOf(answer(text))).toBe(version);
  });

  const pages = [
    "",
    "<!doctype html><title>Log in</title>",
    "v1.2",
    "latest",
    "v1.2.3 v1.2.4",
    "1.2.3\n1.2.4",
    "null",
    "\u001b[31mv1.2.3",
    "x".repeat(300),
  ];
  test.for(pages)("is not read from %j", (text) => {
    expect(() => versionOf(answer(text))).toThrow(expect.objectContaining({ code: "unavailable" }));
  });

  test.for([204, 301, 302, 404, 429, 500, 503])("is not read from an answer of status %i", (status) => {
    expect(() => versionOf(answer("v1.2.3", status))).toThrow(new RegExp(`status ${status}`));
  });
});

describe("an upstream's word on whether it is critical", () => {
  test.for([
    ["yes", true],
    ["Yes\n", true],
    ["true", true],
    ["no", false],
    ["false\n", false],
  ] as const)("is read from %j", ([text, critical]) => {
    expect(criticalOf(answer(text))).toBe(critical);
  });

  test("is false where the path is unknown", () => {
    expect(criticalOf(answer("<html>", 404))).toBe(false);
  });

  test.for(["", "1", "<html>yes</html>", "yes no"])("is not read from %j", (text) => {
    expect(() => criticalOf(answer(text))).toThrow(PlatformError);
  });
});

test("any bytes give an answer or a PlatformError whose text is one printable line", () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 400 }),
      fc.constantFrom(200, 200, 200, 404, 500),
      fc.constantFrom(versionOf, criticalOf),
      (bytes, status, read) => {
        try {
          expect(String(read({ status, headers: {}, body: Buffer.from(bytes) }))).toMatch(/^(none|true|false|v\d[\w.+-]*)$/);
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(PlatformError);
          expect(String(thrown)).toMatch(/^\P{Cc}+$/u);
        }
      },
    ),
  );
});
