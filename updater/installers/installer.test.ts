import { expect, test } from "vitest";
import { fromPackageVersion, toPackageVersion } from "./installer.ts";

test.for([
  ["1.2.3", "1.2.3"],
  ["1.2.3-rc.1", "1.2.3~rc.1"],
  ["1.2.3-rc-1.x", "1.2.3~rc-1.x"],
  ["1.2.3+build.5", "1.2.3+build.5"],
] as const)("%s is %s in a package, and back", ([semver, packaged]) => {
  expect(toPackageVersion(semver)).toBe(packaged);
  expect(fromPackageVersion(packaged)).toBe(semver);
});
