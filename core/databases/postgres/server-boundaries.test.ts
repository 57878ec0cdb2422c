import fc from "fast-check";
import { expect, test } from "vitest";
import { PlatformError } from "../../errors/platform-error.ts";
import { encodeFatal } from "./fatal.ts";
import { ServerBoundaries } from "./server-boundaries.ts";

function message(type: string, body: string | Buffer = ""): Buffer {
  const bytes = Buffer.from(body);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(4 + bytes.length);
  return Buffer.concat([Buffer.from(type), length, bytes]);
}

function after(...chunks: readonly Buffer[]): boolean {
  const boundaries = new ServerBoundaries();
  for (const chunk of chunks) boundaries.push(chunk);
  return boundaries.mayAdd;
}

test("a message may be added where all that came are whole messages, whatever the chunks in which they arrive", () => {
  const types = fc.constantFrom("R", "S", "K", "Z", "D", "C", "N", "d");
  const messages = fc.array(fc.tuple(types, fc.uint8Array({ maxLength: 40 })), { minLength: 1, maxLength: 10 });
  fc.assert(
    fc.property(messages, fc.constantFrom("", "N", "NN"), fc.array(fc.integer({ min: 1, max: 30 })), (all, refusals, sizes) => {
      const whole = all.map(([type, body]) => message(type, Buffer.from(body)));
      const bytes = Buffer.concat([Buffer.from(refusals), ...whole]);
      let end = refusals.length;
      const ends = new Set(whole.map(({ length }) => (end += length)));
      const boundaries = new ServerBoundaries();
      for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
        const chunk = bytes.subarray(at, at + (sizes[turn % Math.max(1, sizes.length)] ?? bytes.length));
        boundaries.push(chunk);
        at += chunk.length;
        if (at > refusals.length + 1) expect([at, boundaries.mayAdd]).toEqual([at, ends.has(at)]);
      }
    }),
  );
});

test("at the very beginning, and behind a refused request for encryption", () => {
  expect([after(), after(Buffer.from("N")), after(Buffer.from("N"), Buffer.from("N"))]).toEqual([true, true, true]);
  expect(after(Buffer.from("N\0"))).toBe(false);
});

test("not behind an error, which explains the end already; nor where a length is none", () => {
  const fatal = encodeFatal(new PlatformError("denied", "alice is locked"));
  expect([after(fatal), after(fatal, message("Z", "I")), after(message("Z", "I"), fatal)]).toEqual([false, true, false]);
  expect(after(Buffer.from("R\0\0\0\x03"), message("Z", "I"))).toBe(false);
});
