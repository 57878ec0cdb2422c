import { PassThrough } from "node:stream";
import fc from "fast-check";
import { expect, test } from "vitest";
import { PlatformError } from "../errors/platform-error.ts";
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

test("however the bytes arrive, as many as are wanted are taken, and the rest is left", async () => {
  const pieces = fc.array(fc.uint8Array({ minLength: 1, maxLength: 20 }), { minLength: 1, maxLength: 20 });
  await fc.assert(
    fc.asyncProperty(pieces, fc.nat({ max: 50 }), async (chunks, wanted) => {
      const all = Buffer.concat(chunks);
      const length = 1 + (wanted % all.length);
      const stream = new PassThrough();
      const taken = takeBytes(stream, { ...options, enough: () => length });
      for (const chunk of chunks) stream.write(chunk);
      stream.end();
      const head = await taken;
      const rest = Buffer.concat((await stream.toArray()) as Buffer[]);
      expect([head, rest]).toEqual([all.subarray(0, length), all.subarray(length)]);
    }),
  );
});
