import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { Duplex, duplexPair } from "node:stream";
import { afterEach, describe, expect, test, vi } from "vitest";
import { gatherPieces, unreadBytes } from "../node-internals/gather-pieces.ts";
import { relay } from "./relay.ts";

const undo: (() => void)[] = [];
afterEach(() => {
  for (const step of undo.splice(0).reverse()) step();
  vi.useRealTimers();
});

/** Two ends of one TCP connection; `near` is ours, `far` the peer's. */
async function tcpPair(): Promise<{ near: Socket; far: Socket }> {
  const server = createServer({ allowHalfOpen: false });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const far = connect({ port: (server.address() as AddressInfo).port, host: "127.0.0.1", allowHalfOpen: true });
  const [near] = (await once(server, "connection")) as [Socket];
  undo.push(() => {
    far.destroy();
    near.destroy();
    server.close();
  });
  far.on("error", () => {});
  return { near, far };
}

async function everything(stream: Duplex): Promise<string> {
  let text = "";
  for await (const chunk of stream) text += String(chunk);
  return text;
}

const listened = ["data", "end", "drain", "finish", "close", "readable"];
const counts = (stream: Duplex) => listened.map((event) => [event, stream.listenerCount(event)]);

describe("relay", () => {
  test("bytes that one side sends after the other has ended still arrive", async () => {
    const [left, right] = [await tcpPair(), await tcpPair()];
    const done = relay(left.near, right.near);
    left.far.end("question");
    expect(await everything(right.far)).toBe("question");
    right.far.end("answer");
    expect(await everything(left.far)).toBe("answer");
    await done;
    expect([left.near.destroyed, right.near.destroyed]).toEqual([true, true]);
  });

  test("50 MB go both ways at once, unchanged, through small buffers", async () => {
    const [left, right] = [await tcpPair(), await tcpPair()];
    const done = relay(left.near, right.near);
    const block = randomBytes(1_000_003);
    const digests = await Promise.all([exchange(left.far, block, 50), exchange(right.far, block, 50)]);
    const expected = createHash("sha256");
    for (let index = 0; index < 50; index++) expected.update(block);
    const digest = expected.digest("hex");
    expect(digests).toEqual([digest, digest]);
    await done;
  });

  test("a reader that stops holds the writer back, and nothing is lost", async () => {
    const [left, right] = [duplexPair(), duplexPair()];
    const done = relay(left[1], right[0]);
    const block = Buffer.alloc(65_536, 1);
    let sent = 0;
    while (sent < 1000 && !left[0].writableNeedDrain) {
      left[0].write(block);
      sent += 1;
      for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
    }
    expect(left[0].writableNeedDrain).toBe(true);
    expect(right[0].writableLength).toBeLessThan(1_000_000);
    left[0].end();
    expect((await everything(right[1])).length).toBe(sent * block.length);
    right[1].end();
    left[0].resume();
    await done;
  });

  test("pieces of one byte do not wait by the thousand for a reader that stops, and nothing is lost", async () => {
    const taken: Buffer[] = [];
    let take = (): void => {};
    let isReading = false;
    const slow = new Duplex({
      highWaterMark: 8_000_000,
      read: () => {},
      write: (chunk: Buffer, _encoding, done) => {
        taken.push(chunk);
        if (isReading) done();
        else take = done;
      },
    });
    const fast = gatherPieces(new Duplex({ highWaterMark: 8_000_000, read: () => {}, write: (_chunk, _encoding, done) => done() }));
    const done = relay(fast, slow);
    const sent = Buffer.from(Array.from({ length: 30_000 }, (_, index) => index % 251));
    for (let at = 0; at < sent.length; at += 1) {
      fast.push(sent.subarray(at, at + 1));
      if (at % 100 === 0) await new Promise(setImmediate);
    }
    expect([slow.writableLength, unreadBytes(fast)]).toEqual([1_024, 30_000 - 1_024]);
    isReading = true;
    take();
    fast.push(null);
    slow.push(null);
    await done;
    expect(Buffer.concat(taken).equals(sent)).toBe(true);
  });

  test("a peer that vanishes ends the other side", async () => {
    const [left, right] = [await tcpPair(), await tcpPair()];
    const done = relay(left.near, right.near);
    left.far.resetAndDestroy();
    await done;
    right.far.resume();
    await once(right.far, "end");
    expect(right.near.destroyed).toBe(true);
  });

  test.for(["is lost", "ends", "breaks"] as const)("the first side gets last words when the other one %s, behind what came before", async (how) => {
    const [left, right] = [await tcpPair(), await tcpPair()];
    const done = relay(left.near, right.near, { lastWords: () => Buffer.from(" last words") });
    right.far.write("answer");
    expect(String((await once(left.far, "data"))[0])).toBe("answer");
    if (how === "is lost") right.far.resetAndDestroy();
    else if (how === "ends") right.far.end();
    else right.near.destroy(new Error("broken"));
    expect(await everything(left.far)).toBe(" last words");
    left.far.end();
    right.far.destroy();
    await done;
    expect(counts(left.near).filter(([event]) => event === "data")).toEqual([["data", 0]]);
  });

  test("last words may depend on the last bytes that the first side has sent", async () => {
    const [left, right] = [duplexPair(), duplexPair()];
    const done = relay(left[1], right[0], { lastWords: (latest) => Buffer.from(`after ${latest.toString()}`) });
    left[0].write("a".repeat(100));
    for (const letter of "0123456789abcdefgh") left[0].write(letter);
    left[0].write("");
    let got = "";
    right[1].on("data", (chunk: Buffer) => (got += chunk.toString()));
    await expect.poll(() => got.length).toBe(118);
    right[1].end();
    expect(await everything(left[0])).toBe("after 23456789abcdefgh");
    left[0].end();
    await done;
    expect(counts(left[1]).filter(([event]) => event === "data")).toEqual([["data", 0]]);
  });

  test("a chunk that is looked at holds up what is behind it, the end too, and other bytes may take its place", async () => {
    const [left, right] = [duplexPair(), duplexPair()];
    const looked = Promise.withResolvers<Buffer>();
    const done = relay(left[1], right[0], { look: (chunk) => (chunk.toString() === "ask" ? looked.promise : undefined) });
    let got = "";
    right[1].on("data", (chunk: Buffer) => (got += chunk.toString()));
    left[0].write("before ");
    await expect.poll(() => got).toBe("before ");
    left[0].write("ask");
    left[0].write(" behind");
    left[0].end();
    right[0].emit("drain");
    right[1].write("answer");
    expect(String((await once(left[0], "data"))[0])).toBe("answer");
    expect(got).toBe("before ");
    looked.resolve(Buffer.from("instead"));
    await once(right[1], "end");
    expect(got).toBe("before instead behind");
    right[1].end();
    await done;
  });

  test("the end of the first side waits for a chunk that is looked at, and a relay that is over writes nothing", async () => {
    for (const isOver of [false, true]) {
      const [left, right] = [await tcpPair(), await tcpPair()];
      const looked = Promise.withResolvers<Buffer>();
      const stop = new AbortController();
      const asked = Promise.withResolvers<void>();
      const look = (): Promise<Buffer> => {
        asked.resolve();
        return looked.promise;
      };
      const done = relay(left.near, right.near, { signal: stop.signal, look });
      left.far.end("ask");
      await asked.promise;
      if (isOver) stop.abort();
      looked.resolve(Buffer.from("instead"));
      expect(await everything(right.far).catch(() => "")).toBe(isOver ? "" : "instead");
      right.far.end();
      left.far.resume();
      await done;
    }
  });

  test("there are no last words after the first side's own end, nor for the other side, nor at the signal", async () => {
    for (const how of ["own end", "own loss", "signal"] as const) {
      const [left, right] = [await tcpPair(), await tcpPair()];
      const stop = new AbortController();
      const done = relay(left.near, right.near, { signal: stop.signal, lastWords: () => Buffer.from("last words") });
      const [atLeft, atRight] = [left.far, right.far].map(async (far) => await everything(far).catch(() => ""));
      if (how === "own end") {
        left.far.end();
        await atRight;
        right.far.end();
      } else if (how === "own loss") left.far.resetAndDestroy();
      else stop.abort();
      await done;
      right.far.end();
      expect([how, await atLeft, await atRight]).toEqual([how, "", ""]);
    }
  });

  test("a peer that ends, and then closes without reading, is still delivered in full to a slow reader", async () => {
    const right = duplexPair();
    const taken: Buffer[] = [];
    const reads = Promise.withResolvers<void>();
    const write = (chunk: Buffer, _encoding: string, written: () => void): void => {
      taken.push(chunk);
      void reads.promise.then(written);
    };
    const slow = new Duplex({ read: () => {}, write });
    const done = relay(slow, right[0]);
    slow.push("a request that nobody reads");
    right[1].end(Buffer.alloc(10_000, 1));
    await once(right[0], "end");
    right[0].destroy();
    await once(right[0], "close");
    // What it still sends is for nobody.
    slow.push("more of it");
    slow.push(null);
    for (let turns = 0; turns < 10; turns += 1) await new Promise(setImmediate);
    expect(slow.destroyed).toBe(false);
    reads.resolve();
    await done;
    expect([Buffer.concat(taken).length, slow.writableFinished, slow.destroyed]).toEqual([10_000, true, true]);
  });

  test("after one side has closed, the other one gets all of it while it takes some within the limit, however long that takes", async () => {
    const { slow, channel, take, done } = await closedBefore([1, 2, 3]);
    for (let left = 3; left > 0; left -= 1) {
      vi.advanceTimersByTime(50);
      expect(slow.destroyed).toBe(false);
      take();
      await turns();
      vi.advanceTimersByTime(50);
    }
    await done;
    expect([slow.writableFinished, slow.destroyed, channel.destroyed]).toEqual([true, true, true]);
  });

  test.for([
    ["ended before", true],
    ["did not end", false],
  ] as const)("after one side has closed, the other one is cut when it takes nothing within the limit; it %s", async ([, hasEnded]) => {
    const { slow, take, done } = await closedBefore([1, 2, 3], hasEnded);
    vi.advanceTimersByTime(90);
    take();
    await turns();
    vi.advanceTimersByTime(100);
    expect(slow.destroyed).toBe(false);
    vi.advanceTimersByTime(100);
    await done;
    expect([slow.writableFinished, slow.destroyed]).toEqual([false, true]);
  });

  test("an error of one stream destroys both, and relay does not throw", async () => {
    const [left, right] = [duplexPair(), duplexPair()];
    const done = relay(left[0], right[0]);
    left[0].destroy(new Error("planted"));
    await done;
    expect([left[0].destroyed, right[0].destroyed, left[0].errored?.message]).toEqual([true, true, "planted"]);
  });

  test("the signal destroys both", async () => {
    const [left, right] = [await tcpPair(), await tcpPair()];
    const stop = new AbortController();
    const done = relay(left.near, right.near, { signal: stop.signal });
    stop.abort();
    await done;
    expect([left.near.destroyed, right.near.destroyed]).toEqual([true, true]);
  });

  test("an aborted signal, or an already closed stream, ends at once", async () => {
    const [left, right] = [duplexPair(), duplexPair()];
    await relay(left[0], left[1], { signal: AbortSignal.abort() });
    expect(left[0].destroyed).toBe(true);
    right[0].destroy();
    const other = duplexPair();
    await relay(right[0], other[0]);
    expect(other[0].destroyed).toBe(true);
  });

  test("a stream that ended before relay began passes its end on", async () => {
    const [left, right] = [duplexPair(), duplexPair()];
    left[1].end();
    left[0].resume();
    await once(left[0], "end");
    const done = relay(left[0], right[0]);
    expect(await everything(right[1])).toBe("");
    right[1].end("late");
    expect(await everything(left[1])).toBe("late");
    await done;
  });

  test("bytes that were put back before relay began come first", async () => {
    const [left, right] = [await tcpPair(), await tcpPair()];
    left.near.unshift(Buffer.from("first "));
    const done = relay(left.near, right.near);
    left.far.end("second");
    right.far.end();
    expect(await everything(right.far)).toBe("first second");
    left.far.resume();
    await done;
  });

  test("only the listener that ignores late errors stays", async () => {
    const [left, right] = [await tcpPair(), await tcpPair()];
    const before = [counts(left.near), counts(right.near)];
    const done = relay(left.near, right.near, { signal: new AbortController().signal });
    left.far.end();
    right.far.end();
    await done;
    expect([counts(left.near), counts(right.near)]).toEqual(before);
    expect([left.near.listenerCount("error"), right.near.listenerCount("error")]).toEqual([1, 1]);
  });
});

const turns = async (): Promise<void> => {
  for (let count = 0; count < 10; count += 1) await new Promise(setImmediate);
};

/** A relay, with a limit of 100 ms, whose channel has sent these bytes, ended and closed, while its client takes nothing but what `take` lets it. */
async function closedBefore(bytes: readonly number[], hasEnded = false) {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  const held: (() => void)[] = [];
  const slow = new Duplex({ read: () => {}, write: (_chunk, _encoding, written) => void held.push(written) });
  const channel = new Duplex({ read: () => {}, write: (_chunk, _encoding, written) => written() });
  const done = relay(slow, channel, { stuckMs: 100 });
  if (hasEnded) slow.push(null);
  for (const byte of bytes) channel.push(Buffer.of(byte));
  channel.push(null);
  const closed = once(channel, "close");
  await once(channel, "end");
  channel.destroy();
  await closed;
  return { slow, channel, done, take: () => held.shift()?.() };
}

/** Sends a block many times and ends; returns the digest of the bytes from the other side. */
async function exchange(socket: Socket, block: Buffer, times: number): Promise<string> {
  const digest = createHash("sha256");
  const received = (async () => {
    for await (const chunk of socket) digest.update(chunk as Buffer);
  })();
  for (let index = 0; index < times; index++) {
    if (!socket.write(block)) await once(socket, "drain");
  }
  socket.end();
  await received;
  return digest.digest("hex");
}
