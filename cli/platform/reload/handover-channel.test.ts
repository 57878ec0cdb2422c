import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { decodeFromNew, decodeFromOld, encodeMessage, type FromNew, type FromOld, MessageChannel } from "./handover-channel.ts";

describe("messages", () => {
  test.for<FromOld>([
    { type: "offer", pid: 7, sockets: [{ name: "web 0.0.0.0 443", fd: 5, port: 443 }] },
    { type: "offer", pid: 7, sockets: [], announces: true, dataDir: "/var/lib/platform", folder: "64768:131" },
    { type: "announced" },
    { type: "takeOver", hosts: [{ id: "a", names: ["b", "c"] }] },
    { type: "abandon" },
    { type: "reload" },
  ])("the old process's message is read as it was written: %o", (message) => {
    expect(decodeFromOld(encodeMessage(message).trimEnd())).toEqual(message);
  });

  test.for<FromNew>([
    { type: "state", pid: 8, version: "1.1.0", ready: true },
    { type: "state", pid: 8, version: "1.1.0", ready: false, problem: { error: "no", code: "unavailable" } },
    { type: "failed", error: "no", code: "invalid" },
    { type: "failed", error: "no" },
    { type: "taken" },
    { type: "stop" },
  ])("the new process's message is read as it was written: %o", (message) => {
    expect(decodeFromNew(encodeMessage(message).trimEnd())).toEqual(message);
  });

  test("messages and fields of a later version are left alone", () => {
    expect(decodeFromOld('{"type":"somersault","height":3}')).toBeUndefined();
    const state = { type: "state", pid: 8, version: "2.0.0", ready: false } as const;
    expect(decodeFromNew(JSON.stringify({ ...state, problem: { error: "no", code: "enchanted" } }))).toEqual({ ...state, problem: { error: "no" } });
    expect(decodeFromNew(JSON.stringify({ ...state, problem: 7 }))).toEqual(state);
    expect(decodeFromNew('{"type":"taken","at":3}')).toEqual({ type: "taken" });
    expect(decodeFromNew('{"type":"failed","error":"no","code":"enchanted"}')).toEqual({ type: "failed", error: "no" });
  });

  test.for(["", "nonsense", "[]", "{}", '{"type":"state"}', '{"type":"offer","pid":1,"sockets":[{"name":"a","fd":1,"port":1}]}'])(
    "%j is refused",
    (line) => {
      expect(() => decodeFromOld(line) ?? decodeFromNew(line)).toThrow(PlatformError);
    },
  );

  test("whatever comes, only a PlatformError is thrown", () => {
    const json = fc.oneof(
      fc.json(),
      fc.string(),
      fc.record({ type: fc.constantFrom("offer", "state", "takeOver", "x"), pid: fc.anything() }).map((value) => JSON.stringify(value) ?? ""),
    );
    fc.assert(
      fc.property(json, (line) => {
        for (const decode of [decodeFromOld, decodeFromNew]) {
          try {
            decode(line);
          } catch (thrown) {
            expect(thrown).toBeInstanceOf(PlatformError);
          }
        }
      }),
    );
  });
});

describe("the channel", () => {
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
});
