import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { Duplex } from "node:stream";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { limitStuck } from "./limit-stuck.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] }));
afterEach(() => void vi.useRealTimers());

/** A stream whose writes wait for `take`. */
function slowStream() {
  const waiting: (() => void)[] = [];
  const write = (_chunk: Buffer, _encoding: string, done: () => void): void => void waiting.push(done);
  const stream = new Duplex({ read: () => {}, write, final: (done) => void waiting.push(done) });
  const take = async (): Promise<void> => {
    waiting.shift()?.();
    await new Promise(setImmediate);
  };
  return { stream, take };
}

test("a stream that takes nothing for five minutes of what waits for it is stuck, once", async () => {
  const { stream, take } = slowStream();
  const stuck = vi.fn<() => void>();
  limitStuck(stream, { stuck });
  vi.advanceTimersByTime(3_600_000);
  for (const piece of ["one", "two", "three"]) stream.write(piece);
  for (let times = 0; times < 2; times += 1) {
    vi.advanceTimersByTime(240_000);
    await take();
  }
  vi.advanceTimersByTime(299_000);
  expect(stuck).not.toHaveBeenCalled();
  vi.advanceTimersByTime(3_600_000);
  expect(stuck).toHaveBeenCalledOnce();
});

test("nothing waits for a stream that has taken everything, until its end has to be written", async () => {
  const { stream, take } = slowStream();
  const stuck = vi.fn<() => void>();
  limitStuck(stream, { stuckMs: 100, stuck });
  stream.write("all");
  await take();
  vi.advanceTimersByTime(1_000);
  expect(stuck).not.toHaveBeenCalled();
  stream.end();
  await new Promise(setImmediate);
  vi.advanceTimersByTime(120);
  expect(stuck).toHaveBeenCalledOnce();
});

test("what is undone does not look again", () => {
  const { stream } = slowStream();
  const stuck = vi.fn<() => void>();
  const undo = limitStuck(stream, { stuckMs: 100, stuck });
  stream.write("some");
  undo();
  vi.advanceTimersByTime(1_000);
  expect(stuck).not.toHaveBeenCalled();
});

test("of a socket, progress counts though as much waits for it at each look", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const far = connect((server.address() as AddressInfo).port, "127.0.0.1");
  const [near] = (await once(server, "connection")) as [Socket];
  const piece = Buffer.alloc(65_536);
  // The kernel has taken all that it takes.
  while (near.write(piece)) await new Promise(setImmediate);
  for (let turns = 0; turns < 100; turns += 1) await new Promise(setImmediate);
  const waiting = near.writableLength;
  const stuck = vi.fn<() => void>();
  limitStuck(near, { stuckMs: 100, stuck });
  for (let times = 0; times < 6; times += 1) {
    const drained = once(near, "drain");
    far.resume();
    await drained;
    far.pause();
    while (near.writableLength < waiting) {
      near.write(piece);
      await new Promise(setImmediate);
    }
    vi.advanceTimersByTime(20);
  }
  expect(stuck).not.toHaveBeenCalled();
  vi.advanceTimersByTime(100);
  expect(stuck).toHaveBeenCalledOnce();
  far.destroy();
  near.destroy();
  server.close();
});
