import fc from "fast-check";
import { expect, test } from "vitest";
import { labelsText, makeSearchable, searchRows, sortRows } from "./arrange.ts";

interface Row {
  readonly name: string;
  readonly size: number;
}
const rows: readonly Row[] = ["web-10", "Web-9", "db-1", "ärger", "zoo"].map((name, size) => ({ name, size }));
const keys = [
  { id: "name", of: ({ name }: Row) => name },
  { id: "size", of: ({ size }: Row) => size },
];
const sorted = (id: string, down = false): string[] => sortRows(rows, keys, { id, down }).map(({ name }) => name);

test("names are in the order in which people look for them", () => {
  expect(sorted("name")).toEqual(["ärger", "db-1", "Web-9", "web-10", "zoo"]);
  expect(sorted("name", true)).toEqual(["zoo", "web-10", "Web-9", "db-1", "ärger"]);
});

test("numbers are in the order of their size, and an unknown column leaves the rows as they are", () => {
  expect(sorted("size", true)).toEqual(["zoo", "ärger", "db-1", "Web-9", "web-10"]);
  expect(sorted("colour")).toEqual(rows.map(({ name }) => name));
});

test("every word must occur, in any order and case", () => {
  const searchable = makeSearchable(
    [
      { name: "web-1", labels: { env: "Prod" } },
      { name: "web-2", labels: { env: "test" } },
    ],
    ({ name, labels }) => `${name} ${labelsText(labels)}`,
  );
  const found = (search: string): string[] => searchRows(searchable, search).map(({ name }) => name);
  expect(found("  ")).toEqual(["web-1", "web-2"]);
  expect(found("PROD web")).toEqual(["web-1"]);
  expect(found("env=test")).toEqual(["web-2"]);
  expect(found("web prod test")).toEqual([]);
});

test("a search finds exactly the rows that have all its words, in their order", () => {
  const texts = fc.array(fc.string({ unit: fc.constantFrom("a", "b", "ß", "İ", " ") }), { maxLength: 20 });
  fc.assert(
    fc.property(texts, fc.string({ unit: fc.constantFrom("a", "B", " "), maxLength: 4 }), (all, search) => {
      const words = search.toLowerCase().split(" ").filter(Boolean);
      const wanted = all.filter((text) => words.every((word) => text.toLowerCase().includes(word)));
      expect(
        searchRows(
          makeSearchable(all, (text) => text),
          search,
        ),
      ).toEqual(wanted);
    }),
  );
});

test("10,000 rows are sorted and searched within 300 ms of this machine's processor", () => {
  const many = Array.from({ length: 10_000 }, (_, at) => ({ name: `web-${(at * 7919) % 10_000}.region-${at % 17}.example.com`, size: at }));
  const searchable = makeSearchable(many, ({ name }) => name);
  const before = process.cpuUsage();
  expect(sortRows(many, keys, { id: "name", down: false })[9]?.name).toMatch(/^web-9\.region-/);
  expect(searchRows(searchable, "region-3. web").length).toBeGreaterThan(500);
  const { user } = process.cpuUsage(before);
  expect(user / 1000).toBeLessThan(300);
});
