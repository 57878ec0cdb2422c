import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createCookieSwap, type SwapStep } from "./x11.ts";

const protocol = "MIT-MAGIC-COOKIE-1";
const fake = Buffer.from("00112233445566778899aabbccddeeff", "hex");
const real = Buffer.from("ffeeddccbbaa99887766554433221100", "hex");

function opening({ order = "B", name = protocol, data = fake }: { order?: "B" | "l"; name?: string; data?: Buffer } = {}): Buffer {
  const head = Buffer.alloc(12);
  head.write(order, 0, "latin1");
  const put = (value: number, at: number) => (order === "B" ? head.writeUInt16BE(value, at) : head.writeUInt16LE(value, at));
  put(11, 2);
  put(name.length, 6);
  put(data.length, 8);
  const pad = (bytes: Buffer) => Buffer.concat([bytes, Buffer.alloc((4 - (bytes.length % 4)) % 4)]);
  return Buffer.concat([head, pad(Buffer.from(name, "latin1")), pad(data)]);
}

function feed(pieces: readonly Buffer[]): SwapStep {
  const swap = createCookieSwap(protocol, { fake, real });
  let step: SwapStep = { want: "more" };
  for (const piece of pieces) {
    step = swap(piece);
    if (step.want !== "more") break;
  }
  return step;
}

describe("the first bytes of an X11 connection", () => {
  test.for(["B", "l"] as const)("in any pieces, byte order %s: the fake cookie is exchanged, all else stays", (order) => {
    const whole = opening({ order });
    fc.assert(
      fc.property(fc.array(fc.nat(whole.length), { maxLength: 5 }), (cuts) => {
        const ends = [...new Set([...cuts, whole.length])].sort((a, b) => a - b).filter((end) => end > 0);
        const pieces = ends.map((end, index) => whole.subarray(ends[index - 1] ?? 0, end));
        expect(feed(pieces)).toEqual({ want: "pass", bytes: opening({ order, data: real }) });
      }),
    );
  });

  test("what follows in the same piece passes behind it", () => {
    const step = feed([Buffer.concat([opening(), Buffer.from("more")])]);
    expect(step.want === "pass" && step.bytes.subarray(-4).toString()).toBe("more");
  });

  test.for<readonly [string, Buffer]>([
    ["another cookie", opening({ data: real })],
    ["a longer cookie", opening({ data: Buffer.concat([fake, fake]) })],
    ["no cookie", opening({ name: "", data: Buffer.alloc(0) })],
    ["another protocol", opening({ name: "XDM-AUTHORIZATION-1" })],
    ["another byte order", Buffer.concat([Buffer.from("GET / HTTP/1.1\r\n\r\n")])],
    ["lengths that are too long", Buffer.from([0x42, 0, 0, 11, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0])],
  ])("%s is refused", ([, bytes]) => {
    expect(feed([bytes]).want).toBe("refuse");
  });

  test("any bytes: never the real cookie without the fake one, never more than a bound is held", () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 64 }), { maxLength: 64 }), (pieces) => {
        const step = feed([Buffer.from("B"), ...pieces.map((piece) => Buffer.from(piece))]);
        const given = Buffer.concat(pieces.map((piece) => Buffer.from(piece)));
        if (step.want === "pass") expect(given.includes(fake)).toBe(true);
        if (step.want === "more") expect(given.length).toBeLessThan(2200);
      }),
    );
  });
});
