import fc from "fast-check";
import { expect, test } from "vitest";
import { parseRegistryPath } from "./registry-path.ts";

const digest = `sha256:${"a".repeat(64)}`;

test.for([
  ["", { kind: "version" }],
  ["platform-ent/tags/list", { kind: "tags", name: "platform-ent" }],
  ["charts/platform-kube-agent/manifests/1.0.0", { kind: "manifest", name: "charts/platform-kube-agent", reference: "1.0.0" }],
  [`a/manifests/${digest}`, { kind: "manifest", name: "a", reference: digest }],
  [`a/manifests/sha256-${"a".repeat(64)}.sig`, { kind: "manifest", name: "a", reference: `sha256-${"a".repeat(64)}.sig` }],
  [`a/blobs/${digest}`, { kind: "blob", name: "a", digest }],
  ["manifests/manifests/blobs", { kind: "manifest", name: "manifests", reference: "blobs" }],
] as const)("%s is understood", ([path, ask]) => {
  expect(parseRegistryPath(path)).toEqual(ask);
});

test.for([
  ..."a a/ /a a/tags a/tags/x tags/list a/manifests a/manifests/ a/blobs/1.0.0 a/blobs/sha256:aa A/tags/list a//b/tags/list".split(" "),
  ...[
    "../a/tags/list",
    "a/../b/tags/list",
    "./tags/list",
    ".hidden/tags/list",
    "a/manifests/..",
    "a/manifests/.x",
    "a/manifests/-x",
    "a%2fb/tags/list",
  ],
  ...[`a/manifests/${"x".repeat(129)}`, `${"a/".repeat(300)}tags/list`, "a/tags/list?n=1", "a/manifests/x\n", "_catalog", `a/referrers/${digest}`],
])("%j is nothing", (path) => {
  expect(parseRegistryPath(path)).toBeUndefined();
});

test("nothing that is understood leaves the folder of its repository", () => {
  const part = fc.constantFrom("a", "..", ".", "", "tags", "list", "manifests", "blobs", "%2e%2e", "a.b", digest, "\\", "\0");
  fc.assert(
    fc.property(fc.array(part, { maxLength: 6 }), fc.string({ maxLength: 12 }), (parts, rest) => {
      const ask = parseRegistryPath([...parts, rest].join("/"));
      if (ask === undefined || ask.kind === "version") return;
      for (const step of ask.name.split("/")) expect(step).toMatch(/^[a-z0-9][a-z0-9._-]*$/);
    }),
  );
});
