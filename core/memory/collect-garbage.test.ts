import { setImmediate } from "node:timers/promises";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { collectGarbage } from "./collect-garbage.ts";

test("garbage is gone at once", async () => {
  const garbage = new WeakRef({ bytes: new Uint8Array(1024) });
  // An object that was made or looked at in this turn is kept until its end.
  await setImmediate();
  // This process holds what all tests before it have loaded.
  collectGarbage(Number.POSITIVE_INFINITY);
  expect(garbage.deref()).toBeUndefined();
});

test("no context can ask for it afterwards", () => {
  collectGarbage(Number.POSITIVE_INFINITY);
  expect(runInNewContext("typeof gc")).toBe("undefined");
});
