import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { setImmediate } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { filterAnswer } from "./filter-answer.ts";
import { ListFilter, type Shows } from "./list-filter.ts";
import { WatchFilter } from "./watch-filter.ts";

/** Shows names that begin with `web`, in the namespaces a and none. */
const shows: Shows = (namespace, name) => name.startsWith("web") && ["a", ""].includes(namespace);

function filtered(filter: ListFilter | WatchFilter, chunks: readonly Buffer[]): string {
  const out = chunks.map((chunk) => Buffer.from(filter.write(chunk)));
  filter.end();
  return Buffer.concat(out).toString("utf8");
}

/** Cuts bytes at these places. */
function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const sorted = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((one, other) => one - other);
  return [...sorted, bytes.length].map((end, index) => bytes.subarray(sorted[index - 1] ?? 0, end));
}

const list = (value: unknown, chunks?: readonly number[]): unknown =>
  JSON.parse(filtered(new ListFilter(shows), cut(Buffer.from(JSON.stringify(value)), chunks ?? [])));

const pod = (namespace: string | undefined, name: string, more: object = {}): object => ({
  metadata: { name, ...(namespace !== undefined && { namespace }), labels: { name: "web-hidden" } },
  spec: { text: '}]"\\u0022' },
  ...more,
});

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
      { numRuns: 300 },
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
      { numRuns: 500 },
    );
  });
});

describe("a watch", () => {
  const event = (type: string, object: object): string => `${JSON.stringify({ type, object })}\n`;
  const lines = [
    event("ADDED", pod("a", "web-1")),
    event("ADDED", pod("b", "web-2")),
    event("MODIFIED", pod("a", "db")),
    event("DELETED", pod("a", "web-1")),
    event("BOOKMARK", { kind: "Pod", metadata: { resourceVersion: "5", annotations: { "k8s.io/initial-events-end": "true" } } }),
    event("ADDED", { kind: "Table", rows: [{ cells: [], object: pod("a", "web-1") }] }),
    event("ADDED", { kind: "Table", columnDefinitions: [], rows: [{ cells: [], object: pod("b", "web-1") }] }),
    event("ADDED", {
      kind: "Table",
      rows: [
        { cells: [], object: pod("a", "web-1") },
        { cells: [], object: pod("a", "db") },
      ],
    }),
    event("ADDED", { kind: "Table", rows: [] }),
    event("ADDED", { kind: "Table", rows: [{ cells: ["secret"] }] }),
    event("ADDED", {}),
    event("ERROR", { kind: "Status", code: 410, message: "too old" }),
  ];
  const shown = [0, 3, 4, 5, 11].map((index) => lines[index]).join("");

  test("passes bookmarks, errors and what may be shown, whatever the chunks", () => {
    const bytes = Buffer.from(lines.join(""));
    fc.assert(
      fc.property(fc.array(fc.nat(5_000), { maxLength: 30 }), (places) => {
        expect(filtered(new WatchFilter(shows), cut(bytes, places))).toBe(shown);
      }),
    );
  });

  test("an event goes on with its last byte, without waiting for the line's end", () => {
    const filter = new WatchFilter(shows);
    expect(filter.write(Buffer.from((lines[0] ?? "").trimEnd())).toString()).toBe(lines[0]);
  });

  test("an event that is cut off is not shown", () => {
    expect(filtered(new WatchFilter(shows), [Buffer.from(`${lines[0]}{"type":"ADDED","object":{"metadata":{"name":"web"`)])).toBe(lines[0]);
  });

  test.for([
    "[]",
    '{"type":"ADDED"}',
    '{"object":{}}',
    '{"type":"OTHER","object":{}}',
    '"x"',
    '{"type":7,"object":{}}',
    '{"type":"ADDED","object":{"rows":[7]}}',
    '{"type":"ADDED","object":{"rows":7}}',
  ])("is refused for %s", (json) => {
    expect(() => filtered(new WatchFilter(shows), [Buffer.from(json)])).toThrow(PlatformError);
  });

  test("of 10,000 random events none outside is shown", () => {
    const names = ["web-1", "db", "web", "king"];
    const all = Array.from({ length: 10_000 }, (_, index) => event("MODIFIED", pod(index % 3 === 0 ? "b" : "a", names[index % 4] ?? "")));
    const found = filtered(
      new WatchFilter(shows),
      cut(
        Buffer.from(all.join("")),
        Array.from({ length: 500 }, (_, index) => index * 3_331),
      ),
    );
    const events = found
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(events.length).toBeGreaterThan(1_000);
    const others = events.filter(({ object: { metadata } }) => metadata.namespace !== "a" || !metadata.name.startsWith("web"));
    expect(others).toEqual([]);
  });
});

describe("an answer as a stream", () => {
  const facts = { many: "list", contentType: "application/json", contentEncoding: undefined, shows } as const;

  test("goes through with back-pressure", async () => {
    const bytes = Buffer.from(JSON.stringify({ items: [pod("a", "web"), pod("a", "db")] }));
    const stream = filterAnswer(facts);
    const whole = buffer(stream);
    await pipeline(Readable.from(cut(bytes, [3, 40, 90])), stream);
    expect(JSON.parse((await whole).toString())).toEqual({ items: [pod("a", "web")] });
  });

  test("of any size is kept one object at a time, and waits for a client that does not read", async () => {
    const object = JSON.stringify(pod("a", "web", { data: "x".repeat(3_000) }));
    let produced = 0;
    const source = function* (): Generator<Buffer> {
      yield Buffer.from('{"items":[');
      for (let index = 0; index < 2_000; index += 1) {
        const chunk = Buffer.from(`${index === 0 ? "" : ","}${object}`);
        produced += chunk.length;
        yield chunk;
      }
      yield Buffer.from("]}");
    };
    const stream = filterAnswer(facts);
    const done = pipeline(Readable.from(source()), stream);
    for (let turn = 0; turn < 100; turn += 1) await setImmediate();
    expect(produced).toBeLessThan(500_000);
    let shown = 0;
    for await (const chunk of stream) shown += (chunk as Buffer).length;
    await done;
    expect(produced).toBeGreaterThan(6_000_000);
    expect(shown).toBe(produced + '{"items":[]}'.length);
  });

  test("that is cut off fails", async () => {
    const stream = filterAnswer(facts);
    const failed = expect(buffer(stream)).rejects.toMatchObject({ code: "unavailable" });
    await pipeline(Readable.from([Buffer.from('{"items":[{"metadata"')]), stream).catch(() => {});
    await failed;
  });

  test.for<[type: string | undefined, encoding: string | undefined]>([
    ["application/vnd.kubernetes.protobuf", undefined],
    ["application/cbor", undefined],
    [undefined, undefined],
    ["text/plain", undefined],
    ["application/json", "gzip"],
  ])("in %s, %s is refused", ([contentType, contentEncoding]) => {
    expect(() => filterAnswer({ ...facts, contentType, contentEncoding })).toThrow(expect.objectContaining({ code: "unavailable" }));
  });
});
