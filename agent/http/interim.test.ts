import { once } from "node:events";
import { createServer as createHttp2Server } from "node:http2";
import { type AddressInfo, connect } from "node:net";
import { duplexPair } from "node:stream";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { sendWhole } from "./exchange.ts";
import type { HttpHandlers } from "./http-handlers.ts";
import { boundedInform } from "./interim.ts";
import { serveHttp1 } from "./serve-http1.ts";
import { openHttp2, sendHttp2 } from "./upstream-http2.ts";

test("a client gets eight interim responses, a 100 once, and none while it is behind but that 100", () => {
  const sent: number[] = [];
  let isBehind = true;
  const inform = boundedInform(
    (status) => void sent.push(status),
    () => isBehind,
  );
  for (const status of [103, 100, 100, 102]) inform(status, []);
  expect(sent).toEqual([100]);
  isBehind = false;
  for (let times = 0; times < 20; times += 1) inform(times % 2 === 0 ? 103 : 100, []);
  expect(sent).toEqual([100, ...Array.from({ length: 8 }, () => 103)]);
});

test("one that cannot be sent is left out", () => {
  const inform = boundedInform(
    () => {
      throw new Error("Node does not send it");
    },
    () => false,
  );
  expect(() => inform(103, [])).not.toThrow();
});

test("a client of HTTP/1 that does not read gets no more than fit", async () => {
  const [near, far] = duplexPair({ highWaterMark: 16_384 });
  const answered = Promise.withResolvers<void>();
  const handlers: HttpHandlers = {
    exchange: async (_asked, answer) => {
      for (let times = 0; times < 100; times += 1) answer.inform(103, [["link", `</${"a".repeat(20_000)}>; rel=preload`]]);
      sendWhole(answer, { head: { status: 200, message: "", headers: [["Connection", "close"]] }, body: Buffer.from("served") });
      answered.resolve();
    },
    upgrade: async () => {},
    refusal: (status) => ({ head: { status, message: "", headers: [] }, body: Buffer.alloc(0) }),
  };
  const serving = serveHttp1(far, handlers);
  near.write("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n");
  await answered.promise;
  const received = await text(near);
  expect(received.split("HTTP/1.1 103")).toHaveLength(2);
  expect(received).toContain("served");
  near.destroy();
  far.destroy();
  await serving;
});

test("interim responses without end fail a request over HTTP/2, and no other one", async () => {
  const server = createHttp2Server();
  server.on("stream", (stream, headers) => {
    stream.on("error", () => {});
    const times = headers[":path"] === "/all" ? 1_000 : 1_001;
    for (let sent = 0; sent < times; sent += 1) stream.additionalHeaders({ ":status": 103, link: "</a>" });
    if (times === 1_000) stream.respond({ ":status": 200 }, { endStream: true });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const session = await openHttp2({ socket: connect(port, "127.0.0.1"), selected: "h2" }, { scheme: "http", peer: "the server" });
  const asked = (target: string) => ({
    ...{ method: "GET", target, host: "a.test", headers: [], body: undefined, trailers: () => [] },
    ...{ signal: new AbortController().signal, onInform: () => {}, onData: () => {} },
  });
  await expect(sendHttp2(session, asked("/more"), "http")).rejects.toMatchObject({ code: "unavailable" });
  await expect(sendHttp2(session, asked("/all"), "http")).resolves.toMatchObject({ status: 200 });
  session.destroy();
  server.close();
});
