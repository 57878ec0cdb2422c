import { expect, test } from "vitest";
import { keepLoads } from "./keep-loads.ts";

test("what was loaded is kept for a while, for one reader", async () => {
  let [time, count] = [0, 0];
  const kept = keepLoads<number>(30_000, () => time);
  const take = async (reader: string): Promise<readonly number[]> => {
    const load = async (): Promise<number> => {
      count += 1;
      return await Promise.resolve(count);
    };
    return await Promise.all(kept.take(reader, [load]));
  };
  expect(await take("ann")).toEqual([1]);
  time = 29_999;
  expect(await take("ann")).toEqual([1]);
  expect(await take("ben")).toEqual([2]);
  expect(await take("ann")).toEqual([3]);
  time += 30_000;
  expect(await take("ann")).toEqual([4]);
});

test("what failed is loaded again", async () => {
  const kept = keepLoads<number>(30_000, () => 0);
  const fail = async (): Promise<number> => await Promise.reject(new Error("away"));
  await expect(kept.take("ann", [fail])[0]).rejects.toThrow("away");
  expect(await Promise.all(kept.take("ann", [async () => await Promise.resolve(7)]))).toEqual([7]);
});
