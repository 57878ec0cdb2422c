import fc from "fast-check";
import { expect, test } from "vitest";
import { PlatformError } from "../errors/platform-error.ts";
import { decodeRelayHeader, encodeRelayHeader, maxRelayHeader } from "./relay-header.ts";

test("a header survives encoding", () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 60 }), (clientAddress) => {
      const frame = encodeRelayHeader({ clientAddress });
      expect(frame.readUInt32BE(0)).toBe(frame.length - 4);
      expect(frame.length - 4).toBeLessThanOrEqual(maxRelayHeader);
      expect(decodeRelayHeader(frame.subarray(4))).toEqual({ clientAddress });
    }),
  );
});

test.for([[""], ["00"], ["0200000000"], ["01000000ff61"], ["010000000161ff"]] as const)("%s is refused", ([hex]) => {
  expect(() => decodeRelayHeader(Buffer.from(hex, "hex"))).toThrow(PlatformError);
});
