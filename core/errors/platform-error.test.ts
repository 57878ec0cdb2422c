import { expect, test } from "vitest";
import { errorText, failureParts, PlatformError, toPlatformError } from "./platform-error.ts";

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

test("of a failure whose clean-up failed too, the first error comes first, with its code; the text has both", async () => {
  const main = new PlatformError("limit", "the disk is full", { hint: "make room" });
  const cleanup = (message: string): AsyncDisposable => ({ [Symbol.asyncDispose]: () => Promise.reject(new Error(message)) });
  const work = async (): Promise<void> => {
    await using _outer = cleanup("rmdir /outer");
    await using _inner = cleanup("rmdir /inner");
    throw main;
  };
  const thrown = await work().catch((error: unknown) => error);
  expect(thrown).toBeInstanceOf(SuppressedError);
  expect(toPlatformError(thrown)).toBe(main);
  expect(failureParts(thrown)).toEqual([main, new Error("rmdir /inner"), new Error("rmdir /outer")]);
  expect(errorText(thrown)).toBe("the disk is full; the clean-up failed too: rmdir /inner; the clean-up failed too: rmdir /outer");
});
