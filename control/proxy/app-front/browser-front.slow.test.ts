import { createHash, randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import { Agent, request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { until } from "../../../test/world/until.ts";
import { proxyHost } from "./testing/app-world.ts";
import { BrowserWorld, shop, wiki } from "./testing/browser-world.ts";
import { pairsOf } from "./testing/site-calls.ts";

let site: BrowserWorld;
beforeAll(async () => {
  site = await BrowserWorld.open();
});
afterAll(async () => await site[Symbol.asyncDispose]());
beforeEach(() => site.reset());

describe("what an application's agents state", () => {
  const desk = `desk.${proxyHost}`;
  const cors = { allowed_origins: ["https://one.test"], allowed_methods: ["PUT"], allowed_headers: [], exposed_headers: [] };

  beforeAll(async () => {
    const details = { scheme: "http", required_apps: "wiki,raw", cors: JSON.stringify(cors) };
    const resources = [
      { kind: "app", name: "wiki", labels: { env: "test" }, details: { scheme: "http" } },
      { kind: "app", name: "raw", labels: { env: "test" }, details: { scheme: "tcp", public_addr: "raw.example.org" } },
      { kind: "app", name: "desk", labels: { env: "test" }, details },
    ];
    site.world.agent.send({ type: "resources", resources, more: false });
    await until("the auth service knows them", async () => (await site.world.cluster.admin.listOffered({ kind: "app" })).resources.length === 3);
  });

  test("is which applications come first, for users who may use it", async () => {
    expect((await site.ann(`/app-sites/${desk}`)).body).toMatchObject({ required: [wiki, "raw.example.org"] });
    expect((await site.bob(`/app-sites/${desk}`)).body).toMatchObject({ required: [] });
  });

  test("is the answer to pre-flight requests, without a session and without an agent", async () => {
    const preflight = (origin: string, at = desk) =>
      site.call("/api", { at, method: "OPTIONS", headers: { origin, "access-control-request-method": "PUT", "sec-fetch-mode": "cors" } });
    const allowed = await preflight("https://one.test");
    expect([allowed.status, allowed.headers]).toMatchObject([
      204,
      { "access-control-allow-origin": "https://one.test", "access-control-allow-methods": "PUT" },
    ]);
    const [other, without, unknown] = [
      await preflight("https://two.test"),
      await preflight("https://one.test", wiki),
      await preflight("https://one.test", shop),
    ];
    for (const { status, headers } of [other, without, unknown]) {
      expect([status, headers["access-control-allow-origin"]]).toEqual([401, undefined]);
    }
    expect(site.world.reached).toEqual([]);
  });
});

describe("without a session", () => {
  test("scripts get 401 with the address, and nothing reaches an agent", async () => {
    for (const headers of [
      { "sec-fetch-mode": "cors" },
      { accept: "application/json" },
      { "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe" },
    ]) {
      const answer = await site.call("/api", { headers });
      expect([answer.status, JSON.parse(answer.text)]).toEqual([
        401,
        { error: expect.objectContaining({ code: "unauthenticated" }), launch_url: `https://${proxyHost}/web/launch/${wiki}?path=%2Fapi` },
      ]);
    }
    expect(site.world.reached).toEqual([]);
  });

  test.for([
    "__Host-platform_app=x; __Host-platform_app_subject=y",
    `__Host-platform_app=${randomUUID()}.${"A".repeat(43)}; __Host-platform_app_subject=${"A".repeat(43)}`,
  ])("%s is none", async (cookie) => {
    expect((await site.call("/", { headers: { cookie } })).status).toBe(401);
  });

  test("a session of another user's browser needs both of its cookies", async () => {
    const cookie = await site.signIn();
    const [one = "", two = ""] = cookie.split("; ");
    expect((await site.call("/", { headers: { cookie: one } })).status).toBe(401);
    expect((await site.call("/", { headers: { cookie: two } })).status).toBe(401);
    expect((await site.call("/", { headers: { cookie: `${one}; ${two.split("=")[0]}=${"A".repeat(43)}` } })).status).toBe(401);
    expect((await site.call("/", { at: shop, headers: { cookie } })).status).toBe(401);
    expect((await site.call("/", { headers: { cookie } })).status).toBe(200);
  });

  test("each request of a connection is that of the session in its own cookies", async () => {
    const [one, other] = [await site.signIn(), await site.signIn()];
    const [id = "", secret = ""] = /app=([^.]+)\.([^;]+)/.exec(one)?.slice(1) ?? [];
    const forged = one.replace(secret, "A".repeat(43));
    const socket = await site.world.connect(wiki, undefined, { ALPNProtocols: ["http/1.1"] });
    const agent = Object.assign(new Agent({ keepAlive: true, maxSockets: 1 }), { createConnection: () => socket });
    const ask = async (cookie: string): Promise<number | undefined> => {
      const sent = httpRequest({ agent, headers: { host: wiki, cookie } }).end();
      const [answer] = (await once(sent, "response")) as [IncomingMessage];
      await answer.toArray();
      return answer.statusCode;
    };
    const statuses: unknown[] = [];
    for (const cookie of [one, one, "", forged, one, other, one]) statuses.push(await ask(cookie));
    agent.destroy();
    expect(statuses).toEqual([200, 200, 401, 401, 200, 200, 200]);
    expect(site.world.reached.map(({ request }) => request.sessionId)).toEqual([id, /app=([^.]+)/.exec(other)?.[1]]);
  });

  test("a WebSocket is refused with 401, and its connection ends", async () => {
    const request = await site.begin("/ws", { headers: { connection: "Upgrade", upgrade: "websocket" } });
    request.end();
    const [response] = (await once(request, "response")) as [IncomingMessage];
    expect([response.statusCode, response.headers.connection]).toEqual([401, "close"]);
  });
});

test("a request for another host, for two, or with an absolute target is refused", async () => {
  const cookie = await site.signIn();
  const raw = async (head: string): Promise<string> => {
    const socket = await site.world.connect(wiki, undefined, { ALPNProtocols: ["http/1.1"] });
    socket.write(`${head}\r\nCookie: ${cookie}\r\n\r\n`);
    return Buffer.concat((await socket.toArray()) as Buffer[]).toString();
  };
  for (const head of [
    `GET / HTTP/1.1\r\nHost: ${shop}`,
    `GET / HTTP/1.1\r\nHost: ${proxyHost}`,
    `GET / HTTP/1.1\r\nHost: ${wiki}\r\nHost: ${shop}`,
    `GET / HTTP/1.1\r\nHost: ${wiki}\r\nhost: ${wiki}`,
    `GET https://${wiki}/ HTTP/1.1\r\nHost: ${wiki}`,
    `GET https://evil.test/ HTTP/1.1\r\nHost: ${wiki}`,
    `OPTIONS * HTTP/1.1\r\nHost: ${wiki}`,
    `POST / HTTP/1.1\r\nHost: ${wiki}\r\nContent-Length: 1\r\nTransfer-Encoding: chunked`,
  ]) {
    expect(await raw(head)).toMatch(/^HTTP\/1\.1 400 /);
  }
  expect(await raw(`GET / HTTP/1.1\r\nHost: ${wiki.toUpperCase()}:443\r\nConnection: close`)).toMatch(/^HTTP\/1\.1 200 /);
  expect(site.requests.length).toBe(1);
});

describe("with a session", () => {
  test("a large body arrives whole, and the answer's headers, trailers and bytes come back", async () => {
    const cookie = await site.signIn();
    const body = randomBytes(3_000_000);
    site.serve = (request, response) => {
      const hash = createHash("sha256");
      request.pipe(hash).on("finish", () => {
        response.writeHead(201, ["X-One", "caf\u00e9", "Set-Cookie", "a=1", "Set-Cookie", "b=2", "Trailer", "X-End"]);
        response.write(hash.digest());
        response.addTrailers({ "X-End": "yes" });
        response.end();
      });
    };
    const answer = await site.call("/up", { method: "POST", headers: { cookie, "transfer-encoding": "chunked" }, body });
    expect(answer.text).toBe(createHash("sha256").update(body).digest().toString());
    expect([answer.status, answer.headers["x-one"], answer.headers["set-cookie"]]).toEqual([201, "caf\u00e9", ["a=1", "b=2"]]);
  });

  test("an event arrives as soon as it is sent", async () => {
    const cookie = await site.signIn();
    const streams: ServerResponse[] = [];
    site.serve = (_request, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
      streams.push(response);
    };
    const request = await site.begin("/events", { headers: { cookie } });
    request.end();
    const [response] = (await once(request, "response")) as [IncomingMessage];
    streams[0]?.write("data: 1\n\n");
    expect(String((await once(response, "data"))[0])).toBe("data: 1\n\n");
    response.destroy();
    await until("the application learns that its reader has gone", async () => streams[0]?.destroyed === true);
  });

  test("a kept connection that the agent closed is not a failure of a request without a body; a body is never sent twice", async () => {
    const cookie = await site.signIn();
    for (let times = 0; times < 3; times += 1) {
      expect((await site.call("/", { headers: { cookie } })).status).toBe(200);
    }
    expect(site.world.reached.length).toBe(1);
    site.serve = (request, response) => {
      if (request.method === "POST" || site.requests.length === 4) request.socket.destroy();
      else response.end("again");
    };
    expect((await site.call("/", { headers: { cookie } })).text).toBe("again");
    const before = site.requests.length;
    expect((await site.call("/", { method: "POST", headers: { cookie }, body: "once" })).status).toBe(502);
    expect(site.requests.length).toBe(before + 1);
  });

  test("connections of many requests at once are kept for as many that follow", async () => {
    const cookie = await site.signIn();
    const most = 12;
    for (const wave of [1, 2]) {
      const held: ServerResponse[] = [];
      site.serve = (_request, response) => {
        held.push(response);
        // All end at once: each of their connections is idle then.
        if (held.length === most) for (const one of held) one.end("hello");
      };
      const answers = await Promise.all(Array.from({ length: most }, () => site.call("/", { headers: { cookie } })));
      expect([wave, ...new Set(answers.map(({ status }) => status)), site.world.reached.length]).toEqual([wave, 200, most]);
    }
  });

  test("a WebSocket carries bytes both ways; another answer comes back as it is", async () => {
    const cookie = await site.signIn();
    site.upgrade = (request, socket) => {
      if (request.url !== "/ws") return void socket.end("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno");
      socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
      socket.pipe(socket);
    };
    const headers = { cookie, connection: "Upgrade", upgrade: "websocket" };
    const open = await site.begin("/ws", { headers });
    open.end();
    const [, socket] = (await once(open, "upgrade")) as [IncomingMessage, Duplex];
    socket.write("ping");
    expect(String((await once(socket, "data"))[0])).toBe("ping");
    socket.destroy();
    const refused = await site.begin("/other", { headers });
    refused.end();
    const [response] = (await once(refused, "response")) as [IncomingMessage];
    expect([response.statusCode, Buffer.concat((await response.toArray()) as Buffer[]).toString()]).toEqual([403, "no"]);
  });

  test("many WebSockets at once reach the agent a few at a time, and all open; one whose client has left costs no connection", async () => {
    const cookie = await site.signIn();
    site.upgrade = (_request, socket) => {
      socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
      socket.on("error", () => {}).resume();
    };
    const headers = { cookie, connection: "Upgrade", upgrade: "websocket" };
    const asked = await Promise.all(Array.from({ length: 60 }, () => site.begin("/ws", { headers })));
    const left = await site.begin("/ws", { headers });
    site.world.mostArriving = 0;
    const opened = asked.map(async (request) => {
      request.end();
      const [, socket] = (await once(request, "upgrade")) as [IncomingMessage, Duplex];
      return socket.on("error", () => {}).resume();
    });
    left.on("error", () => {}).end();
    await until("some have come", () => site.world.reached.length > 0 || undefined);
    left.destroy();
    const sockets = await Promise.all(opened);
    expect(site.world.mostArriving).toBeLessThanOrEqual(8);
    expect(site.world.reached).toHaveLength(60);
    for (const socket of sockets) socket.destroy();
  });

  test("a log-out counts at the next request, and ends open WebSockets", async () => {
    const cookie = await site.signIn();
    site.upgrade = (_request, socket) => {
      socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
      socket.on("error", () => {}).resume();
    };
    const open = await site.begin("/ws", { headers: { cookie, connection: "Upgrade", upgrade: "websocket" } });
    open.end();
    const [, socket] = (await once(open, "upgrade")) as [IncomingMessage, Duplex];
    const closed = once(socket.on("error", () => {}).resume(), "close");
    expect((await site.call("/x-platform-logout", { headers: { cookie } })).status).toBe(404);
    expect((await site.call("/x-platform-logout", { method: "POST", headers: { cookie, origin: "https://evil.test" } })).status).toBe(403);
    const left = await site.call("/x-platform-logout", { method: "POST", headers: { cookie, origin: `https://${wiki}` } });
    expect([left.status, pairsOf(left)]).toEqual([204, ["__Host-platform_app=", "__Host-platform_app_subject="]]);
    await closed;
    expect((await site.call("/", { headers: { cookie } })).status).toBe(401);
  });

  test("a lock, and a log-out at the proxy's site, end it too", async () => {
    const cookie = await site.signIn();
    const lock = { kind: "lock", version: "v2", metadata: { name: "l" }, spec: { target: { user: "ann" } } };
    await site.world.cluster.admin.putResource({ json: JSON.stringify(lock) });
    await until("the lock counts", async () => (await site.call("/", { headers: { cookie } })).status === 403);
    await site.world.cluster.admin.deleteResource({ kind: "lock", name: "l" });
    await until("it is gone", async () => (await site.call("/", { headers: { cookie } })).status === 200);
    expect((await site.ann("/session", { method: "DELETE" })).status).toBe(204);
    expect((await site.call("/", { headers: { cookie } })).status).toBe(401);
  });
});
