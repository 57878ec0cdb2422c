import { Binary, type Document, deserialize, Int32, Long, serialize } from "bson";
import fc from "fast-check";
import { expect, test } from "vitest";
import { toPlatformError } from "../../../core/errors/platform-error.ts";
import { documentAt, editedDocument, elementsOf, fieldOf, isTrue, textOf } from "./bson-elements.ts";

const bytesOf = (document: Document): Buffer => Buffer.from(serialize(document));
const names = fc.string({ maxLength: 8 }).filter((name) => !name.includes("\0"));
const values = fc.oneof(
  fc.string(),
  fc.integer(),
  fc.double(),
  fc.boolean(),
  fc.constant(null),
  fc.array(fc.integer(), { maxLength: 3 }),
  fc.date({ noInvalidDate: true }),
);

test("the elements of a document are those that were written, byte for byte", () => {
  fc.assert(
    fc.property(fc.dictionary(names, values), (document) => {
      const bytes = bytesOf(document);
      const elements = [...elementsOf(documentAt(bytes, 0))];
      expect(elements.map(({ key }) => key)).toEqual(Object.keys(document));
      expect(Buffer.concat(elements.map((element) => element.bytes))).toEqual(bytes.subarray(4, -1));
    }),
  );
});

test("an edit leaves all other fields as they were, and their types", () => {
  const bytes = bytesOf({ a: Long.fromNumber(6), gone: "x", b: new Int32(1), c: 1.5, d: new Binary(Buffer.of(1)) });
  const edited = editedDocument(bytes, (key) => key !== "gone", { added: ["y"] });
  const raw = { promoteValues: false } as const;
  const { gone: _gone, ...others } = deserialize(bytes, raw);
  expect(deserialize(edited, raw)).toEqual({ ...others, added: deserialize(bytesOf({ added: ["y"] }), raw).added });
});

test("fields are found by their path, and texts and truths by their types", () => {
  const bytes = bytesOf({ client: { driver: { name: "x" }, list: [1] }, ok: 1, no: 0, long: Long.fromNumber(1), text: "t" });
  expect(textOf(fieldOf(bytes, "client", "driver", "name"))).toBe("x");
  expect(fieldOf(bytes, "client", "driver", "version")).toBeUndefined();
  expect(fieldOf(bytes, "text", "name")).toBeUndefined();
  expect(textOf(fieldOf(bytes, "ok"))).toBeUndefined();
  expect(["ok", "no", "long", "text", "absent"].map((key) => isTrue(fieldOf(bytes, key)))).toEqual([true, false, true, false, false]);
});

test.for([
  ["a length beyond the bytes", "ff000000 0a6100 00"],
  ["a negative length", "ffffffff 0a6100 00"],
  ["a document without its end", "08000000 0a6100 01"],
  ["a name without its end", "08000000 0a6161 00"],
  ["a string longer than the document", "0e000000 026100 ff000000 7800 00"],
  ["a string without its end", "0e000000 026100 02000000 7878 00"],
  ["a negative binary", "0d000000 056100 ffffffff 00 00"],
  ["an unknown type", "08000000 546100 00"],
  ["a regex without its end", "0a000000 0b6100 6161 00"],
])("%s is malformed", ([, hex = ""]) => {
  expect(() => [...elementsOf(documentAt(Buffer.from(hex.replaceAll(" ", ""), "hex"), 0))]).toThrow(expect.objectContaining({ code: "invalid" }));
});

test("any bytes are a document, or malformed", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
      const length = Buffer.alloc(4);
      length.writeInt32LE(bytes.length + 5);
      const document = Buffer.concat([length, bytes, Buffer.of(0)]);
      try {
        const sizes = [...elementsOf(documentAt(document, 0))].map((element) => element.bytes.length);
        expect(sizes.reduce((sum, size) => sum + size, 5)).toBe(document.length);
      } catch (thrown) {
        expect(toPlatformError(thrown).code).toBe("invalid");
      }
    }),
  );
});
