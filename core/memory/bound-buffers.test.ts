import { expect, test } from "vitest";
import { boundBuffers } from "./bound-buffers.ts";

const MiB = 1024 * 1024;

test("garbage of buffers that pass is collected when it has become more than 16 MiB, and not looked at with each of them", () => {
  const memory = { held: 10 * MiB, looks: 0, collections: 0 };
  const passed = boundBuffers({
    external: () => {
      memory.looks += 1;
      return memory.held;
    },
    collect: () => {
      memory.collections += 1;
      memory.held = 12 * MiB;
    },
    clock: () => 0,
  });
  /** Each MiB that passes leaves a tenth. */
  const pass = (mebibytes: number): void => {
    for (let count = 0; count < mebibytes * 64; count += 1) {
      memory.held += MiB / 640;
      passed(MiB / 64);
    }
  };
  pass(150);
  expect(memory).toMatchObject({ looks: 18, collections: 0 });
  let highest = 0;
  for (let count = 0; count < 1_000; count += 1) {
    pass(1);
    highest = Math.max(highest, memory.held);
  }
  expect(highest).toBeLessThan((12 + 16 + 1) * MiB);
  expect(memory.collections).toBe(6);
});

test("what lives longer than the collection is not collected again and again", () => {
  const memory = { held: 0, collections: 0 };
  const passed = boundBuffers({ external: () => memory.held, collect: () => (memory.collections += 1), clock: () => 0 });
  passed(8 * MiB);
  memory.held = 100 * MiB;
  for (let count = 0; count < 100; count += 1) passed(8 * MiB);
  expect(memory.collections).toBe(1);
});

test("buffers that are filled and left at once, again and again, cost at most a twentieth of the time", () => {
  let [held, now, collecting] = [0, 0, 0];
  const collect = (): void => {
    held = 0;
    now += 10;
    collecting += 10;
  };
  const passed = boundBuffers({ external: () => held, collect, clock: () => now });
  passed(8 * MiB);
  while (now < 10_000) {
    held += 32 * MiB;
    now += 1;
    passed(8 * MiB);
    held = 0;
    passed(8 * MiB);
  }
  expect(collecting / now).toBeGreaterThan(0.04);
  expect(collecting / now).toBeLessThanOrEqual(0.051);
});

test("in a process: its own memory is looked at", () => {
  boundBuffers()(8 * MiB);
});
