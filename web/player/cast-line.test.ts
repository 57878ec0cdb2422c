import fc from "fast-check";
import { expect, test } from "vitest";
import { readCastLine } from "./cast-line.ts";

test("output, sizes and the header are read", () => {
  expect(readCastLine('{"version":2,"width":100,"height":30,"timestamp":0}')).toEqual({ time: 0, size: { columns: 100, rows: 30 } });
  expect(readCastLine('[0.5,"o","text"]')).toEqual({ time: 0.5, text: "text" });
  expect(readCastLine('[1,"r","120x40"]')).toEqual({ time: 1, size: { columns: 120, rows: 40 } });
});

test("a size that would fill the memory is cut", () => {
  expect(readCastLine('[1,"r","65535x65535"]')).toEqual({ time: 1, size: { columns: 500, rows: 200 } });
  expect(readCastLine('[1,"r","0x0"]')).toEqual({ time: 1, size: { columns: 2, rows: 2 } });
});

test.for(['[1,"i","typed"]', '[-1,"o","x"]', '["1","o","x"]', '[1,"o",5]', '[1,"r","x"]', '{"version":3}', "null", "", "["])(
  "%s shows nothing",
  (line) => {
    expect(readCastLine(line)).toBeUndefined();
  },
);

test("any line is read or left out", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), (line) => {
      const read = readCastLine(line);
      if (read !== undefined) expect(read.time).toBeGreaterThanOrEqual(0);
    }),
  );
});
