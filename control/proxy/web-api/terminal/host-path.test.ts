import fc from "fast-check";
import { expect, test } from "vitest";
import { inside, isRoot, parentOf } from "./host-path.ts";

const name = fc
  .uint8Array({ minLength: 1, maxLength: 20 })
  .map((bytes) => Buffer.from(bytes.map((byte) => (byte === 0x2f || byte === 0 ? 0x61 : byte))));
const folder = fc.array(name, { maxLength: 5 }).map((names) => names.reduce((path, one) => inside(path, one), Buffer.from("/") as Buffer));

test("what is in a folder has that folder above it, whatever bytes the names have", () => {
  fc.assert(fc.property(folder, name, (path, one) => parentOf(inside(path, one)).equals(path)));
});

test("the root alone has nothing above it", () => {
  expect(parentOf(Buffer.from("/")).toString()).toBe("/");
  fc.assert(fc.property(folder, name, (path, one) => !isRoot(inside(path, one))));
});
