import { describe, expect, test } from "vitest";
import { NameIndex } from "./name-index.ts";

function index(hosts: Readonly<Record<string, readonly string[]>>): NameIndex {
  const made = new NameIndex();
  for (const [id, names] of Object.entries(hosts)) made.set(id, names);
  return made;
}

describe("a target means", () => {
  const hosts = index({ a: ["web-1", "web.example.com"], b: ["WEB-1.main"], c: ["db-1"] });
  test.for<[target: string, ids: readonly string[]]>([
    ["web-1", ["a"]],
    ["Web-1.MAIN", ["b", "a"]],
    ["web.example.com.", ["a"]],
    ["c", ["c"]],
    ["c.main", ["c"]],
    ["db-1.main", ["c"]],
    ["", []],
    ["nowhere", []],
  ])("%s: %j", ([target, ids]) => {
    expect(hosts.find(target, "main")).toEqual(ids);
  });

  test("no host under a name that it had before", () => {
    const changed = index({ a: ["old", "both"] });
    changed.set("a", ["new", "both"]);
    expect(["old", "new", "both"].map((name) => changed.find(name, "main"))).toEqual([[], ["a"], ["a"]]);
    changed.delete("a");
    expect(["a", "new"].map((name) => changed.find(name, "main"))).toEqual([[], []]);
  });
});

test("hosts are namesakes in both directions when one is named like the other with the cluster behind it", () => {
  const hosts = index({ a: ["web-1"], b: ["web-1.main"], c: ["web-2"] });
  expect(["a", "b", "c"].map((id) => hosts.namesakes(id, "main"))).toEqual([["b"], ["a"], []]);
});

test("a shared name is listed with its hosts", () => {
  expect(index({ a: ["web-1", "x"], b: ["web-1"], c: ["y"] }).shared()).toEqual([["web-1", ["a", "b"]]]);
});
