import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readQuery } from "../judge/read-target.ts";
import { isOnePage, objectTarget, pageTarget } from "./collection-targets.ts";

const pods = { group: "", version: "v1", resource: "pods", namespace: "a" };
const tabs = { group: "stable.example.com", version: "v1", resource: "crontabs", namespace: "" };

describe("targets", () => {
  test.each([
    [pods, "", "", "/api/v1/namespaces/a/pods?limit=250", "/api/v1/namespaces/a/pods/x"],
    [tabs, "", "", "/apis/stable.example.com/v1/crontabs?limit=250", "/apis/stable.example.com/v1/crontabs/x"],
    [
      pods,
      "labelSelector=app%3Dweb%26x&fieldSelector=spec.nodeName=n&dryRun=All&resourceVersion=0&timeoutSeconds=5",
      "t/=",
      "/api/v1/namespaces/a/pods?labelSelector=app%3Dweb%26x&fieldSelector=spec.nodeName%3Dn&limit=250&continue=t%2F%3D",
      "/api/v1/namespaces/a/pods/x?dryRun=All",
    ],
    [
      pods,
      "gracePeriodSeconds=0&propagationPolicy=Foreground&dryRun=&dryRun=All&limit=5&continue=here",
      "",
      "/api/v1/namespaces/a/pods?limit=5&continue=here",
      "/api/v1/namespaces/a/pods/x?gracePeriodSeconds=0&propagationPolicy=Foreground&dryRun=&dryRun=All",
    ],
    [pods, "limit=100000", "", "/api/v1/namespaces/a/pods?limit=250", "/api/v1/namespaces/a/pods/x"],
    [pods, "limit=-1", "", "/api/v1/namespaces/a/pods?limit=250", "/api/v1/namespaces/a/pods/x"],
  ])("%j with %j", (place, query, next, page, object) => {
    const collection = { place, query: readQuery(query) };
    expect(pageTarget(collection, 250, next)).toBe(page);
    expect(objectTarget(collection, "x").target).toBe(object);
  });

  test.each(["", ".", "..", "a/b", "a%2fb", "x".repeat(300)])("%j is not a name", (name) => {
    expect(() => objectTarget({ place: pods, query: new Map() }, name)).toThrow(expect.objectContaining({ code: "unavailable" }));
  });

  test("any name leads to one object of the collection, or nowhere; options arrive unchanged", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 20 }), fc.string({ maxLength: 20 }), (name, value) => {
        try {
          const { path, target } = objectTarget({ place: pods, query: new Map([["dryRun", [value]]]) }, name);
          expect(new URL(target, "http://api").pathname.split("/").slice(0, -1).join("/")).toBe("/api/v1/namespaces/a/pods");
          expect(decodeURIComponent(path.slice("/api/v1/namespaces/a/pods/".length))).toBe(name);
          expect(readQuery(target.slice(path.length + 1)).get("dryRun")).toEqual([value]);
        } catch (thrown) {
          expect(thrown).toMatchObject({ code: "unavailable" });
        }
      }),
    );
  });

  test("a client that asks for one page means its objects alone", () => {
    expect(["limit=5", "continue=x", "limit=", ""].map((query) => isOnePage({ place: pods, query: readQuery(query) }))).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });
});
