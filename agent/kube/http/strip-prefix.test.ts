import fc from "fast-check";
import { expect, test } from "vitest";
import { stripPrefix } from "./strip-prefix.ts";

const names = { cluster: "platform.test", kubeCluster: "prod" };

function prefixOf(cluster: string, kubeCluster: string): string {
  return `/v1/kube/${Buffer.from(cluster).toString("base64url")}/${Buffer.from(kubeCluster).toString("base64url")}`;
}

const prefix = prefixOf("platform.test", "prod");

test.each([
  ["/api/v1/pods?watch=1", "/api/v1/pods?watch=1", ""],
  [`${prefix}/api/v1/pods?limit=5`, "/api/v1/pods?limit=5", prefix],
  [prefix, "/", prefix],
  [`${prefix}?timeout=1s`, "/?timeout=1s", prefix],
  [`${prefix}//evil/api`, "//evil/api", prefix],
  [`${prefix}${prefix}/api`, `${prefix}/api`, prefix],
  ["/v1/other", "/v1/other", ""],
])("%s becomes %s", (asked, target, found) => {
  expect(stripPrefix(asked, names)).toEqual({ target, prefix: found });
});

test.each([
  prefixOf("platform.test", "other"),
  prefixOf("other.test", "prod"),
  "/v1/kube/",
  "/v1/kube/cGxhdGZvcm0udGVzdA",
  `${prefix}A/api`,
  `${prefix}=/api`,
  prefix.replaceAll("c", "%63"),
])("%s is refused", (asked) => {
  expect(() => stripPrefix(asked, names)).toThrow(expect.objectContaining({ code: "denied" }));
});

test("any names come back, and what follows keeps its bytes", () => {
  const piece = fc.constantFrom("a", "Z", "7", "-", "\u00e9", "\u65e5", "\u{1f680}", "/", "?", "%2f", " ", "\u0000", "..");
  const name = fc.array(piece, { minLength: 1, maxLength: 40 }).map((pieces) => pieces.join(""));
  fc.assert(
    fc.property(name, name, fc.array(piece, { maxLength: 60 }), (cluster, kubeCluster, pieces) => {
      const rest = pieces.join("");
      const asked = `${prefixOf(cluster, kubeCluster)}/${rest}`;
      expect(stripPrefix(asked, { cluster, kubeCluster }).target).toBe(`/${rest}`);
    }),
  );
});
