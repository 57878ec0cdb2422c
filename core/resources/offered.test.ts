import fc from "fast-check";
import { expect, test } from "vitest";
import { maxOffered, type Offered, OfferedPages, offeredPages } from "./offered.ts";

const offered: fc.Arbitrary<Offered> = fc.record({
  kind: fc.constant("app"),
  name: fc.stringMatching(/^[a-z]{1,20}$/),
  labels: fc.dictionary(fc.stringMatching(/^[a-z]{1,20}$/), fc.string({ maxLength: 1000 }), { maxKeys: 8 }),
});

test("any list arrives as it was sent, in messages that are short enough", () => {
  fc.assert(
    fc.property(fc.array(offered, { maxLength: 200 }), (list) => {
      const pages = offeredPages(list);
      const reader = new OfferedPages();
      const read = pages.map((page, index) => {
        expect(Buffer.byteLength(JSON.stringify(page))).toBeLessThan(60_000);
        return reader.add(page, index < pages.length - 1);
      });
      expect(read.slice(0, -1).every((one) => one === undefined)).toBe(true);
      expect(read.at(-1)).toEqual(list);
    }),
  );
});

test("the excess is left out, and the next list is complete again", () => {
  const reader = new OfferedPages();
  const page = Array.from({ length: 500 }, (_, index) => ({ kind: "app", name: `a-${index}`, labels: {} }));
  for (let round = 0; round < 20; round += 1) expect(reader.add(page, true)).toBeUndefined();
  expect(reader.add([], false)).toHaveLength(maxOffered.count);
  expect(reader.add(page, false)).toHaveLength(500);
  const fat = { kind: "app", name: "fat", labels: { a: "x".repeat(maxOffered.bytes) } };
  expect(reader.add([fat], false)).toEqual([]);
});
