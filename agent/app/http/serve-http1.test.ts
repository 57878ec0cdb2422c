import { createServer, type IncomingMessage } from "node:http";
import { duplexPair } from "node:stream";
import fc from "fast-check";
import { expect, test } from "vitest";
import { silentLog } from "../../../core/log/log.ts";
import { canonicalHeader } from "../../../core/resources/app-headers.ts";
import { someRuns } from "../../../test/fuzz/some-runs.ts";
import { turns } from "../../../test/inside/turns.ts";
import { fieldPairs } from "../../http/exchange.ts";
import { serveHttp1 } from "../../http/serve-http1.ts";
import { offeredApp } from "../offered-app.ts";
import { Assertion } from "./assertion.ts";
import type { HttpSession } from "./http-session.ts";
import { Upstream } from "./upstream.ts";
import type { UpstreamRoad } from "./upstream-road.ts";
import { webHandlers } from "./web-handlers.ts";

/** Requests that reached the application, in memory. */
function capturing() {
  const seen: { readonly url: string; readonly fields: ReturnType<typeof fieldPairs>; body: string }[] = [];
  const road: UpstreamRoad = {
    prepare: async () => {},
    open: async () => {
      const [near, far] = duplexPair();
      const server = createServer((request: IncomingMessage, response) => {
        const one = { url: request.url ?? "", fields: fieldPairs(request.rawHeaders), body: "" };
        seen.push(one);
        request.on("data", (chunk: Buffer) => {
          one.body += String(chunk);
        });
        request.on("end", () => response.end("ok"));
      });
      far.on("error", () => {});
      server.emit("connection", far);
      return { socket: near, selected: undefined };
    },
    close: () => {},
  };
  return { seen, road };
}

async function serve(bytes: string) {
  const { seen, road } = capturing();
  const upstream = new Upstream({ road, scheme: "http", keepsConnections: false });
  const [near, far] = duplexPair();
  const over = new AbortController();
  const session: HttpSession = {
    app: offeredApp("web", {}, { uri: "http://a.test" }),
    traits: {},
    clientIp: "192.0.2.7",
    server: "apps-1",
    assertion: new Assertion(
      async () => ({ token: "token", expires: new Date(Date.now() + 300_000) }),
      () => new Date(),
    ),
    upstream,
    visit: { ready: async () => {}, request: () => {}, refusedOrigin: () => {} },
    touch: () => {},
    log: silentLog,
    signal: over.signal,
  };
  let answer = "";
  near.on("data", (chunk: Buffer) => {
    answer += String(chunk);
  });
  near.on("error", () => {});
  const served = serveHttp1(far, webHandlers(session), { firstMs: 5_000, idleMs: 20, maxExchanges: 100 });
  near.write(bytes, "latin1");
  await turns(40);
  near.end();
  await served;
  upstream.close();
  return { seen, answer };
}

const line = fc.constantFrom(
  "Host: web.test",
  "Host: web.test",
  "host : web.test",
  "Host: evil.test",
  "Content-Length: 5",
  "Content-Length: 0",
  "Content-Length: +5",
  "Transfer-Encoding: chunked",
  "Transfer-Encoding: chunked, identity",
  "Transfer-Encoding:\u000bchunked",
  "Connection: Platform-Jwt-Assertion, Content-Length, Host, Transfer-Encoding",
  "Connection: keep-alive",
  "Platform_Jwt_Assertion: forged",
  "Platform-Jwt-Assertion: forged",
  " X-Forwarded-For: forged",
  "X_FORWARDED_FOR: forged",
  "Cookie: __Host-platform_app=forged",
  "X: \u00ff",
  "Expect: 100-continue",
);
const start = fc.constantFrom(
  "GET / HTTP/1.1",
  "POST /a HTTP/1.1",
  "GET http://web.test/b HTTP/1.1",
  "GET //evil.test/ HTTP/1.1",
  "OPTIONS * HTTP/1.1",
  "PRI * HTTP/2.0",
  "GET / HTTP/1.0",
);
const request = fc
  .tuple(
    start,
    fc.array(line, { maxLength: 6 }),
    fc.constantFrom("", "5\r\nhello\r\n0\r\n\r\n", "hello", "0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: web.test\r\n\r\n"),
    fc.constantFrom("\r\n", "\n"),
  )
  .map(([first, lines, body, end]) => `${[first, "Host: web.test", ...lines].slice(0, lines.length + 2).join(end)}${end}${end}${body}`);

test("whatever a client sends, each request that reaches the application is the platform's own", async () => {
  let reached = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(request, { minLength: 1, maxLength: 3 }), async (requests) => {
      const { seen } = await serve(requests.join(""));
      reached += seen.length;
      for (const { fields } of seen) {
        const values = (name: string): readonly string[] => fields.filter(([one]) => canonicalHeader(one) === name).map(([, value]) => value);
        expect(values("platform-jwt-assertion")).toEqual(["token"]);
        expect(values("x-forwarded-for")).toEqual(["192.0.2.7"]);
        expect(values("host")).toEqual(["web.test"]);
        expect(JSON.stringify(fields)).not.toContain("forged");
        expect(values("content-length").length + values("transfer-encoding").length).toBeLessThanOrEqual(1);
      }
    }),
    // The first one reaches it whatever chance makes of the others.
    { numRuns: someRuns(60), examples: [[["GET / HTTP/1.1\r\nHost: web.test\r\n\r\n"]]] },
  );
  expect(reached).toBeGreaterThan(0);
});

test("what follows a request that is not clear is not read", async () => {
  const { seen, answer } = await serve("GET / HTTP/1.1\r\nHost: web.test\r\nHost: b.test\r\n\r\nGET /x HTTP/1.1\r\nHost: web.test\r\n\r\n");
  expect(seen).toEqual([]);
  expect(answer.match(/HTTP\/1\.1 /g)).toHaveLength(1);
});

test("bytes that are not HTTP are answered with 400, and reach nothing", async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 200 }), async (bytes) => {
      const { seen, answer } = await serve(`\u0001${Buffer.from(bytes).toString("latin1")}`);
      expect(seen).toEqual([]);
      expect(answer).toMatch(/^HTTP\/1\.1 400/);
    }),
    { numRuns: someRuns(25) },
  );
});

test("a body arrives with the length that this agent has read, whatever Connection lists", async () => {
  const { seen, answer } = await serve(
    "POST / HTTP/1.1\r\nHost: web.test\r\nConnection: Content-Length\r\nContent-Length: 5\r\n\r\nhelloGET /x HTTP/1.1\r\n\r\n",
  );
  expect(seen.map(({ body }) => body)).toEqual(["hello"]);
  expect(answer).toMatch(/^HTTP\/1\.1 200 OK.*HTTP\/1\.1 400/s);
});
