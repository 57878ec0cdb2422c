import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../../test/world/until.ts";
import { WebUpstream } from "./testing/web-upstream.ts";
import { askRaw, textOf, type WebOptions, WebWorld } from "./testing/web-world.ts";

describe("bodies of requests to a web application, and of its responses", () => {
  let world: WebWorld;
  beforeAll(async () => {
    world = await WebWorld.open();
  });
  afterAll(async () => await world[Symbol.asyncDispose]());

  const enter = async (upstream: WebUpstream, options: WebOptions = {}) =>
    await world.enter({ ...options, spec: { uri: upstream.uri, ...options.spec } });

  test("server-sent events arrive one by one, and a client that leaves ends the request at the application", async () => {
    const responses: import("node:http").ServerResponse[] = [];
    await using upstream = await WebUpstream.open((_request, response) => {
      responses.push(response);
      response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
    });
    const { tls } = await enter(upstream);
    const sent = request({ createConnection: () => tls, headers: { host: "web.test" } }).on("error", () => {});
    sent.end();
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    response.on("error", () => {});
    responses[0]?.write("data: 1\n\n");
    expect(String((await once(response, "data"))[0])).toBe("data: 1\n\n");
    responses[0]?.write("data: 2\n\n");
    expect(String((await once(response, "data"))[0])).toBe("data: 2\n\n");
    const gone = once(responses[0] ?? tls, "close");
    tls.destroy();
    await gone;
  });

  test("an upload of any length arrives whole, and its trailers come along", async () => {
    const part = randomBytes(256 * 1024);
    const count = 96;
    const hash = createHash("sha256");
    let trailers: readonly string[] = [];
    await using upstream = await WebUpstream.open((incoming, response) => {
      incoming.on("data", (chunk: Buffer) => hash.update(chunk));
      incoming.on("end", () => {
        trailers = incoming.rawTrailers;
        response.end("done");
      });
    });
    const { tls } = await enter(upstream);
    const sent = request({ createConnection: () => tls, method: "PUT", headers: { host: "web.test", trailer: "x-sum" } });
    const wanted = createHash("sha256");
    for (let at = 0; at < count; at += 1) {
      wanted.update(part);
      if (!sent.write(part)) await once(sent, "drain");
    }
    sent.addTrailers({ "x-sum": "1", "x-forwarded-for": "6.6.6.6" });
    sent.end();
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    expect(await textOf(response)).toBe("done");
    expect(hash.digest("hex")).toBe(wanted.digest("hex"));
    expect(trailers).toEqual(["x-sum", "1"]);
  });

  test("100-continue comes from the application, and its refusal before the body too", async () => {
    await using upstream = await WebUpstream.open((incoming, response) => void incoming.on("end", () => response.end("taken")).resume());
    upstream.server.on("checkContinue", (incoming: IncomingMessage, response) => {
      if (incoming.url === "/no") return void response.writeHead(413).end("too large");
      response.writeContinue();
      upstream.server.emit("request", incoming, response);
    });
    const { tls } = await enter(upstream);
    const sent = request({
      createConnection: () => tls,
      method: "POST",
      path: "/yes",
      headers: { host: "web.test", expect: "100-continue", "content-length": "4" },
    });
    await once(sent, "continue");
    sent.end("data");
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    expect(await textOf(response)).toBe("taken");
    const other = await enter(upstream);
    const refused = request({
      createConnection: () => other.tls,
      method: "POST",
      path: "/no",
      headers: { host: "web.test", expect: "100-continue", "content-length": "4" },
    });
    refused.on("error", () => {}).flushHeaders();
    const [refusal] = (await once(refused, "response")) as [IncomingMessage];
    expect(refusal.statusCode).toBe(413);
  });

  test("a response without an end is broken off for the client too", async () => {
    await using upstream = await WebUpstream.open((_request, response) => {
      response.writeHead(200, { "content-length": "100" });
      response.write("part", () => response.destroy());
    });
    const { tls } = await enter(upstream);
    const answer = await askRaw(tls, "GET / HTTP/1.1\r\nHost: web.test\r\n\r\n");
    expect(answer.endsWith("\r\n\r\npart")).toBe(true);
  });

  test("a body is never sent twice, and a kept connection that has ended costs no error", async () => {
    let asked = 0;
    await using upstream = await WebUpstream.open((incoming, response) => {
      asked += 1;
      if (incoming.method === "POST") incoming.socket.destroy();
      else response.end(String(asked));
    });
    const { tls } = await enter(upstream);
    tls.write("GET / HTTP/1.1\r\nHost: web.test\r\n\r\n");
    await once(tls, "data");
    for (const socket of upstream.sockets) socket.destroy();
    await until("the application has no connection", () => upstream.sockets.size === 0);
    tls.write("GET / HTTP/1.1\r\nHost: web.test\r\n\r\n");
    expect(String((await once(tls, "data"))[0])).toMatch(/^HTTP\/1\.1 200/);
    const answer = await askRaw(tls, "POST / HTTP/1.1\r\nHost: web.test\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbody");
    expect(answer).toMatch(/HTTP\/1\.1 502 Bad Gateway/);
    expect(upstream.seen.map(({ method }) => method)).toEqual(["GET", "GET", "POST"]);
  });
});
