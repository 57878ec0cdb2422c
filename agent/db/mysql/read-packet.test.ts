import { PassThrough } from "node:stream";
import fc from "fast-check";
import { expect, test } from "vitest";
import { packet } from "../../../core/databases/mysql/packet.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { readPacket } from "./read-packet.ts";

const options = { maxLength: 100, sequence: 1, what: "the login", signal: new AbortController().signal };

test("a packet is read in any pieces, and what follows stays in the stream", async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 100 }), fc.uint8Array({ maxLength: 20 }), fc.array(fc.nat(130)), async (body, after, cuts) => {
      const bytes = Buffer.concat([packet(1, Buffer.from(body)), after]);
      const ends = [...new Set(cuts.map((cut) => cut % (bytes.length + 1))), bytes.length].sort((a, b) => a - b);
      const stream = new PassThrough();
      const read = readPacket(stream, options);
      for (const [index, end] of ends.entries()) stream.write(bytes.subarray(ends[index - 1] ?? 0, end));
      expect(await read).toEqual(Buffer.from(body));
      stream.end();
      expect(Buffer.concat(await stream.toArray())).toEqual(Buffer.from(after));
    }),
  );
});

test("a packet that is too long, out of order or cut is refused", async () => {
  const long = new PassThrough();
  long.write(Buffer.of(101, 0, 0, 1));
  await expect(readPacket(long, options)).rejects.toMatchObject({ code: "invalid" });
  const late = new PassThrough();
  late.write(Buffer.of(1, 0, 0, 2));
  await expect(readPacket(late, options)).rejects.toMatchObject({ code: "invalid" });
  const cut = new PassThrough();
  cut.end(Buffer.of(5, 0));
  await expect(readPacket(cut, options)).rejects.toMatchObject({ code: "unavailable" });
  await expect(readPacket(cut.destroy(), options)).rejects.toMatchObject({ code: "unavailable" });
  const why = new PlatformError("denied", "locked");
  await expect(readPacket(new PassThrough(), { ...options, signal: AbortSignal.abort(why) })).rejects.toBe(why);
});
