import fc from "fast-check";
import { expect, test } from "vitest";
import { anyCharacter } from "../../test/fuzz/any-character.ts";
import { parseConfig } from "./parse-config.ts";

test("any text is accepted or refused without an exception: fuzz", () => {
  const words = fc.constantFrom(
    "version: v3\n",
    "platform:\n",
    "  ca_pin: ",
    "[",
    "]",
    "{",
    "}",
    "&a ",
    "*a",
    "- ",
    ": ",
    "? ",
    "|\n",
    "!!js/function ",
    "__proto__",
    "constructor",
    "ssh_service",
    "\n",
    "  ",
  );
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string({ unit: anyCharacter }),
        fc.array(fc.oneof(words, fc.string())).map((parts) => parts.join("")),
      ),
      (text) => {
        const { sections, problems: found } = parseConfig(text);
        expect(sections === undefined).toBe(found.length > 0);
      },
    ),
  );
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      parseConfig(`version: v3\nplatform: ${JSON.stringify(value)}\nauth_service: ${JSON.stringify(value)}\nssh_service: ${JSON.stringify(value)}\n`);
    }),
  );
});

test("very deep nesting is refused", () => {
  expect(parseConfig(`version: v3\nplatform: ${"[".repeat(100_000)}\n`).problems).not.toEqual([]);
});
