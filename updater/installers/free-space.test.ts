import { expect, test } from "vitest";
import { findShortage, spaceShortage } from "./free-space.ts";

const mb = 1_000_000;
const usr = { id: 1, free: 100 * mb };
const cache = { id: 2, free: 50 * mb };

test.for([
  [
    "each has its own",
    [
      ["/usr", usr, 60],
      ["/var/cache", cache, 10],
    ],
    undefined,
  ],
  [
    "one is short",
    [
      ["/usr", usr, 60],
      ["/var/cache", cache, 20],
    ],
    "/var/cache is on a file system with 50 MB free, but 54 MB are needed there",
  ],
  [
    "they add up",
    [
      ["/usr", usr, 60],
      ["/var/lib", usr, 10],
    ],
    "/usr is on a file system with 100 MB free, but 104 MB are needed there",
  ],
  [
    "the reserve counts alone",
    [["/var/lib", { id: 3, free: 33 * mb }, 0]],
    "/var/lib is on a file system with 33 MB free, but 34 MB are needed there",
  ],
] as const)("%s", ([, needs, sentence]) => {
  expect(findShortage(needs.map(([folder, on, bytes]) => ({ folder, on, bytes: bytes * mb })))).toBe(sentence);
});

test("a missing folder is measured where it would be", async () => {
  expect(await spaceShortage([{ folder: "/tmp/not/there/yet", bytes: 1 }])).toBeUndefined();
  expect(await spaceShortage([{ folder: "/tmp/not/there/yet", bytes: 1e15 }])).toContain("/tmp/not/there/yet");
});
