import { setImmediate } from "node:timers/promises";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { collectGarbage } from "./collect-garbage.ts";

test("garbage is freed at once", async () => {
  const garbage = new WeakRef({ bytes: new Uint8Array(1024) });
  // An object that was created or used in this turn is kept until its end.
  await setImmediate();
  // This process holds everything that earlier tests have loaded.
  collectGarbage(Number.POSITIVE_INFINITY);
  expect(garbage.deref()).toBeUndefined();
});

test("no context can request it afterwards", () => {
  collectGarbage(Number.POSITIVE_INFINITY);
  expect(runInNewContext("typeof gc")).toBe("undefined");
});
