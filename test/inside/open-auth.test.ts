import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openTestAuth, type TestAuth } from "./open-auth.ts";

const authoritiesOf = ({ auth }: TestAuth): string => auth.hostCaPem;

test("one auth service after the other has the same authorities, which are made once; two at the same time have their own", async () => {
  const seen: string[] = [];
  for (let round = 0; round < 2; round += 1) {
    await using one = await openTestAuth();
    await using other = await openTestAuth();
    seen.push(authoritiesOf(one));
    expect(authoritiesOf(other)).not.toBe(authoritiesOf(one));
  }
  expect(new Set(seen).size).toBe(1);
});

test("one that could not be opened does not count as open", async () => {
  const broken = (): never => {
    throw new Error("no clock");
  };
  const before = await openTestAuth();
  await before[Symbol.asyncDispose]();
  await expect(openTestAuth({ now: broken })).rejects.toThrow("no clock");
  await using after = await openTestAuth();
  expect(authoritiesOf(after)).toBe(authoritiesOf(before));
});

test("its folders are for their owner alone, as those of a first start are", async () => {
  await using copied = await openTestAuth();
  await using made = await openTestAuth();
  for (const { dataDir } of [copied, made]) {
    const entries = readdirSync(dataDir, { recursive: true, withFileTypes: true });
    const modes = entries.filter((one) => one.isDirectory()).map(({ parentPath, name }) => statSync(join(parentPath, name)).mode & 0o777);
    expect(modes.length).toBeGreaterThan(0);
    expect(new Set(modes)).toEqual(new Set([0o700]));
  }
});
