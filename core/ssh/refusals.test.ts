import fc from "fast-check";
import { expect, test } from "vitest";
import { anyCharacter } from "../../test/fuzz/any-character.ts";
import { PlatformError } from "../errors/platform-error.ts";
import { readRefusal, refusalBanner } from "./refusals.ts";

test("a refusal survives its banner, in one line", () => {
  const banner = refusalBanner(new PlatformError("denied", "no\nway", { hint: "ask" }));
  expect(banner).toBe("refused (denied): no way; ask\r\n");
  expect(readRefusal(banner)).toMatchObject({ code: "denied", message: "no way; ask" });
});

test.for(["", "Welcome!\r\n", "refused: x", "refused (nonsense): x", "x refused (denied): y"])("%j is not a refusal", (banner) => {
  expect(readRefusal(banner)).toBeUndefined();
});

test("a peer's text is bounded and cannot control the terminal", () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter, maxLength: 3000 }), (text) => {
      const message = readRefusal(`refused (denied): ${text}`)?.message ?? "";
      return message.length <= 1000 && !/\p{C}/u.test(message);
    }),
  );
});
