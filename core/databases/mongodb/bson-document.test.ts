import { deserialize, serialize } from "bson";
import fc from "fast-check";
import { expect, test } from "vitest";
import { encodeDocument, firstFieldName } from "./bson-document.ts";

const name = fc.stringMatching(/^[a-zA-Z$][\w]{0,20}$/);
const date = fc.date({ noInvalidDate: true });
const value = fc.oneof(fc.string(), fc.boolean(), fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }), date);

test("documents are those of the bson package, and are read back by it", () => {
  fc.assert(
    fc.property(fc.dictionary(name, value, { noNullPrototype: true }), (fields) => {
      const document = encodeDocument(fields);
      expect(document).toEqual(Buffer.from(serialize(fields)));
      expect(deserialize(document)).toEqual(fields);
      expect(firstFieldName(document)).toBe(Object.keys(fields)[0] ?? "");
    }),
  );
});

test("any bytes have a first name, or none; a long one is not looked for", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => void expect(firstFieldName(Buffer.from(bytes)).length).toBeLessThanOrEqual(64)),
  );
  expect(firstFieldName(Buffer.from(serialize({ ["x".repeat(64)]: 1 })))).toBe("x".repeat(64));
  expect(firstFieldName(Buffer.from(serialize({ ["x".repeat(65)]: 1 })))).toBe("");
});
