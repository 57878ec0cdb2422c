import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { HttpOrigin, type OriginOptions } from "./http-origin.ts";
import { createTestAuthority } from "./testing/test-certificate.ts";
import { listenTcp } from "./testing/test-server.ts";

let open: AsyncDisposableStack | undefined;
afterEach(async () => await open?.disposeAsync());

/** A server that counts its connections, and an origin for it. */
async function serve(answer: (request: IncomingMessage, response: ServerResponse) => void, more: Partial<OriginOptions> = {}) {
  open = new AsyncDisposableStack();
  const server = createServer(answer);
  const seen = { connections: 0 };
  server.on("connection", () => {
    seen.connections += 1;
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  open.defer(() => {
    server.close();
    server.closeAllConnections();
  });
  const target = { host: "127.0.0.1", port: (server.address() as AddressInfo).port };
  return { seen, origin: open.use(new HttpOrigin({ target, env: {}, ca: async () => undefined, plain: true, ...more })) };
}

async function text(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

test("requests share a connection, and have method, headers and body", async () => {
  const { origin, seen } = await serve((request, response) => {
    const asked = `${request.method} ${request.url} ${String(request.headers["x-ask"])}`;
    void text(request).then((body) => response.setHeader("x-answer", "1").end(`${asked} ${body}`));
  });
  for (const method of ["GET", "PATCH", "DELETE"] as const) {
    const body = method === "PATCH" ? "{}" : undefined;
    const answer = await origin.send({ method, path: "/x?y=1", headers: { "x-ask": "2" }, body });
    expect(answer).toMatchObject({ status: 200, body: Buffer.from(`${method} /x?y=1 2 ${body ?? ""}`) });
    expect(answer.headers["x-answer"]).toBe("1");
  }
  expect(seen.connections).toBe(1);
});

test("a connection that was cut is dialled again by the next request, and no request is sent twice", async () => {
  let asked = 0;
  const { origin, seen } = await serve((request, response) => {
    asked += 1;
    if (asked === 2) request.socket.destroy();
    else response.end("ok");
  });
  await origin.send({ method: "GET", path: "/" });
  await expect(origin.send({ method: "PATCH", path: "/", body: "{}" })).rejects.toMatchObject({ code: "unavailable" });
  expect(asked).toBe(2);
  expect(await origin.send({ method: "GET", path: "/" })).toMatchObject({ status: 200 });
  expect(seen.connections).toBe(2);
});

test("an answer that is silent, too long or stopped ends with its reason, and the next request works", async () => {
  const { origin } = await serve((request, response) => {
    if (request.url === "/silent") return;
    response.end(request.url === "/long" ? "x".repeat(2000) : "ok");
  });
  await expect(origin.send({ method: "GET", path: "/silent", timeoutMs: 100 })).rejects.toMatchObject({ code: "timeout" });
  await expect(origin.send({ method: "GET", path: "/long", maxBytes: 1999 })).rejects.toMatchObject({ code: "limit" });
  await expect(origin.send({ method: "GET", path: "/silent", signal: AbortSignal.abort(new Error("stopped")) })).rejects.toThrow("stopped");
  await expect(origin.send({ method: "GET", path: "no path" })).rejects.toMatchObject({ code: "invalid" });
  expect(await origin.send({ method: "GET", path: "/" })).toMatchObject({ status: 200 });
});

test("a stream lasts on a connection of its own, past its time limit, until it is stopped", async () => {
  const late = Promise.withResolvers<void>();
  const { origin, seen } = await serve((request, response) => {
    if (request.url === "/silent") return;
    if (request.url !== "/stream") return void response.end("ok");
    response.write("a\n");
    void late.promise.then(() => response.write("b\n"));
  });
  const stop = new AbortController();
  const [limit, timeoutMs] = [{ code: "timeout" }, 1_500];
  const { status, body } = await origin.stream({ method: "GET", path: "/stream", timeoutMs, signal: stop.signal });
  expect(status).toBe(200);
  const got: string[] = [];
  const reading = (async () => {
    for await (const chunk of body) {
      got.push(chunk.toString());
      if (got.length === 2) stop.abort(new Error("enough"));
    }
  })();
  expect(await origin.send({ method: "GET", path: "/" })).toMatchObject({ status: 200 });
  // A request that began after the stream has reached the same limit.
  await expect(origin.send({ method: "GET", path: "/silent", timeoutMs })).rejects.toMatchObject(limit);
  late.resolve();
  await expect(reading).rejects.toThrow("enough");
  expect([got, seen.connections]).toEqual([["a\n", "b\n"], 2]);
});

test("a stream that is left closes its connection; one without headers runs into the time limit", async () => {
  const closed = Promise.withResolvers<void>();
  const { origin } = await serve((request, response) => {
    request.socket.on("close", () => closed.resolve());
    if (request.url === "/stream") response.write("a\n");
  });
  const { body } = await origin.stream({ method: "GET", path: "/stream", signal: new AbortController().signal });
  for await (const _ of body) break;
  await closed.promise;
  await expect(origin.stream({ method: "GET", path: "/silent", timeoutMs: 100, signal: new AbortController().signal })).rejects.toMatchObject({
    code: "timeout",
  });
});

test("a server that speaks something else, or is not there, is unavailable", async () => {
  const other = await listenTcp((socket) => void socket.end("SSH-2.0-x\r\n"));
  const { origin: speaking } = await serve(() => {}, { target: { host: other.host, port: other.port } });
  await expect(speaking.send({ method: "GET", path: "/" })).rejects.toMatchObject({ code: "unavailable" });
  other.close();
  const { origin: missing } = await serve(() => {}, { target: { host: "127.0.0.1", port: 1 } });
  await expect(missing.send({ method: "GET", path: "/" })).rejects.toMatchObject({ code: "unavailable" });
});

test("the server's authority is asked for at each connection: a replaced one counts, a wrong one is refused", async () => {
  const [good, wrong] = [await createTestAuthority(), await createTestAuthority()];
  const { cert, key } = await good.issue({ type: "ip", value: "127.0.0.1" });
  const server = createTlsServer({ cert, key }, (_request, response) => response.setHeader("connection", "close").end("ok"));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  let ca = wrong.cert;
  const target = { host: "127.0.0.1", port: (server.address() as AddressInfo).port };
  await using origin = new HttpOrigin({ target, env: {}, ca: async () => [ca] });
  await expect(origin.send({ method: "GET", path: "/" })).rejects.toMatchObject({ code: "unauthenticated" });
  ca = good.cert;
  expect(await origin.send({ method: "GET", path: "/" })).toMatchObject({ status: 200 });
  server.close();
  server.closeAllConnections();
});
