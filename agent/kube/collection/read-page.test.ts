import fc from "fast-check";
import { expect, test } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { readPage } from "./read-page.ts";

const page = (items: unknown, metadata: object = {}, kind = "PodList"): Buffer => Buffer.from(JSON.stringify({ kind, metadata, items }));
const item = (name: unknown, namespace?: unknown) => ({ metadata: { name, namespace }, spec: {} });

test("names and the next page are read", () => {
  expect(readPage(page([item("a", "n"), item("b", "n")], { continue: "t" }), "n")).toEqual({ names: ["a", "b"], next: "t" });
  expect(readPage(page([item("a")], {}, "PartialObjectMetadataList"), "")).toEqual({ names: ["a"], next: "" });
  expect(readPage(page(null), "n")).toEqual({ names: [], next: "" });
});

test.each([
  ["another namespace", page([item("a", "kube-system")])],
  ["no namespace", page([item("a")])],
  ["a name that is not text", page([item(7, "n")])],
  ["items that are not a list", page({ 0: item("a", "n") })],
  ["another kind", page([item("a", "n")], {}, "Pod")],
  ["no JSON", Buffer.from('{"kind":"PodList","metadata":{},"items":[')],
  ["another value", Buffer.from("null")],
  ["too many objects", page(Array.from({ length: 10_001 }, () => item("a", "n")))],
])("a page with %s is refused", (_, body) => {
  expect(() => readPage(body, "n")).toThrow(expect.objectContaining({ code: "unavailable" }));
});

test("any bytes are read or refused", () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.json().map((text) => Buffer.from(text)),
        fc.uint8Array({ maxLength: 80 }).map((bytes) => Buffer.from(bytes)),
      ),
      (body) => {
        try {
          expect(readPage(body, "n").names.every((name) => typeof name === "string")).toBe(true);
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(PlatformError);
        }
      },
    ),
  );
});
