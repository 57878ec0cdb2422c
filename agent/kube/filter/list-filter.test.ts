import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { someRuns } from "../../../test/fuzz/some-runs.ts";
import { ListFilter } from "./list-filter.ts";
import { cut, filtered, pod, shows } from "./testing/filter-cases.ts";

const list = (value: unknown, chunks?: readonly number[]): unknown =>
  JSON.parse(filtered(new ListFilter(shows), cut(Buffer.from(JSON.stringify(value)), chunks ?? [])));

describe("a list", () => {
  test("keeps what may be shown, in order, and the number of further objects is gone", () => {
    const items = [pod("a", "web-1"), pod("b", "web-2"), pod("a", "db"), pod("a", "web-3", { kind: "Pod" })];
    const metadata = { resourceVersion: "12", continue: "abc", remainingItemCount: 41 };
    expect(list({ kind: "PodList", apiVersion: "v1", metadata, items })).toEqual({
      kind: "PodList",
      apiVersion: "v1",
      metadata: { resourceVersion: "12", continue: "abc" },
      items: [items[0], items[3]],
    });
  });

  test.for<[what: string, value: unknown, shown: unknown]>([
    [
      "objects in no namespace",
      { kind: "NodeList", items: [pod(undefined, "web"), pod(undefined, "x")] },
      { kind: "NodeList", items: [pod(undefined, "web")] },
    ],
    ["nothing", { items: [] }, { items: [] }],
    ["no list at all", { items: null }, { items: null }],
    [
      "objects without a name",
      { items: [{}, { metadata: {} }, { metadata: { name: "" } }, { metadata: { name: 7 } }, pod("a", "web")] },
      { items: [pod("a", "web")] },
    ],
    [
      "rows of a table",
      {
        kind: "Table",
        columnDefinitions: [{ name: "Name" }],
        rows: [
          { cells: ["x", 1], object: pod("a", "web") },
          { cells: ["y"], object: pod("a", "y") },
          { cells: ["z"] },
          { cells: ["z"], object: null },
        ],
      },
      { kind: "Table", columnDefinitions: [{ name: "Name" }], rows: [{ cells: ["x", 1], object: pod("a", "web") }] },
    ],
    [
      "a name that is escaped",
      { items: [{ metadata: { name: "web-\u00e9\n", namespace: "a" } }] },
      { items: [{ metadata: { name: "web-\u00e9\n", namespace: "a" } }] },
    ],
    ["names elsewhere in an object", { items: [{ spec: { metadata: { name: "web" } }, metadata: { name: "db", namespace: "a" } }] }, { items: [] }],
    [
      "an object whose metadata come last",
      { items: [{ spec: {}, metadata: { labels: {}, namespace: "a", name: "web" } }] },
      { items: [{ spec: {}, metadata: { labels: {}, namespace: "a", name: "web" } }] },
    ],
  ])("%s", ([, value, shown]) => {
    expect(list(value)).toEqual(shown);
  });

  const text = fc.oneof(fc.string({ maxLength: 12 }), fc.constantFrom("web-1", 'web"', "web\\", "a", "", "{", "]", "\u2028web", "web\u0000"));
  const value = fc.jsonValue({ maxDepth: 3 });
  const object = fc
    .record({
      name: text,
      namespace: fc.option(fc.constantFrom("a", "b", ""), { nil: undefined }),
      more: fc.dictionary(text, value, { maxKeys: 3 }),
      spec: value,
    })
    .map(({ name, namespace, more, spec }) => ({
      spec,
      metadata: { ...more, name, ...(namespace !== undefined && { namespace }) },
    }));
  const lists = fc.record({
    items: fc.array(object, { maxLength: 6 }),
    remaining: fc.option(fc.nat(), { nil: undefined }),
    isTable: fc.boolean(),
    space: fc.constantFrom(0, 1, "\t"),
  });

  test("whatever the objects and the chunks, exactly those are left that may be shown", () => {
    fc.assert(
      fc.property(lists, fc.array(fc.nat(5_000), { maxLength: 20 }), ({ items, remaining, isTable, space }, places) => {
        const metadata = { resourceVersion: "1", ...(remaining !== undefined && { remainingItemCount: remaining }) };
        const rows = items.map((one) => ({ cells: [1], object: one }));
        const whole = { kind: "List", metadata, ...(isTable ? { rows } : { items }) };
        const bytes = Buffer.from(JSON.stringify(whole, null, space));
        const isShown = ({ metadata: { name, namespace } }: (typeof items)[number]): boolean => name !== "" && shows(namespace ?? "", name);
        const expected = {
          kind: "List",
          metadata: { resourceVersion: "1" },
          ...(isTable ? { rows: rows.filter((row) => isShown(row.object)) } : { items: items.filter(isShown) }),
        };
        expect(JSON.parse(filtered(new ListFilter(shows), cut(bytes, places)))).toEqual(JSON.parse(JSON.stringify(expected)));
      }),
      { numRuns: someRuns(300) },
    );
  });

  test("each byte by itself is the same", () => {
    const bytes = Buffer.from(JSON.stringify({ kind: "L", items: [pod("a", "web-\u00e9"), pod("b", "x")], metadata: { remainingItemCount: 1 } }));
    expect(filtered(new ListFilter(shows), cut(bytes, [...bytes.keys()]))).toBe(filtered(new ListFilter(shows), [bytes]));
  });

  test.for<[what: string, json: string]>([
    ["something else", "[]"],
    ["cut off", '{"items":[{"metadata":{"name":"web"}}'],
    ["cut in a word", '{"kind":nul'],
    ["more after the end", '{"items":[]}{"items":[]}'],
    ["objects in another member", '{"items":[],"others":[{"metadata":{"name":"db"}}]}'],
    ["objects under a name that is escaped", '{"it\\u0065ms":[{"metadata":{"name":"db"}}]}'],
    ["an object that is none", '{"items":["db"]}'],
    ["a list in place of an object", '{"items":[[{"metadata":{"name":"web"}}]]}'],
    ["a map of objects", '{"items":{"a":{"metadata":{"name":"db"}}}}'],
    ["members without commas", '{"kind":"a" "items":[]}'],
    ["an object without commas", '{"items":[{"a":1 "metadata":{"name":"web"}}]}'],
    ["too deep", `{"items":[${'{"a":'.repeat(2_000)}`],
    ["a large member", `{"kind":"${"x".repeat(2_000_000)}"}`],
    ["a large object", `{"items":[{"a":"${"x".repeat(17_000_000)}"}]}`],
    ["an endless object", `{"items":[{"a":"${"x".repeat(17_000_000)}`],
  ])("is refused for %s", ([, json]) => {
    expect(() => filtered(new ListFilter(shows), [Buffer.from(json)])).toThrow(PlatformError);
  });

  test("any bytes are filtered or refused, and nothing that is hidden comes through", () => {
    const pieces = fc.constantFrom(
      "{",
      "}",
      "[",
      "]",
      ",",
      ":",
      '"items"',
      '"rows"',
      '"metadata"',
      '"name"',
      '"hidden-secret"',
      '"web"',
      '"object"',
      '"kind"',
      "null",
      "1",
      " ",
      "\\",
      '"',
      '{"metadata":{"name":"hidden-secret"}}',
      '{"items":[',
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 30 }), fc.array(fc.nat(200), { maxLength: 4 }), (parts, places) => {
        const filter = new ListFilter(shows);
        let out = "";
        try {
          for (const chunk of cut(Buffer.from(parts.join("")), places)) out += filter.write(chunk).toString();
          filter.end();
          JSON.parse(out);
        } catch (thrown) {
          if (!(thrown instanceof SyntaxError)) expect(thrown).toBeInstanceOf(PlatformError);
          return;
        }
        const found = JSON.parse(out);
        for (const item of found.items ?? []) expect(item.metadata.name).toMatch(/^web/);
      }),
      { numRuns: someRuns(500) },
    );
  });
});
