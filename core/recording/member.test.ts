import fc from "fast-check";
import { expect, test } from "vitest";
import { anyCharacter } from "../../test/fuzz/any-character.ts";
import { encodeCastEvent, encodeCastHeader } from "./cast.ts";
import { encodeMember, headerFacts } from "./member.ts";

const facts = { sid: "s", format: "asciicast" };
const text = encodeCastHeader({ width: 80, height: 24, timestamp: 0, platform: facts }) + encodeCastEvent({ time: 1, kind: "o", data: "hi" });
const file = encodeMember(Buffer.from(text), 0);

test.for<[title: string, start: Buffer, expected: unknown]>([
  ["compressed", file, facts],
  ["plain", Buffer.from(text), facts],
  ["a header alone, without its end", Buffer.from(text.slice(0, text.indexOf("\n"))), facts],
  ["one of any format", encodeMember(Buffer.from('{"platform":{"format":"x"}}\n\u0000\u0001'), 0), { format: "x" }],
  ["without facts", Buffer.from('{"version":2}\n'), undefined],
  ["whose first member is damaged", Buffer.concat([file.subarray(8), file]), undefined],
  ["nothing", Buffer.alloc(0), undefined],
])("reads a recording: %s", ([, start, expected]) => {
  expect(headerFacts(start)).toEqual(expected);
});

test("hostile bytes never throw", () => {
  fc.assert(
    fc.property(fc.oneof(fc.uint8Array({ maxLength: 2000 }), fc.string({ unit: anyCharacter }).map(Buffer.from)), (bytes) => {
      headerFacts(Buffer.from(bytes));
      headerFacts(Buffer.concat([file.subarray(0, 20), Buffer.from(bytes)]));
    }),
  );
});
