import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { cut, filtered, pod, shows } from "./testing/filter-cases.ts";
import { WatchFilter } from "./watch-filter.ts";

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
