import { Writable } from "node:stream";
import fc from "fast-check";
import { expect, test } from "vitest";
import { lineOutput, maxLine } from "./host-output.ts";

function sink() {
  const writes: Buffer[] = [];
  const to = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      writes.push(chunk);
      done();
    },
  });
  return { to, writes };
}

async function fed(stream: Writable, chunks: readonly Buffer[]): Promise<void> {
  for (const chunk of chunks) await new Promise((resolve) => stream.write(chunk, resolve));
  await new Promise<void>((resolve) => stream.end(resolve));
}

test("each line has its prefix, and the last one gets its end", async () => {
  const { to, writes } = sink();
  await fed(lineOutput(to, "[a] "), ["on", "e\ntwo\n", "\n", "thr", "ee"].map(Buffer.from as (text: string) => Buffer));
  expect(Buffer.concat(writes).toString()).toBe("[a] one\n[a] two\n[a] \n[a] three\n");
});

test("nothing printed is nothing", async () => {
  const { to, writes } = sink();
  await fed(lineOutput(to, "[a] "), []);
  expect(writes).toEqual([]);
});

test("a line without end goes out in bounded pieces", async () => {
  const { to, writes } = sink();
  await fed(
    lineOutput(to, "> "),
    Array.from({ length: 10 }, () => Buffer.alloc(maxLine / 2, "x")),
  );
  const lines = Buffer.concat(writes).toString().split("\n");
  expect(lines.map((line) => line.length)).toEqual([maxLine + 2, maxLine + 2, maxLine + 2, maxLine + 2, maxLine + 2, 0]);
});

test("lines of several streams never mix and lose no byte, whatever the chunks", async () => {
  const chunks = fc.array(fc.uint8Array({ maxLength: 12 }), { maxLength: 20 });
  await fc.assert(
    fc.asyncProperty(chunks, chunks, async (one, other) => {
      const { to, writes } = sink();
      const [a, b] = [lineOutput(to, "A"), lineOutput(to, "B")];
      await Promise.all([fed(a, one.map(Buffer.from)), fed(b, other.map(Buffer.from))]);
      const lines = splitLines(Buffer.concat(writes));
      const of = (mark: string): Buffer => Buffer.concat(lines.filter((line) => line[0] === mark.charCodeAt(0)).map((line) => line.subarray(1)));
      expect(of("A").equals(whole(one))).toBe(true);
      expect(of("B").equals(whole(other))).toBe(true);
    }),
  );
});

function whole(chunks: readonly Uint8Array[]): Buffer {
  const bytes = Buffer.concat(chunks);
  return bytes.length === 0 || bytes.at(-1) === 10 ? bytes : Buffer.concat([bytes, Buffer.of(10)]);
}

function splitLines(bytes: Buffer): Buffer[] {
  const lines: Buffer[] = [];
  for (let from = 0, end = bytes.indexOf(10); end >= 0; from = end + 1, end = bytes.indexOf(10, from)) lines.push(bytes.subarray(from, end + 1));
  return lines;
}
