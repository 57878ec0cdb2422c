import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { recordResizes } from "./record-resizes.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function recorder() {
  const over = new AbortController();
  const recorded: string[] = [];
  const resized = recordResizes((size) => void recorded.push(size), over.signal);
  return { over, recorded, resized: (columns: number) => resized({ columns, rows: 24 }) };
}

test("the first new size is recorded at once, and then the last one of each ten seconds", () => {
  const { recorded, resized } = recorder();
  for (let columns = 100; columns <= 1_000; columns += 1) resized(columns);
  expect(recorded).toEqual(["100:24"]);
  vi.advanceTimersByTime(10_000);
  expect(recorded).toEqual(["100:24", "1000:24"]);
  vi.advanceTimersByTime(60_000);
  expect(recorded).toHaveLength(2);
  resized(80);
  expect(recorded).toEqual(["100:24", "1000:24", "80:24"]);
});

test("a size that is the recorded one, or again, is not recorded", () => {
  const { recorded, resized } = recorder();
  for (const columns of [100, 100, 90, 100]) resized(columns);
  vi.advanceTimersByTime(60_000);
  resized(100);
  expect(recorded).toEqual(["100:24"]);
});

test("nothing is recorded after the end of the terminal", () => {
  const { over, recorded, resized } = recorder();
  resized(100);
  resized(90);
  over.abort();
  vi.advanceTimersByTime(60_000);
  resized(80);
  expect(recorded).toEqual(["100:24"]);
});
