import fc from "fast-check";
import { expect, test } from "vitest";
import { compareVersions, judgeFit, misfitText, parseVersion } from "./compare-versions.ts";

test.for([
  ["1.0.0", "1.0.0", 0],
  ["1.0.0", "v1.0.0", 0],
  ["1.0.0", "1.0.1", -1],
  ["1.10.0", "1.9.0", 1],
  ["1.0.0-rc.1", "1.0.0", -1],
  ["1.0.0-rc.2", "1.0.0-rc.10", -1],
  ["1.0.0+a", "1.0.0+b", 0],
  ["none", "0.0.1-0", -1],
  ["1.0.0", "", 1],
  ["none", "", 0],
] as const)("%s against %s is %d", ([a, b, order]) => {
  expect(compareVersions(a, b)).toBe(order);
  expect(compareVersions(b, a)).toBe(0 - order);
});

test("it never throws on any text", () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (a, b) => {
      expect(compareVersions(a, b) + compareVersions(b, a)).toBe(0);
    }),
  );
});

test.for([
  ["v1.2.3", "1.2.3", 1],
  ["17.0.0-dev", "17.0.0-dev", 17],
  ["v1.0.0-rc.1+build.7", "1.0.0-rc.1+build.7", 1],
  ["0.0.0", "0.0.0", 0],
] as const)("%s is a version", ([text, plain, major]) => {
  expect(parseVersion(text)).toEqual({ text: plain, major });
});

const none = [
  "",
  "v",
  "none",
  "1",
  "1.2",
  "v1.2.3 ",
  " 1.2.3",
  "1.2.3\n",
  "vv1.2.3",
  "V1.2.3",
  "=1.2.3",
  "01.2.3",
  "1.2.3.4",
  "1.2.3_4",
  "<html>1.2.3</html>",
  `1.2.3-${"a".repeat(64)}`,
  "99999999999999999999.0.0",
];
test.for(none)("%j is none", (text) => {
  expect(parseVersion(text)).toBeUndefined();
});

test("it never throws on any text, and an accepted version has only valid characters", () => {
  const looksLike = fc.stringMatching(/^v?\d{1,3}\.\d{1,3}\.\d{1,3}[-+.a-z0-9 \n]{0,8}$/);
  fc.assert(
    fc.property(fc.oneof(fc.string(), looksLike), (text) => {
      const version = parseVersion(text);
      if (version !== undefined) expect(version.text).toMatch(/^\d+\.\d+\.\d+([-+][0-9A-Za-z.+-]+)?$/);
    }),
  );
});

test.for([
  ["1.0.0", "1.0.0", "fits"],
  ["v1.0.0", "1.0.0", "fits"],
  ["1.0.1", "1.0.0", "newer"],
  ["1.2.0", "1.10.0", "fits"],
  ["1.0.0", "1.0.0-rc.1", "newer"],
  ["2.0.0-rc.1", "1.9.0", "too_new"],
  ["17.0.0", "1.0.0", "too_new"],
  ["1.9.0", "2.0.0", "fits"],
  ["1.9.0", "3.0.0", "too_old"],
  ["1.0.0", "17.0.0", "too_old"],
  ["0.9.0", "1.0.0", "fits"],
  // Old peers send none.
  ["", "17.0.0", "fits"],
  ["unknown", "17.0.0", "fits"],
  ["1.0.0", "", "fits"],
  ["1.0.0-source", "1.0.0-source", "fits"],
] as const)("a peer of %j and a cluster of %j: %s", ([peer, cluster, fit]) => {
  expect(judgeFit(peer, cluster)).toBe(fit);
  expect(misfitText("this host", { peer, cluster }) === undefined).toBe(fit === "fits" || fit === "newer");
});

test("a mismatch is reported with both versions and what to do", () => {
  expect(misfitText("this host", { peer: "17.0.0", cluster: "1.0.0" })).toEqual({
    message: "this host is 17.0.0, newer by a major than the cluster (1.0.0)",
    hint: "upgrade the cluster first, or install 1.0.0 here",
  });
  expect(misfitText("tsh", { peer: "1.0.0", cluster: "3.0.1" })).toEqual({
    message: "tsh is 1.0.0, too old for the cluster (3.0.1), which works with majors 2 and 3",
    hint: "install 3.0.1 here",
  });
});

test("there is a result for any peers, and equals always fit", () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (a, b) => {
      expect(["fits", "newer", "too_new", "too_old"]).toContain(judgeFit(a, b));
      expect(judgeFit(a, a)).toBe("fits");
    }),
  );
});
