import { expect, test } from "vitest";
import { exitStatus } from "./exit-status.ts";

test.for([
  [0, undefined, 0],
  [255, undefined, 255],
  [null, "INT", 130],
  [null, "SIGTERM", 143],
  [null, "BOGUS", 255],
  [undefined, undefined, undefined],
] as const)("code %s and signal %s are the exit status %s", ([code, signal, expected]) => {
  expect(exitStatus(code, signal)).toBe(expected);
});
