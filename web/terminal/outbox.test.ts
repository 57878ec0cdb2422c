import fc from "fast-check";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { someRuns } from "../../test/fuzz/some-runs.ts";
import { Outbox } from "./outbox.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A WebSocket whose proxy takes bytes when the test says so. */
function slowSink() {
  const messages: Uint8Array[] = [];
  return {
    bufferedAmount: 0,
    most: 0,
    readyState: 1,
    messages,
    send(bytes: Uint8Array) {
      messages.push(bytes.slice());
      this.bufferedAmount += bytes.length;
      this.most = Math.max(this.most, this.bufferedAmount);
    },
  };
}

test("any pasted bytes arrive as they are, in small messages, while the proxy reads slowly", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 200_000, size: "max" }), { maxLength: 2 }), (pieces) => {
      const sink = slowSink();
      const outbox = new Outbox(sink);
      for (const piece of pieces) expect(outbox.push(new Uint8Array(piece))).toBe(true);
      while (outbox.waiting > 0) {
        sink.bufferedAmount = 0;
        vi.advanceTimersByTime(20);
      }
      expect(Buffer.concat(sink.messages).equals(Buffer.concat(pieces))).toBe(true);
      expect(Math.max(0, ...sink.messages.map(({ length }) => length))).toBeLessThanOrEqual(16_384);
      expect(sink.most).toBeLessThan(131_072 + 16_384);
    }),
    { numRuns: someRuns(10) },
  );
});

test("more than the bound is not taken, and nothing is sent after the end", () => {
  const sink = slowSink();
  const outbox = new Outbox(sink);
  expect(outbox.push(new Uint8Array(64 * 1024 * 1024 + 1))).toBe(false);
  expect(outbox.push(new Uint8Array(1_000_000))).toBe(true);
  const before = sink.messages.length;
  sink.readyState = 3;
  sink.bufferedAmount = 0;
  vi.advanceTimersByTime(100);
  expect([sink.messages.length, outbox.waiting]).toEqual([before, 0]);
});
