import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Conditions, choosePart, type Part, parseByteRange } from "./choose-part.ts";

test.for([
  ["bytes=0-0", { start: 0, end: 0 }],
  ["bytes=2-", { start: 2, end: 9 }],
  ["bytes=2-100", { start: 2, end: 9 }],
  ["bytes=-3", { start: 7, end: 9 }],
  ["bytes=-100", { start: 0, end: 9 }],
  ["bytes=9-9", { start: 9, end: 9 }],
  ["bytes=10-", "unsatisfiable"],
  ["bytes=-0", "unsatisfiable"],
  ["bytes=3-2", undefined],
  ["bytes=-", undefined],
  ["bytes=0-1,3-4", undefined],
  ["lines=0-1", undefined],
  ["", undefined],
  [undefined, undefined],
] as const)("of ten bytes %s is %o", ([field, expected]) => {
  expect(parseByteRange(field, 10)).toEqual(expected);
});

test("a range never leaves the file", () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.tuple(fc.nat(), fc.nat()).map(([a, b]) => `bytes=${a}-${b}`),
      ),
      fc.nat(100_000),
      (field, size) => {
        const range = parseByteRange(field, size);
        if (typeof range !== "object") return;
        expect(range.start).toBeGreaterThanOrEqual(0);
        expect(range.end).toBeGreaterThanOrEqual(range.start);
        expect(range.end).toBeLessThan(size);
      },
    ),
  );
});

describe("of a file with an ETag and a time is sent", () => {
  const file = { etag: '"e1"', modified: "Fri, 20 Nov 2026 10:00:00 GMT", size: 10 };
  const part = { status: 206, range: { start: 4, end: 9 } } as const;
  const rows: [what: string, asked: Conditions, expected: Part][] = [
    ["all", {}, { status: 200 }],
    ["nothing when the ETag is known", { "if-none-match": '"e1"' }, { status: 304 }],
    ["nothing when it is one of several, or weak", { "if-none-match": '"e0", W/"e1"' }, { status: 304 }],
    ["nothing for any ETag", { "if-none-match": "*" }, { status: 304 }],
    ["all when the ETag is another, whatever the time", { "if-none-match": '"e0"', "if-modified-since": file.modified }, { status: 200 }],
    ["nothing when the time is the same", { "if-modified-since": file.modified }, { status: 304 }],
    ["all when the time is later: the file was rolled back", { "if-modified-since": "Sat, 21 Nov 2026 10:00:00 GMT" }, { status: 200 }],
    ["a part", { range: "bytes=4-" }, part],
    ["a part of the same file, by ETag", { range: "bytes=4-", "if-range": '"e1"' }, part],
    ["a part of the same file, by time", { range: "bytes=4-", "if-range": file.modified }, part],
    ["all when the file is another", { range: "bytes=4-", "if-range": '"e0"' }, { status: 200 }],
    ["all when the file is younger", { range: "bytes=4-", "if-range": "Fri, 20 Nov 2026 09:00:00 GMT" }, { status: 200 }],
    ["nothing when nothing is left", { range: "bytes=10-" }, { status: 416 }],
  ];
  test.for(rows)("%s", ([, asked, expected]) => {
    expect(choosePart(asked, file)).toEqual(expected);
  });

  test("all while the file is too young for a time, whatever time is given", () => {
    expect(choosePart({ "if-modified-since": "undefined", range: "bytes=4-", "if-range": "undefined" }, { ...file, modified: undefined })).toEqual({
      status: 200,
    });
  });
});
