import fc from "fast-check";
import { expect, test } from "vitest";
import { fillRoute, matchRoute } from "./match-route.ts";

test.for<[pattern: string, path: string, params: Record<string, string> | undefined]>([
  ["/hosts", "/hosts", {}],
  ["/hosts", "/hosts/", {}],
  ["/", "/", {}],
  ["/hosts", "/apps", undefined],
  ["/hosts", "/hosts/a", undefined],
  ["/hosts/:id", "/hosts/web%2F1", { id: "web/1" }],
  ["/hosts/:id", "/hosts/", undefined],
  ["/hosts/:id", "/hosts/%ff", undefined],
  ["/launch/:fqdn/*", "/launch/a.b/c/d", { fqdn: "a.b", rest: "c/d" }],
  ["/launch/:fqdn/*", "/launch/a.b", { fqdn: "a.b", rest: "" }],
])("%s of %s is %j", ([pattern, path, params]) => {
  expect(matchRoute(pattern, path)).toEqual(params);
});

test("a filled pattern matches with the same values, whatever they are", () => {
  const segment = fc.string({ unit: "grapheme", minLength: 1 }).filter((text) => text.isWellFormed());
  fc.assert(
    fc.property(segment, segment, (kind, name) => {
      expect(matchRoute("/resources/:kind/:name", fillRoute("/resources/:kind/:name", { kind, name }))).toEqual({ kind, name });
    }),
  );
});

test("any path matches or does not, and nothing is thrown", () => {
  fc.assert(
    fc.property(fc.string(), (path) => {
      expect(() => matchRoute("/a/:b/*", path)).not.toThrow();
    }),
  );
});
