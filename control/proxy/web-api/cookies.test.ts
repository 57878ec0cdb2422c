import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { someRuns } from "../../../test/fuzz/some-runs.ts";
import { cookieValue, setCookie, withoutOwnCookies } from "./cookies.ts";

describe("a cookie's value", () => {
  test.for([
    ["a=1; b=2", "b", "2"],
    ["a=1;b=x=y; c", "b", "x=y"],
    ["a=", "a", ""],
    ["a=1", "b", undefined],
    ["a", "a", undefined],
    ["b=1; a=2; b=3", "b", undefined],
    [undefined, "a", undefined],
    ["a=1; ".repeat(20_000), "a", undefined],
  ] as const)("of %s", ([header, name, value]) => {
    expect(cookieValue(header, name)).toBe(value);
  });
});

describe("without our own cookies", () => {
  test.for([
    ["a=1; __Host-platform_app=x; b=2", "a=1; b=2"],
    ["__Host-platform_app=x;__host-PLATFORM_state_1=y", undefined],
    ["__Host-platform_session", undefined],
    ['theme="dark; __Host-other=1', 'theme="dark; __Host-other=1'],
  ] as const)("%s is %s", ([header, left]) => {
    expect(withoutOwnCookies(header)).toBe(left);
  });

  test("none is left, and the others stay in order", () => {
    const name = fc.constantFrom("a", "b", "__Host-platform_app", " __Host-platform_session ", "__HOST-platform_x", "x__Host-platform_");
    fc.assert(
      fc.property(fc.array(fc.tuple(name, fc.stringMatching(/^[a-z0-9 =]*$/))), (pairs) => {
        const left = withoutOwnCookies(pairs.map((pair) => pair.join("=")).join(";"));
        const kept = (left ?? "").split(";").map((pair) => pair.trim());
        expect(kept.some((pair) => pair.toLowerCase().startsWith("__host-platform_"))).toBe(false);
        const others = pairs.map((pair) => pair.join("=").trim()).filter((pair) => !pair.toLowerCase().startsWith("__host-platform_"));
        expect(kept.filter((pair) => pair !== "")).toEqual(others);
      }),
      { numRuns: someRuns(25) },
    );
  });
});

test("a cookie is only for this host, over TLS, and not for scripts", () => {
  expect(setCookie("n", "v", { sameSite: "Strict", maxAge: 60 })).toBe("n=v; Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age=60");
});
