import fc from "fast-check";
import { expect, test } from "vitest";
import { someRuns } from "../../../test/fuzz/some-runs.ts";
import { decodeFrame, encodeFrame } from "./web-socket.ts";

/** A client's frame: the server's with a mask. */
function masked(payload: Uint8Array, mask: Uint8Array): Buffer {
  const plain = encodeFrame({ isFinal: true, opcode: 2, payload: Buffer.from(payload) });
  const head = plain.subarray(0, plain.length - payload.length);
  head[1] = (head[1] ?? 0) | 0x80;
  return Buffer.concat([head, mask, payload.map((byte, at) => byte ^ (mask[at & 3] ?? 0))]);
}

test("a client's frame is read back, whatever its length, and not before it is complete", () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.uint8Array({ maxLength: 200 }), fc.uint8Array({ minLength: 65_530, maxLength: 65_540 })),
      fc.uint8Array({ minLength: 4, maxLength: 4 }),
      (payload, mask) => {
        const bytes = masked(payload, mask);
        const found = decodeFrame(Buffer.concat([bytes, Buffer.from("next")]));
        expect(found?.length).toBe(bytes.length);
        expect(found?.frame.payload.equals(Buffer.from(payload))).toBe(true);
        expect(decodeFrame(bytes.subarray(0, bytes.length - 1))).toBeUndefined();
      },
    ),
    { numRuns: someRuns(25) },
  );
});

test.for([
  ["without a mask", [0x82, 0x01, 0x00]],
  ["with a bit of an extension", [0xc2, 0x80, 0, 0, 0, 0]],
  ["that is too long", [0x82, 0xff, 0, 0, 0, 1, 0, 0, 0, 0]],
] as const)("a frame %s is refused", ([, bytes]) => {
  expect(() => decodeFrame(Buffer.from(bytes))).toThrow();
});
