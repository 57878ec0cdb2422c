import { expect, test } from "vitest";
import { afterKey, type Key, keysOf, type Playback } from "./playback.ts";

const playback: Playback = { position: 15, speed: 1, isPaused: false, isOver: false };

test.for<[key: Key, changed: Partial<Playback>]>([
  ["pause", { isPaused: true }],
  ["back", { position: 5 }],
  ["forward", { position: 20 }],
  ["faster", { speed: 2 }],
  ["slower", { speed: 0.5 }],
  ["quit", { isOver: true }],
])("%s", ([key, changed]) => {
  expect(afterKey(playback, key, 20)).toEqual({ ...playback, ...changed });
});

test("no key leaves the recording or the range of speeds", () => {
  expect(afterKey({ ...playback, position: 3 }, "back", 20).position).toBe(0);
  expect(afterKey({ ...playback, speed: 16 }, "faster", 20).speed).toBe(16);
  expect(afterKey({ ...playback, speed: 0.25 }, "slower", 20).speed).toBe(0.25);
});

test.for<[typed: string, keys: readonly Key[]]>([
  [" q", ["pause", "quit"]],
  ["\u001b[C\u001bOD\u001b[A-", ["forward", "back", "faster", "slower"]],
  ["\u0003", ["quit"]],
  ["x\u001b[?1;2c\u001b[24;80R\u001b]11;rgb:q/q/q\u0007\u001bP>|q\u001b\\", []],
])("%j", ([typed, keys]) => {
  expect(keysOf(typed)).toEqual(keys);
});
