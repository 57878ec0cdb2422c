import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { afterEach, expect, test } from "vitest";
import { UpstreamHttp1 } from "./upstream-http1.ts";

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

/** A server of bytes: `answer` gets each request's number, from 1 on, and its connection. */
async function upstreamOf(answer: (number: number, socket: Socket) => void, open = 4) {
  const seen = { requests: 0 };
  const server = createServer((socket) => {
    ends.push(() => socket.destroy());
    socket
      .on("error", () => {})
      .on("data", () => {
        seen.requests += 1;
        answer(seen.requests, socket);
      });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const road = async () => ({ socket: connect(port, "127.0.0.1"), selected: undefined });
  const upstream = new UpstreamHttp1(road, { keeps: true, most: { open, kept: 4 } });
  ends.push(() => {
    upstream.close();
    server.close();
  });
  const informed: number[] = [];
  const asked = (method = "GET", signal = new AbortController().signal) => ({
    ...{ method, target: "/", host: "a.test", headers: [], body: undefined, trailers: () => [], signal, onData: () => {} },
    onInform: (status: number) => void informed.push(status),
  });
  return { upstream, seen, informed, asked };
}

const ok = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
const hint = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";

// Node destroys the connection of the first, and takes the second for a response.
const changes = ["Connection: Upgrade\r\nUpgrade: x\r\n", ""];

test.for(["GET", "POST"].flatMap((method) => changes.map((fields) => [method, fields] as const)))(
  "101 to a %s that did not ask for it, with the fields %j, fails the request",
  async ([method, fields]) => {
    const { upstream, asked, seen } = await upstreamOf((number, socket) =>
      socket.write(number === 1 ? ok : `HTTP/1.1 101 Switching Protocols\r\n${fields}\r\n`),
    );
    const first = await upstream.send(asked());
    first.body.resume();
    await once(first.body, "close");
    await expect(upstream.send(asked(method))).rejects.toMatchObject({ code: "unavailable" });
    // Over a kept connection, and not again.
    expect(seen.requests).toBe(2);
  },
);

test("101 without the fields of an upgrade is none for a request for another protocol", async () => {
  const { upstream, asked } = await upstreamOf((_number, socket) => socket.write("HTTP/1.1 101 Switching Protocols\r\n\r\n"));
  await expect(upstream.upgrade(asked(), "x")).rejects.toMatchObject({ code: "unavailable" });
});

test("interim responses come before the response; without end they fail the request, which is not sent again", async () => {
  const { upstream, asked, seen, informed } = await upstreamOf((number, socket) => {
    socket.write(number === 1 ? `${hint.repeat(1_000)}${ok}` : hint.repeat(1_001));
  });
  const first = await upstream.send(asked());
  first.body.resume();
  await once(first.body, "close");
  expect([first.status, informed.length]).toEqual([200, 1_000]);
  await expect(upstream.send(asked())).rejects.toMatchObject({ code: "unavailable" });
  await expect(upstream.upgrade(asked(), "x")).rejects.toMatchObject({ code: "unavailable" });
  expect(seen.requests).toBe(3);
});

test("a request that waits for a connection can be given up", async () => {
  const busy = Promise.withResolvers<void>();
  const { upstream, asked } = await upstreamOf(() => busy.resolve(), 1);
  const first = upstream.send(asked()).catch(() => {});
  await busy.promise;
  const gone = new AbortController();
  const second = upstream.send(asked("GET", gone.signal));
  gone.abort();
  await expect(second).rejects.toThrow("given up");
  upstream.close();
  await first;
});
