import { assert, property, stringMatching } from "fast-check";
import { describe, expect, test } from "vitest";
import { hasProgram } from "../../test/world/has-program.ts";
import { run } from "../build/run.ts";
import { packageVersion } from "./package-version.ts";

describe("packageVersion", () => {
  test.for([
    ["1.2.3", "1.2.3"],
    ["1.2.0-rc.1", "1.2.0~rc.1"],
    ["17.0.0-dev", "17.0.0~dev"],
    ["1.2.3-a-b.4", "1.2.3~a.b.4"],
    ["1.2.3+build.5", "1.2.3+build.5"],
    ["1.2.3-rc.1+build", "1.2.3~rc.1+build"],
  ] as const)("%s is %s", ([version, expected]) => {
    expect(packageVersion(version)).toBe(expected);
  });

  test.for(["", "v1.2.3", "1.2", "1.2.3.4", "1.02.3", "1.2.3-", "1.2.3-rc..1", "1.2.3 ", "1.2.3\n", "1.2.3;rm", "1234567.0.0"])(
    "%j is refused",
    (version) => {
      expect(() => packageVersion(version)).toThrow(/is not a version/);
    },
  );

  test("has only what both formats allow in a version", () => {
    const version = stringMatching(/^[1-9]\.[1-9]\.[1-9](-[0-9a-z-]{1,8}(\.[0-9a-z-]{1,8}){0,2})?$/);
    assert(property(version, (text) => /^\d\.\d\.\d(~[0-9a-z.]+)?$/.test(packageVersion(text))));
  });

  test.skipIf(!hasProgram("dpkg"))("dpkg sorts a pre-release before its release", async () => {
    await run("dpkg", ["--compare-versions", packageVersion("1.2.0-rc.1"), "lt", packageVersion("1.2.0")]);
    await run("dpkg", ["--compare-versions", packageVersion("1.2.0-rc.1"), "gt", packageVersion("1.1.9")]);
  });
});
