import { randomBytes } from "node:crypto";
import { deflateRawSync } from "node:zlib";
import fc from "fast-check";
import { expect, test } from "vitest";
import { someRuns } from "../../test/fuzz/some-runs.ts";
import { memberFile, memberOf } from "../../test/inside/member-file.ts";
import { type Lines, readLines } from "./read-lines.ts";
import { RecordingSource } from "./recording-source.ts";
import { allOf, memorySource } from "./testing/memory-source.ts";

const signal = new AbortController().signal;

async function read(file: Buffer, from = 0): Promise<readonly Lines[]> {
  return await allOf(readLines(memorySource(file).source, { from, signal }));
}

test("the lines of each member come with the offset after it, from any member on", async () => {
  const [first, second] = [memberOf("a\nb\n", 0), memberOf("ü\n", 1)];
  const file = Buffer.concat([first, second]);
  const last = { lines: ["ü"], end: file.length, isDamaged: false };
  expect(await read(file)).toEqual([{ lines: ["a", "b"], end: first.length, isDamaged: false }, last]);
  expect(await read(file, first.length)).toEqual([last]);
});

test("a file of many parts is read whole, and parts are asked for once", async () => {
  const texts = Array.from({ length: 12 }, (_, at) => `${randomBytes(200_000).toString("hex")}${at}\n`);
  const file = memberFile(texts);
  const { source, asked } = memorySource(file);
  for (let round = 0; round < 2; round += 1) {
    const lines = await allOf(readLines(source, { from: 0, signal }));
    expect(lines.flatMap((part) => part.lines).map((line) => `${line}\n`)).toEqual(texts);
  }
  const inside = asked.filter((offset) => offset < file.length);
  expect(new Set(inside).size).toBe(inside.length);
});

test.for([
  ["bytes that are not gzip", (file: Buffer) => Buffer.concat([Buffer.from("<html>"), file]), ["1", "2", "3"], [true, false, false]],
  ["a member that is broken inside", (file: Buffer) => Buffer.from(file).fill(0xff, 24, 30), ["2", "3"], [true, false]],
  ["a cut end", (file: Buffer) => file.subarray(0, -1), ["1", "2"], [false, false]],
  ["a length that no member has", (file: Buffer) => Buffer.from(file).fill(0xff, 16, 20), ["2", "3"], [true, false]],
] as const)("with %s, the intact lines are read", async ([, broken, lines, damages]) => {
  const parts = await read(broken(memberFile(["1\n", "2\n", "3\n"])));
  expect([parts.flatMap((part) => part.lines), parts.map(({ isDamaged }) => isDamaged)]).toEqual([lines, damages]);
});

test("a text longer than any that is written is damage, and is not kept", async () => {
  const bomb = memberOf(Buffer.alloc(1024 * 1024, 0x20), 0);
  const body = deflateRawSync(Buffer.alloc(64 * 1024 * 1024, 0x20));
  const forged = Buffer.concat([bomb.subarray(0, 24), body, Buffer.alloc(8)]);
  forged.writeUInt32LE(forged.length, 16);
  expect(await read(Buffer.concat([forged, memberOf("after\n", 1)]))).toMatchObject([{ lines: ["after"], isDamaged: true }]);
});

test("any bytes end, and what is whole among them is read", async () => {
  const good = memberOf("good\n", 0);
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), fc.uint8Array({ maxLength: 200 }), async (before, after) => {
      const lines = (await read(Buffer.concat([before, good, after]))).flatMap((part) => part.lines);
      expect(lines).toContain("good");
    }),
    { numRuns: someRuns(25) },
  );
});

test("a session that goes on is read on from the last whole member", async () => {
  const [first, second] = [memberOf("1\n", 0), memberOf("2\n", 1)];
  let file = Buffer.concat([first, second.subarray(0, 10)]);
  const source = new RecordingSource(async ({ offset, length }) => ({
    bytes: new Uint8Array(file.subarray(offset, offset + length)),
    isRunning: true,
  }));
  const before = await allOf(readLines(source, { from: 0, signal }));
  file = Buffer.concat([first, second]);
  const after = await allOf(readLines(source, { from: before.at(-1)?.end ?? 0, signal }));
  expect([before, after].map((parts) => parts.flatMap(({ lines }) => lines))).toEqual([["1"], ["2"]]);
});
