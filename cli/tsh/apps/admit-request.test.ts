import { connect, type Socket } from "node:net";
import { expect, test } from "vitest";
import { echo, listenTcp, readUntil } from "../../../core/transport/dial/testing/test-server.ts";
import { relay } from "../../../core/transport/relay.ts";
import { memoryIo } from "../../memory-io.ts";
import { openLocalPort } from "../served/local-port.ts";
import { admitRequest, speaksFirst } from "./admit-request.ts";

/** A local port of an application whose protocol is not known, as with a certificate for it alone. */
async function openUnknown(serve: (socket: Socket) => void) {
  const app = await listenTcp(serve);
  const local = await openLocalPort(memoryIo({}), 0, async (socket, signal) => {
    const stream = connect(app.port, app.host);
    const isFirst = await speaksFirst(socket, stream, signal);
    if (isFirst && !(await admitRequest({ socket, hosts: [], isHttp: undefined, signal }))) return void stream.destroy();
    await relay(socket, stream, { signal });
  });
  return {
    local,
    [Symbol.asyncDispose]: async () => {
      app.close();
      await local[Symbol.asyncDispose]();
    },
  };
}

test("where the protocol is not known, a request of HTTP has to name the port", async () => {
  await using opened = await openUnknown((socket) => void socket.pipe(socket));
  const { port } = opened.local;
  const foreign = connect(port, "127.0.0.1");
  foreign.write("GET / HTTP/1.1\r\nHost: attacker.example\r\n\r\n");
  expect(String(await foreign.toArray())).toMatch(/^HTTP\/1\.1 421 /);
  const own = connect(port, "127.0.0.1");
  own.write(`GET / HTTP/1.1\r\nHost: localhost:${port}\r\n\r\n`);
  expect(await readUntil(own, "\r\n\r\n")).toContain("localhost");
  own.destroy();
});

test.for(["*1\r\n$4\r\nPING\r\n", "\u0016\u0003\u0001", "\u0000\u0000", "m", "GET", "set key 0 0 5\r\n"])(
  "where the protocol is not known, another one than HTTP goes on as it is: %j",
  async (bytes) => {
    await using opened = await openUnknown((socket) => void socket.pipe(socket));
    const client = connect(opened.local.port, "127.0.0.1");
    client.write(bytes, "latin1");
    expect(await readUntil(client, bytes)).toBe(bytes);
    client.write("more");
    expect(await readUntil(client, "more")).toBe("more");
    client.destroy();
  },
);

test("where the protocol is not known, an application may speak first", async () => {
  await using opened = await openUnknown(echo);
  const client = connect(opened.local.port, "127.0.0.1");
  expect(await readUntil(client, "hello\n")).toBe("hello\n");
  client.write("GET");
  expect(await readUntil(client, "GET")).toBe("GET");
  client.destroy();
});
