import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { setImmediate } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { filterAnswer } from "./filter-answer.ts";
import { cut, pod, shows } from "./testing/filter-cases.ts";

describe("an answer as a stream", () => {
  const facts = { many: "list", contentType: "application/json", contentEncoding: undefined, shows } as const;

  test("goes through with back-pressure", async () => {
    const bytes = Buffer.from(JSON.stringify({ items: [pod("a", "web"), pod("a", "db")] }));
    const stream = filterAnswer(facts);
    const whole = buffer(stream);
    await pipeline(Readable.from(cut(bytes, [3, 40, 90])), stream);
    expect(JSON.parse((await whole).toString())).toEqual({ items: [pod("a", "web")] });
  });

  test("of any size is kept one object at a time, and waits for a client that does not read", async () => {
    const object = JSON.stringify(pod("a", "web", { data: "x".repeat(3_000) }));
    let produced = 0;
    const source = function* (): Generator<Buffer> {
      yield Buffer.from('{"items":[');
      for (let index = 0; index < 2_000; index += 1) {
        const chunk = Buffer.from(`${index === 0 ? "" : ","}${object}`);
        produced += chunk.length;
        yield chunk;
      }
      yield Buffer.from("]}");
    };
    const stream = filterAnswer(facts);
    const done = pipeline(Readable.from(source()), stream);
    for (let turn = 0; turn < 100; turn += 1) await setImmediate();
    expect(produced).toBeLessThan(500_000);
    let shown = 0;
    for await (const chunk of stream) shown += (chunk as Buffer).length;
    await done;
    expect(produced).toBeGreaterThan(6_000_000);
    expect(shown).toBe(produced + '{"items":[]}'.length);
  });

  test("that is cut off fails", async () => {
    const stream = filterAnswer(facts);
    const failed = expect(buffer(stream)).rejects.toMatchObject({ code: "unavailable" });
    await pipeline(Readable.from([Buffer.from('{"items":[{"metadata"')]), stream).catch(() => {});
    await failed;
  });

  test.for<[type: string | undefined, encoding: string | undefined]>([
    ["application/vnd.kubernetes.protobuf", undefined],
    ["application/cbor", undefined],
    [undefined, undefined],
    ["text/plain", undefined],
    ["application/json", "gzip"],
  ])("in %s, %s is refused", ([contentType, contentEncoding]) => {
    expect(() => filterAnswer({ ...facts, contentType, contentEncoding })).toThrow(expect.objectContaining({ code: "unavailable" }));
  });
});
