import fc from "fast-check";
import { expect, test } from "vitest";
import { createEscape } from "./escape.ts";

test.for([
  ["~.", "", true],
  ["ls\r~.", "ls\r", true],
  ["ls\n~.more", "ls\n", true],
  ["a~.", "a~.", false],
  ["~~.", "~.", false],
  ["~a", "~a", false],
  ["~?\r~.", "\r", true],
  ["~\r~.", "~\r", true],
] as const)("typing %j sends %j, leaves: %s", ([typed, sent, disconnect]) => {
  expect(createEscape()(Buffer.from(typed))).toMatchObject({ send: Buffer.from(sent), disconnect });
});

test("bytes mean the same however they are cut into pieces", () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom("~", ".", "?", "\r", "a", "\u0000")), (keys) => {
      const whole = createEscape()(Buffer.from(keys.join("")));
      const pieces = createEscape();
      const sent: Buffer[] = [];
      for (const key of keys) {
        const one = pieces(Buffer.from(key));
        sent.push(one.send);
        if (one.disconnect) {
          expect(whole.disconnect).toBe(true);
          break;
        }
      }
      expect(Buffer.concat(sent)).toEqual(whole.send);
    }),
  );
});
