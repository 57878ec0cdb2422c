import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { decodeFromNew, encodeMessage, type FromNew } from "./handover-message.ts";
import { MessageChannel } from "./message-channel.ts";

/** Both ends of a socket as two processes have it. */
async function pair(): Promise<{ ours: Socket; theirs: Socket }> {
  const dir = await mkdtemp(join(tmpdir(), "platform-channel-"));
  const server = createServer().listen(join(dir, "s"));
  await once(server, "listening");
  const arriving = once(server, "connection") as Promise<[Socket]>;
  const theirs = connect(join(dir, "s"));
  const [ours] = await arriving;
  server.close();
  await rm(dir, { recursive: true });
  return { ours, theirs };
}

function listen(socket: Socket) {
  const [messages, ended] = [[] as FromNew[], Promise.withResolvers<string | undefined>()];
  const channel = new MessageChannel<FromNew>(socket, {
    decode: decodeFromNew,
    onMessage: (message) => messages.push(message),
    onEnd: ended.resolve,
  });
  return { channel, messages, ended: ended.promise };
}

test("messages arrive whole and in order, however they are cut", async () => {
  const { ours, theirs } = await pair();
  const { messages, ended } = listen(ours);
  const sent: FromNew[] = [{ type: "state", pid: 7, version: "1.0.0", ready: true }, { type: "failed", error: "naïve ☂" }, { type: "taken" }];
  for (const byte of Buffer.from(sent.map(encodeMessage).join(""))) theirs.write(Buffer.from([byte]));
  theirs.end();
  expect(await ended).toBeUndefined();
  expect(messages).toEqual(sent);
});

test("anything but a message ends the channel with the reason; nothing after it is read", async () => {
  const { ours, theirs } = await pair();
  const { channel, messages, ended } = listen(ours);
  theirs.write(`nonsense\n${encodeMessage({ type: "taken" })}`);
  expect(await ended).toMatch(/not JSON/);
  expect(messages).toEqual([]);
  expect(channel.isOpen).toBe(false);
  theirs.destroy();
});

test("a socket that has ended before anybody listened ends the channel all the same", async () => {
  const { ours, theirs } = await pair();
  theirs.destroy();
  ours.resume();
  await once(ours, "close");
  const { ended } = listen(ours);
  expect(await ended).toBeUndefined();
});
