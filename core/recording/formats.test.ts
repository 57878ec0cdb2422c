import { expect, test } from "vitest";
import { recordingFormat, recordingFormats } from "./formats.ts";

test("a recording that states no format is asciicast, as the version before writes it; an unknown one has none", () => {
  expect([undefined, "asciicast", "db-queries", "toString", ""].map((name) => recordingFormat(name))).toEqual([
    "asciicast",
    "asciicast",
    undefined,
    undefined,
    undefined,
  ]);
});

test("no two formats share the end of a file's name, which tells them apart in the folders of recordings", () => {
  const endings = Object.values(recordingFormats).map(({ ending }) => ending);
  expect(new Set(endings).size).toBe(endings.length);
  expect(endings.filter((ending) => !/^[a-z]+\.gz$/.test(ending))).toEqual([]);
});
