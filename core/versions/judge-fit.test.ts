import fc from "fast-check";
import { expect, test } from "vitest";
import { judgeFit, misfitText } from "./judge-fit.ts";

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
