import { once } from "node:events";
import { Duplex, PassThrough } from "node:stream";
import type { ClientChannel, ServerChannel } from "ssh2";
import { expect, test } from "vitest";
import { unreadBytes } from "../node-internals/gather-pieces.ts";
import { channelWindow } from "./channel-window.ts";
import { couple } from "./couple.ts";
import { generateSshKey } from "./keys.ts";
import { channelEnds, transportOf } from "./ssh2/hooks.ts";
import { openChannel } from "./testing/session-fixture.ts";

const authority = generateSshKey();
const said = Buffer.alloc(100_000, "o");

/** Fills the peer's window, so that the rest of the write waits. */
async function fill(channel: ClientChannel | ServerChannel): Promise<void> {
  channel.on("error", () => {});
  channel.write(Buffer.alloc(2 * channelWindow));
  while (channelEnds(channel).outgoing.window !== 0) await new Promise(setImmediate);
}

/** All data from now to the end. Node's consumers would refuse a stream whose other direction failed. */
async function read(channel: ClientChannel | ServerChannel): Promise<Buffer> {
  const parts: Buffer[] = [];
  channel.on("data", (part: Buffer) => parts.push(part));
  await once(channel, "close");
  return Buffer.concat(parts);
}

test.for(["client", "server"] as const)(
  "a write of the %s that waits for its window does not keep the channel open when the connection is lost",
  async (side) => {
    const { client, near, far } = await openChannel({ authority });
    const [writer, reader] = side === "client" ? [near, far] : [far, near];
    reader.pause();
    reader.write(said);
    await fill(writer);
    while (writer.readableLength < said.length) await new Promise(setImmediate);
    transportOf(client).destroy();
    expect((await read(writer)).equals(said)).toBe(true);
  },
);

test.for(["at once", "late"] as const)(
  "a program that ends before it has read its input: its output read %s, and its status, still arrive",
  async (when) => {
    const { client, near, far } = await openChannel({ authority });
    far.pause();
    await fill(near);
    const exit = once(near, "exit");
    const reading = when === "at once" ? read(near) : undefined;
    far.write(said);
    far.exit(6);
    far.end();
    expect((await exit)[0]).toBe(6);
    expect((await (reading ?? read(near))).equals(said)).toBe(true);
    client.end();
  },
);

test("a forward ends when its connection is lost while it waits for the window", async () => {
  const { client, near, far } = await openChannel({ authority });
  far.pause();
  const socket = new PassThrough();
  const coupled = couple(near, socket, new AbortController().signal);
  socket.write(Buffer.alloc(2 * channelWindow));
  while (channelEnds(near).outgoing.window !== 0) await new Promise(setImmediate);
  transportOf(client).destroy();
  await coupled;
});

test("single bytes of a forward do not wait by the thousand for a socket that takes nothing, and all of them arrive", async () => {
  const { client, near, far } = await openChannel({ authority });
  const taken: Buffer[] = [];
  const begun = Promise.withResolvers<() => void>();
  let isReading = false;
  const socket = new Duplex({
    read: () => {},
    write: (piece: Buffer, _encoding, done) => {
      taken.push(piece);
      if (isReading) done();
      else begun.resolve(done);
    },
  });
  const coupled = couple(near, socket, new AbortController().signal);
  const sent = Buffer.from(Array.from({ length: 5_000 }, (_, index) => index % 251));
  for (let at = 0; at < sent.length; at += 1) {
    far.write(sent.subarray(at, at + 1));
    await new Promise(setImmediate);
  }
  while (socket.writableLength + unreadBytes(near) < sent.length) await new Promise(setImmediate);
  expect(socket.writableLength).toBe(1_024);
  isReading = true;
  (await begun.promise)();
  far.end();
  await once(socket, "finish");
  expect(Buffer.concat(taken).equals(sent)).toBe(true);
  socket.push(null);
  await coupled;
  client.end();
});
