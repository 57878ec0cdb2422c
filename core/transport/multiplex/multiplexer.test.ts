import { once } from "node:events";
import { Duplex, duplexPair } from "node:stream";
import { setImmediate as turn } from "node:timers/promises";
import fc from "fast-check";
import { expect, test } from "vitest";
import { FrameReader, frameHeader, frameKinds, headerLength, maxFrameData } from "./multiplex-frames.ts";
import { firstWindow, mostWindow } from "./multiplexed-stream.ts";
import { Multiplexer } from "./multiplexer.ts";

/** Both sides of one connection; `arrive` resolves with the next stream at the far side. */
function connected(most = 8) {
  const [near, far] = duplexPair();
  const arrived: Duplex[] = [];
  let wake = (): void => {};
  const onStream = (stream: Duplex): void => {
    arrived.push(stream);
    wake();
  };
  const client = new Multiplexer(near, { most });
  const server = new Multiplexer(far, { most, onStream });
  const arrive = async (): Promise<Duplex> => {
    while (arrived.length === 0) await new Promise<void>((resolve) => (wake = resolve));
    return arrived.shift() as Duplex;
  };
  return { near, far, client, server, arrive };
}

async function readAll(stream: Duplex): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** Until nothing happens any more in memory. */
async function quiet(): Promise<void> {
  for (let count = 0; count < 50; count += 1) await turn();
}

test("streams carry their bytes both ways, each with its own end", async () => {
  const { client, server, arrive } = connected();
  const sent = Array.from({ length: 5 }, (_, place) => Buffer.alloc(300_000 + place, place + 1));
  const echo = async (stream: Duplex): Promise<void> => void stream.end(await readAll(stream));
  const echoes: Promise<void>[] = [];
  const answering = (async () => {
    for (const _ of sent) echoes.push(echo(await arrive()));
  })();
  const answers = await Promise.all(
    sent.map(async (bytes) => {
      const stream = client.open();
      stream.end(bytes);
      return await readAll(stream);
    }),
  );
  await answering;
  await Promise.all(echoes);
  expect(answers.every((answer, place) => answer.equals(sent[place] ?? Buffer.alloc(0)))).toBe(true);
  await quiet();
  expect([client.size, server.size]).toEqual([0, 0]);
});

test("a reader that takes nothing gets no more than the first window, and holds up no other stream", async () => {
  const { client, arrive } = connected();
  const slow = client.open();
  slow.write(Buffer.alloc(mostWindow));
  const unread = await arrive();
  await quiet();
  expect(unread.readableLength).toBe(firstWindow);
  expect(slow.writableNeedDrain).toBe(true);
  const quick = client.open();
  quick.end("quick");
  expect(String(await readAll(await arrive()))).toBe("quick");
  slow.end();
  expect((await readAll(unread)).length).toBe(mostWindow);
});

test("a stream that one side destroys is over at the other one; the others go on", async () => {
  const { client, server, arrive } = connected();
  const [one, two] = [client.open(), client.open()];
  const [far, other] = [await arrive(), await arrive()];
  const gone = once(far, "close");
  one.destroy();
  await gone;
  two.end("still here");
  expect(String(await readAll(other))).toBe("still here");
  expect([client.size, server.size]).toEqual([1, 1]);
});

test("what came before the end of a stream can be read after the connection has gone", async () => {
  const { client, server, arrive } = connected();
  const stream = client.open();
  const far = await arrive();
  far.end("last words");
  await quiet();
  server.close();
  await client.closed;
  expect(String(await readAll(stream))).toBe("last words");
});

test.each([
  ["closed", (far: Duplex) => far.end()],
  ["destroyed", (far: Duplex) => far.destroy()],
] as const)("the streams of a connection that its peer has %s are destroyed", async (_, end) => {
  const { near, far, client, arrive } = connected();
  const stream = client.open();
  await arrive();
  const closed = once(stream, "close");
  end(far);
  if (!near.readableEnded) near.destroy();
  await closed;
  await client.closed;
  expect(client.hasRoom).toBe(false);
  expect(() => client.open()).toThrow(expect.objectContaining({ code: "unavailable" }));
});

test("beyond the limit, and after `last`, none is opened; those that are open go on", async () => {
  const { client, server, arrive } = connected(2);
  const [one] = [client.open(), client.open()];
  expect(client.hasRoom).toBe(false);
  expect(() => client.open()).toThrow(expect.objectContaining({ code: "unavailable" }));
  const far = await arrive();
  server.refuseMore();
  await quiet();
  one.destroy();
  await once(far, "close");
  expect(client.hasRoom).toBe(false);
});

test("one that was on its way when the other side said `last` is reset", async () => {
  const { client, server } = connected();
  const stream = client.open();
  server.refuseMore();
  await once(stream, "close");
  expect(client.size).toBe(0);
});

test.each([
  ["an unknown kind", Buffer.from([9, 0, 0, 0, 0, 0, 0, 1])],
  ["an empty data frame", Buffer.concat([frameHeader("open", 1), frameHeader("data", 1, 0)])],
  ["a data frame that is too long", Buffer.concat([frameHeader("open", 1), frameHeader("data", 1, maxFrameData + 1)])],
  ["data for a stream that is not open", Buffer.concat([frameHeader("data", 7, 1), Buffer.alloc(1)])],
  ["a stream that is opened twice", Buffer.concat([frameHeader("open", 1), frameHeader("open", 1)])],
  ["more data than the window allows", overrun()],
  [
    "a window that grows without end",
    Buffer.concat([frameHeader("open", 1), ...Array.from({ length: 3 }, () => frameHeader("window", 1, 1_000_000))]),
  ],
] as const)("%s ends the connection", async (_, bytes) => {
  const { near, server } = connected();
  near.write(bytes);
  await server.closed;
});

/** Data of a stream that nobody reads. */
function overrun(): Buffer {
  const frame = Buffer.concat([frameHeader("data", 1, maxFrameData), Buffer.alloc(maxFrameData)]);
  return Buffer.concat([frameHeader("open", 1), frame, frame]);
}

test("a side that accepts no streams ends the connection at one", async () => {
  const { far, client } = connected();
  far.write(frameHeader("open", 1));
  await client.closed;
});

test.each([
  ["a short message in one piece with its header", 100, [headerLength + 100]],
  ["a long one without a copy", 50_000, [headerLength, 50_000]],
] as const)("a stream sends %s", async (_, length, pieces) => {
  const written: number[] = [];
  const write = (chunk: Buffer, _encoding: string, done: () => void): void => {
    written.push(chunk.length);
    done();
  };
  const client = new Multiplexer(new Duplex({ read: () => {}, write }), { most: 1 });
  const stream = client.open();
  await quiet();
  written.splice(0);
  stream.write(Buffer.alloc(length));
  await quiet();
  expect(written).toEqual(pieces);
});

test("frames are the same however their bytes are cut", () => {
  const frame = fc.record({
    kind: fc.constantFrom("open", "data", "window", "end", "reset"),
    stream: fc.nat({ max: 9 }).map((n) => n + 1),
    data: fc.uint8Array({ minLength: 1, maxLength: 40 }),
  });
  fc.assert(
    fc.property(fc.array(frame, { maxLength: 8 }), fc.infiniteStream(fc.integer({ min: 1, max: 12 })), (frames, cuts) => {
      const bytes = Buffer.concat(
        frames.flatMap(({ kind, stream, data }) => {
          if (kind === "data") return [frameHeader("data", stream, data.length), Buffer.from(data)];
          return [frameHeader(kind as "open", stream, kind === "window" ? data.length : 0)];
        }),
      );
      const seen: string[] = [];
      const streams = new Map<number, Buffer[]>();
      const reader = new FrameReader({
        onFrame: (kind, stream, amount) => void seen.push(`${kind} ${stream} ${amount}`),
        onData: (stream, part) => void streams.set(stream, [...(streams.get(stream) ?? []), Buffer.from(part)]),
      });
      for (let at = 0; at < bytes.length; ) {
        const length = cuts.next().value ?? 1;
        reader.push(bytes.subarray(at, at + length));
        at += length;
      }
      const others = frames.filter(({ kind }) => kind !== "data");
      expect(seen).toEqual(others.map(({ kind, stream, data }) => `${kind} ${stream} ${kind === "window" ? data.length : 0}`));
      for (const [stream, parts] of streams) {
        const all = frames.filter((one) => one.kind === "data" && one.stream === stream).map(({ data }) => Buffer.from(data));
        expect(Buffer.concat(parts)).toEqual(Buffer.concat(all));
      }
    }),
  );
});

test("whatever a peer sends, the connection ends or goes on: nothing is thrown, and no more is held than the windows allow", async () => {
  const header = fc.tuple(fc.integer({ min: 0, max: Object.keys(frameKinds).length + 1 }), fc.nat({ max: 70_000 }), fc.nat({ max: 12 }));
  await fc.assert(
    fc.asyncProperty(fc.array(fc.oneof(header, fc.uint8Array({ maxLength: 200 })), { maxLength: 30 }), async (parts) => {
      const { near, server } = connected(3);
      for (const part of parts) {
        if (part instanceof Uint8Array) near.write(part);
        else {
          const bytes = Buffer.alloc(headerLength);
          bytes.writeUInt32BE(part[0] * 0x100_0000 + part[1]);
          bytes.writeUInt32BE(part[2], 4);
          near.write(bytes);
        }
      }
      await quiet();
      expect(server.size).toBeLessThanOrEqual(3);
      near.destroy();
      server.close();
      await server.closed;
    }),
  );
});
