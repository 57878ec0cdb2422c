import { once } from "node:events";
import {
  type ClientHttp2Stream,
  connect,
  constants,
  createSecureServer,
  createServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo } from "node:net";
import type { TLSSocket } from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebUpstream } from "./testing/web-upstream.ts";
import { textOf, WebWorld } from "./testing/web-world.ts";

type OnStream = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void;

describe("HTTP/2 to a web application", () => {
  let world: WebWorld;
  const servers: Http2Server[] = [];
  beforeAll(async () => {
    world = await WebWorld.open();
  });
  afterAll(async () => {
    for (const server of servers) server.close();
    await world[Symbol.asyncDispose]();
  });

  async function grpcServer(onStream: OnStream, isSecure = false): Promise<string> {
    const { tlsCertificate: cert, tlsPrivateKey: key } = isSecure ? await world.own.host("127.0.0.1") : { tlsCertificate: "", tlsPrivateKey: "" };
    const server = (isSecure ? createSecureServer({ cert, key }) : createServer()) as Http2Server;
    servers.push(server);
    server.on("stream", onStream);
    await once(server.listen(0, "127.0.0.1"), "listening");
    return `${isSecure ? "https" : "http"}://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  function client(tls: TLSSocket) {
    const session = connect("http://web.test", { createConnection: () => tls });
    session.on("error", () => {});
    return session;
  }

  const grpc: OutgoingHttpHeaders = {
    ":authority": "web.test",
    ":method": "POST",
    ":path": "/pkg.Service/Call",
    "content-type": "application/grpc",
    te: "trailers",
  };

  async function answerOf(stream: ClientHttp2Stream) {
    let trailers: IncomingHttpHeaders = {};
    stream.on("trailers", (fields) => {
      trailers = fields;
    });
    const [headers] = (await once(stream, "response")) as [IncomingHttpHeaders & { ":status": number }];
    const body = await textOf(stream);
    return { headers, status: headers[":status"], body, trailers };
  }

  test("carries gRPC: a call, its metadata, and the trailers of its answer", async () => {
    const seen: IncomingHttpHeaders[] = [];
    const uri = await grpcServer((stream, headers) => {
      seen.push(headers);
      stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0", "grpc-message": "ok" }));
      stream.pipe(stream);
    });
    const { tls, tokens } = await world.enter({ spec: { uri } });
    const stream = client(tls).request({ ...grpc, "platform-jwt-assertion": "forged", "x-forwarded-for": "6.6.6.6", "x-meta": "1" });
    stream.end("request");
    expect(await answerOf(stream)).toMatchObject({ status: 200, body: "request", trailers: { "grpc-status": "0", "grpc-message": "ok" } });
    expect(seen[0]).toMatchObject({ ":authority": "web.test", te: "trailers", "x-meta": "1", "x-forwarded-for": "192.0.2.7" });
    expect(seen[0]?.["platform-jwt-assertion"]).not.toContain("forged");
    expect(tokens).toHaveLength(1);
  });

  test("carries a stream both ways, message by message, and an answer of trailers alone", async () => {
    const uri = await grpcServer((stream, headers) => {
      if (headers[":path"] === "/only") return stream.respond({ ":status": 200, "grpc-status": "12" }, { endStream: true });
      stream.respond({ ":status": 200 }, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
      stream.on("data", (chunk: Buffer) => stream.write(`<${String(chunk)}>`));
      stream.on("end", () => stream.end());
    });
    const { tls } = await world.enter({ spec: { uri } });
    const session = client(tls);
    const stream = session.request(grpc);
    for (const word of ["one", "two"]) {
      stream.write(word);
      expect(String((await once(stream, "data"))[0])).toBe(`<${word}>`);
    }
    const trailers = once(stream, "trailers");
    stream.end();
    stream.resume();
    expect((await trailers)[0]).toMatchObject({ "grpc-status": "0" });
    const only = session.request({ ...grpc, ":path": "/only" });
    only.end();
    expect(await answerOf(only)).toMatchObject({ headers: { "grpc-status": "12" }, body: "" });
  });

  test("a client's reset reaches the application", async () => {
    const { promise: reset, resolve } = Promise.withResolvers<number | undefined>();
    let hasEnded = false;
    const uri = await grpcServer((stream) => {
      stream.on("error", () => {}).on("close", () => resolve(stream.rstCode));
      stream.on("end", () => {
        hasEnded = !stream.aborted;
      });
      stream.resume();
      stream.respond({ ":status": 200 });
      stream.write("begun");
    });
    const { tls } = await world.enter({ spec: { uri } });
    const left = client(tls).request(grpc, { waitForTrailers: true });
    left.on("error", () => {});
    await once(left, "data");
    left.on("wantTrailers", () => {});
    left.close(constants.NGHTTP2_CANCEL);
    expect(await reset).not.toBe(constants.NGHTTP2_NO_ERROR);
    expect(hasEnded).toBe(false);
  });

  test("an application's reset reaches the client, before and after the beginning of a response", async () => {
    const uri = await grpcServer((stream, headers) => {
      stream.on("error", () => {});
      if (headers[":path"] === "/early") return stream.close(constants.NGHTTP2_REFUSED_STREAM);
      // With a listener that sends none, the stream is reset without having ended.
      stream.respond({ ":status": 200 }, { waitForTrailers: true });
      stream.on("wantTrailers", () => {});
      stream.write("begun", () => stream.close(constants.NGHTTP2_INTERNAL_ERROR));
    });
    const { tls } = await world.enter({ spec: { uri } });
    const session = client(tls);
    const broken = session.request(grpc);
    const closed = new Promise((resolve) => void broken.on("error", () => {}).on("close", resolve));
    broken.resume();
    await closed;
    expect(broken.rstCode).toBe(constants.NGHTTP2_INTERNAL_ERROR);
    const early = session.request({ ...grpc, ":path": "/early" });
    early.on("error", () => {});
    expect((await answerOf(early)).status).toBe(502);
  });

  test("goes to an https application as HTTP/2 if it wants to, whatever the request is", async () => {
    const versions: string[] = [];
    const uri = await grpcServer((stream) => {
      versions.push(stream.session?.alpnProtocol ?? "");
      stream.respond({ ":status": 200 });
      stream.end("two");
    }, true);
    const { tls } = await world.enter({ spec: { uri, insecure_skip_verify: true } });
    const stream = client(tls).request({ ":path": "/a" });
    stream.end();
    expect(await answerOf(stream)).toMatchObject({ status: 200, body: "two" });
    expect(versions).toEqual(["h2"]);
    const unverified = await world.enter({ spec: { uri } });
    const refused = client(unverified.tls).request({ ":path": "/a" });
    refused.end();
    expect((await answerOf(refused)).status).toBe(502);
  });

  test("goes to any other application as HTTP/1.1", async () => {
    await using upstream = await WebUpstream.open((request, response) => {
      response.writeHead(200, ["Connection", "close", "Set-Cookie", "a=1", "Set-Cookie", "b=2", "Set-Cookie", "__Host-platform_session=x"]);
      request.pipe(response);
    });
    const { tls } = await world.enter({ spec: { uri: upstream.uri } });
    const stream = client(tls).request({ ":authority": "web.test", ":method": "POST", ":path": "/up?x=1", cookie: "__Host-platform_app=x; c=3" });
    stream.end("body");
    const { status, body, headers } = await answerOf(stream);
    expect([status, body, headers["set-cookie"]]).toEqual([200, "body", ["a=1", "b=2"]]);
    expect(upstream.seen).toMatchObject([{ method: "POST", url: "/up?x=1" }]);
    expect(upstream.values("cookie")).toEqual(["c=3"]);
    expect(upstream.values("host")).toEqual(["web.test"]);
  });

  test("two hosts are refused", async () => {
    await using upstream = await WebUpstream.open();
    const { tls } = await world.enter({ spec: { uri: upstream.uri } });
    const stream = client(tls).request({ ":authority": "web.test", ":path": "/", host: "other.test" });
    stream.end();
    expect((await answerOf(stream)).status).toBe(400);
    expect(upstream.seen).toEqual([]);
  });
});
