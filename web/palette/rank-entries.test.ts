import fc from "fast-check";
import { expect, test } from "vitest";
import { type PaletteEntry, rankEntries } from "./rank-entries.ts";

const entry = (title: string, kind = "host"): PaletteEntry => ({ title, kind, path: `/${title}` });
const entries = [
  entry("Hosts", "page"),
  entry("my-host"),
  entry("hosting-1"),
  entry("ghost"),
  entry("web-1"),
  entry("host"),
  entry("Audit log", "page"),
];
const titles = (search: string): string[] => rankEntries(entries, search).map(({ title }) => title);

test("what begins with the text comes first, what only contains it last", () => {
  expect(titles("host")).toEqual(["host", "Hosts", "hosting-1", "my-host", "ghost", "web-1"]);
});

test("every word must occur, in the title or in the kind", () => {
  expect(titles("log audit")).toEqual(["Audit log"]);
  expect(titles("web host")).toEqual(["web-1"]);
  expect(titles("nothing")).toEqual([]);
});

test("without a text the pages come first", () => {
  expect(titles(" ").slice(0, 2)).toEqual(["Hosts", "Audit log"]);
});

test("a dozen is offered at most, each of them one that matches", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ maxLength: 3 }), { maxLength: 40 }), fc.string({ maxLength: 2 }), (names, search) => {
      const found = rankEntries(
        names.map((name) => entry(name)),
        search,
      );
      expect(found.length).toBeLessThanOrEqual(12);
      const words = search.toLowerCase().split(/\s+/).filter(Boolean);
      for (const { title, kind } of found) for (const word of words) expect(`${title.toLowerCase()} ${kind}`).toContain(word);
    }),
  );
});
