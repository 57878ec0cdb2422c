import { once } from "node:events";
import { duplexPair } from "node:stream";
import { buffer } from "node:stream/consumers";
import { expect, test } from "vitest";
import { string, u8, u32 } from "../bytes/fields.ts";
import { certificateKey } from "./certificate-key.ts";
import { channelWindow } from "./channel-window.ts";
import { generateSshKey } from "./keys.ts";
import { acceptSsh } from "./ssh-server.ts";
import { Client, channelEnds, sendPayload, transportOf, verifyWithPlainKey } from "./ssh2/hooks.ts";
import { issue, meet, openChannel } from "./testing/session-fixture.ts";

const authority = generateSshKey();

function errorOf(emitter: NodeJS.EventEmitter): Promise<Error> {
  return new Promise((resolve) => emitter.once("error", resolve));
}

test("a peer that overruns its window is disconnected", async () => {
  const { client, server, near, far } = await openChannel({ authority });
  far.pause();
  const error = errorOf(server);
  const closed = new Promise<void>((resolve) => server.once("close", () => resolve()));
  const { id } = channelEnds(near).outgoing;
  const packet = Buffer.alloc(32_768);
  const message = Buffer.concat([u8(94), u32(id), string(packet)]);
  for (let sent = 0; sent <= channelWindow; sent += packet.length) sendPayload(client, message);
  expect((await error).message).toMatch(/more than its window/);
  await closed;
  expect(far.readableLength).toBeLessThanOrEqual(channelWindow);
});

test("a peer that accepts only tiny packets is disconnected", async () => {
  const { client, server } = await openChannel({ authority });
  const error = errorOf(server);
  const closed = once(client, "close");
  sendPayload(client, Buffer.concat([u8(90), string("session"), u32(1), u32(1000), u32(0)]));
  expect((await error).message).toMatch(/packet size \(0 bytes\)/);
  await closed;
});

test("unread bytes of one stream of a channel are not granted again through the other", async () => {
  const { client, near, far } = await openChannel({ authority });
  near.pause();
  near.stderr.resume();
  far.on("error", () => {});
  const window = (): number => channelEnds(near).incoming.window;
  far.write(Buffer.alloc(channelWindow - 1000));
  while (near.readableLength < channelWindow - 1000) await new Promise(setImmediate);
  for (let i = 0; i < 50; i += 1) {
    far.stderr.write("x");
    await new Promise(setImmediate);
  }
  expect(window() + near.readableLength).toBeLessThanOrEqual(channelWindow);
  client.end();
});

test.for(["flowing", "read at once"] as const)("a reader that comes late gets everything (%s)", async (mode) => {
  const { client, near, far } = await openChannel({ authority });
  const total = 3 * channelWindow;
  far.end(Buffer.alloc(total, 7));
  while (near.readableLength < channelWindow) await new Promise(setImmediate);
  let received = 0;
  if (mode === "flowing") received = (await buffer(near)).length;
  else for await (const chunk of near as AsyncIterable<Buffer>) received += chunk.length;
  expect(received).toBe(total);
  client.end();
});

test("stdout and stderr that both wait for the window each arrive once and complete", async () => {
  const { client, near, far } = await openChannel({ authority });
  const [out, err] = [Buffer.alloc(channelWindow + 5, "o"), Buffer.alloc(channelWindow + 7, "e")];
  far.write(out);
  far.stderr.write(err, () => far.end());
  const [gotOut, gotErr] = await Promise.all([buffer(near), buffer(near.stderr)]);
  expect([gotOut.equals(out), gotErr.equals(err)]).toEqual([true, true]);
  client.end();
});

test("a peer that grants a huge window and reads nothing fills only bounded memory", async () => {
  const streams = duplexPair();
  const { client, near, far, server } = await openChannel({ authority, streams });
  // The effect of a window adjustment of 2 GiB.
  channelEnds(far).outgoing.window = 2 ** 31;
  near.on("error", () => {});
  streams[0].pause();
  transportOf(client).pause();
  const chunk = Buffer.alloc(1024 * 1024);
  let calledBack = 0;
  for (let i = 0; i < 64; i += 1) far.write(chunk, () => calledBack++);
  for (let i = 0; i < 100; i += 1) await new Promise(setImmediate);
  const transport = transportOf(server);
  expect(transport.writableLength).toBeLessThan(2 * 1024 * 1024);
  expect(calledBack).toBeLessThan(4);
  transport.destroy();
});

test("a write that waits for the window fails when the connection is lost", async () => {
  const { client, near, far } = await openChannel({ authority });
  far.pause();
  const failed = new Promise<Error | null | undefined>((resolve) => near.write(Buffer.alloc(2 * channelWindow), resolve));
  while (channelEnds(near).outgoing.window !== 0) await new Promise(setImmediate);
  transportOf(client).destroy();
  expect(await failed).toMatchObject({ code: "unavailable" });
});

test("a channel that is destroyed with bytes unread closes on both ends", async () => {
  const { client, near, far } = await openChannel({ authority });
  far.write(Buffer.alloc(100_000));
  far.resume();
  while (near.readableLength < 100_000) await new Promise(setImmediate);
  const closed = Promise.all([once(near, "close"), once(far, "close")]);
  near.destroy();
  await closed;
  client.end();
});

test("a write to a closed channel calls back", async () => {
  const { client, near, far } = await openChannel({ authority });
  near.resume();
  const closed = once(near, "close");
  far.end();
  await closed;
  const error = await new Promise<Error | null | undefined>((resolve) => near.write("late", resolve));
  expect(error).toBeInstanceOf(Error);
  client.end();
});

test("a client that keeps failing to log in is disconnected at the sixth attempt", async () => {
  const [near, far] = duplexPair();
  const host = issue(authority.privateKey, "host");
  let asked = 0;
  const accepted = acceptSsh({
    stream: far,
    hostKey: host.key,
    hostCertificate: host.certificate,
    authenticate: () => {
      asked += 1;
      throw new Error("never");
    },
    signal: new AbortController().signal,
  });
  const client = new Client();
  client.on("error", () => {});
  const user = issue(authority.privateKey, "user");
  const key = certificateKey({ privateKey: user.key, certificate: user.certificate });
  let tried = 0;
  client.connect({
    sock: near,
    username: "root",
    hostVerifier: (blob: Buffer) => {
      verifyWithPlainKey(client);
      return blob.length > 0;
    },
    algorithms: { serverHostKey: ["ssh-ed25519-cert-v01@openssh.com" as never] },
    authHandler: ((_left: unknown, _partial: unknown, next: (method: object) => void) => {
      tried += 1;
      next({ type: "publickey", username: "root", key });
    }) as never,
  });
  await expect(accepted).rejects.toMatchObject({ code: "internal" });
  expect(asked).toBe(6);
  expect(tried).toBeLessThanOrEqual(7);
});

test.for(["client", "server"] as const)("a silent peer is noticed by the %s, which closes the connection", async (side) => {
  const both = await openChannel({ authority, [side]: { keepalive: { intervalMs: 15, missed: 2 } } });
  const [watcher, silent] = side === "client" ? [both.client, both.server] : [both.server, both.client];
  const closed = new Promise<void>((resolve) => watcher.once("close", () => resolve()));
  transportOf(silent).pause();
  expect((await errorOf(watcher)).message).toMatch(/Keepalive timeout/);
  await closed;
});

test("an open connection ends when the peer vanishes", async () => {
  const streams = duplexPair();
  const { server } = meet({ authority, streams });
  const { connection } = await server;
  const closed = once(connection, "close");
  streams[0].destroy();
  streams[1].destroy();
  await closed;
});
