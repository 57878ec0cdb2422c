import fc from "fast-check";
import { expect, test } from "vitest";
import { baseName, canonicalName, certificateNames, isServiceCluster, namesMeant } from "./cluster-names.ts";

test.for([
  ["WEB-1", ["web-1"]],
  ["web-1.", ["web-1"]],
  ["Web-1.Demo.Cluster", ["web-1.demo.cluster", "web-1"]],
  ["web-1.demo.cluster.", ["web-1.demo.cluster", "web-1"]],
  ["bücher.demo.cluster", ["xn--bcher-kva.demo.cluster", "xn--bcher-kva"]],
  ["XN--Bcher-KVA", ["xn--bcher-kva"]],
  ["2001:DB8:0::1", ["2001:db8::1"]],
  ["12345", ["12345"]],
  ["demo.cluster", ["demo.cluster"]],
  [".demo.cluster", [".demo.cluster"]],
  ["", []],
  ["fe80::1%eth0", ["fe80::1%eth0"]],
] as const)("%s may mean %j", ([target, meant]) => {
  expect(namesMeant(target, "Demo.cluster")).toEqual(meant);
});

const id = "2b0f3a5e-5d3c-4d1c-9f5e-0f6d2f1b7a11";
test.for([
  ["a host name gets the cluster's appended", ["web-1"], "spec.test", ["web-1", `${id}.spec.test`, "web-1.spec.test"]],
  ["so does one of several words", ["db.rack"], "spec.test", ["db.rack", `${id}.spec.test`, "db.rack.spec.test"]],
  [
    "and so do more names",
    ["web-1", "web.other.example"],
    "spec.test",
    ["web-1", "web.other.example", `${id}.spec.test`, "web-1.spec.test", "web.other.example.spec.test"],
  ],
  [
    "addresses do not",
    ["web-1", "10.9.8.7", "2001:db8::1", "localhost", "www"],
    "spec.test",
    ["web-1", "10.9.8.7", "2001:db8::1", "localhost", "www", `${id}.spec.test`, "web-1.spec.test", "www.spec.test"],
  ],
  ["nor does one that is below the cluster's", ["auth.spec.test"], "spec.test", ["auth.spec.test", `${id}.spec.test`]],
  ["names of services are never included", ["auth.platform", "a"], "internal", ["auth.platform", "a", `${id}.internal`, "a.internal"]],
  ["for any cluster name", ["auth"], "platform.internal", ["auth"]],
] as const)("%s", ([, names, cluster, expected]) => {
  expect(certificateNames({ id, names, cluster })).toEqual([id, ...expected]);
});

test.for([
  ["internal", true],
  ["Platform.Internal", true],
  ["eu.platform.internal", true],
  ["corp.internal", false],
  ["myplatform.internal", false],
  ["example.com", false],
] as const)("a cluster called %s gives its hosts names of services: %s", ([cluster, expected]) => {
  expect(isServiceCluster(cluster)).toBe(expected);
});

test("any target terminates, and stands only for spellings of its base", () => {
  const text = fc.oneof(fc.string({ maxLength: 40 }), fc.stringMatching(/^([a-cA-C]{1,2}\.){0,5}$/), fc.stringMatching(/^[a.。]{0,6}$/));
  fc.assert(
    fc.property(text, fc.constantFrom("a", "a.b", "internal"), (target, cluster) => {
      for (const meant of namesMeant(target, cluster)) expect(baseName(meant, cluster)).toBe(baseName(target, cluster));
      expect(canonicalName(baseName(target, cluster))).toBe(baseName(target, cluster));
    }),
  );
});
