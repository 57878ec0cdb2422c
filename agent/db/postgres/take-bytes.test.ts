import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { takeBytes } from "./take-bytes.ts";

const options = { enough: (): number => 4, timeoutMs: 5_000, what: "four bytes", signal: new AbortController().signal };

test("the rest stays in the stream", async () => {
  const stream = new PassThrough();
  stream.write("ab");
  setImmediate(() => stream.end("cdefgh"));
  expect(String(await takeBytes(stream, options))).toBe("abcd");
  await new Promise((resolve) => setImmediate(resolve));
  expect(String(await takeBytes(stream, { ...options, enough: () => 1 }))).toBe("e");
  expect(String((await stream.toArray()).join(""))).toBe("fgh");
});

test("an end, an error, a limit, a stop and a refusal end the wait", async () => {
  await expect(takeBytes(new PassThrough().end("abc"), options)).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringContaining("ended"),
  });
  const broken = new PassThrough();
  setImmediate(() => broken.destroy(new Error("reset")));
  await expect(takeBytes(broken, options)).rejects.toMatchObject({ code: "unavailable" });
  await expect(takeBytes(new PassThrough(), { ...options, timeoutMs: 1 })).rejects.toMatchObject({ code: "timeout" });
  const locked = new PlatformError("denied", "locked");
  await expect(takeBytes(new PassThrough(), { ...options, signal: AbortSignal.abort(locked) })).rejects.toBe(locked);
  const refuse = (): never => {
    throw locked;
  };
  const refused = new PassThrough();
  refused.write("a");
  await expect(takeBytes(refused, { ...options, enough: refuse })).rejects.toBe(locked);
  expect(refused.listenerCount("readable")).toBe(0);
});
