import fc from "fast-check";
import { expect, test } from "vitest";
import { anyCharacter } from "../../../../test/fuzz/any-character.ts";
import { attachment } from "./attachment.ts";

test("any name becomes a header that holds it, and nothing else", () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter, maxLength: 255 }), (name) => {
      const [, plain, coded] = /^attachment; filename="([\w.-]+)"; filename\*=UTF-8''([\w.!~%-]*)$/.exec(attachment(name)) ?? [];
      expect(plain).toBeDefined();
      expect(decodeURIComponent(coded ?? "")).toBe(name.toWellFormed());
    }),
  );
});
