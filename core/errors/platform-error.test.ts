import { expect, test } from "vitest";
import { PlatformError, toPlatformError } from "./platform-error.ts";

test("an error of another part's copy of the class is recognized", async () => {
  const copy = "./platform-error.ts?copy";
  const other = (await import(copy)) as typeof import("./platform-error.ts");
  expect(other.PlatformError).not.toBe(PlatformError);
  const thrown = new other.PlatformError("denied", "no");
  expect(thrown instanceof PlatformError).toBe(true);
  expect(toPlatformError(thrown)).toBe(thrown);
});

test.for([undefined, null, "text", new Error("bug"), { code: "denied", message: "no" }])("%o is none", (thrown) => {
  expect(thrown instanceof PlatformError).toBe(false);
  const error = toPlatformError(thrown);
  expect(error.code).toBe("internal");
  expect(error.cause).toBe(thrown);
});
