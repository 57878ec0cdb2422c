import { expect, test } from "vitest";
import { beyondMajor } from "./beyond-major.ts";

test.for([
  ["v1.9.0", "v1.0.0", true],
  ["v0.9.0", "v1.0.0", true],
  ["v2.0.0", "v1.4.0", false],
  ["v2.0.0-rc.1", "v1.4.0", false],
  ["v10.0.0", "v9.0.0", false],
  ["none", "v1.0.0", true],
] as const)("%s at a proxy of %s is served: %s", ([wanted, own, served]) => {
  expect(beyondMajor(wanted, own) === undefined).toBe(served);
});
