import { createHash, randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type OutgoingHttpHeaders, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { openBrowser, type WebBrowser } from "../../../test/inside/web-browser.ts";
import { until } from "../../../test/world/until.ts";
import { type AppWorld, appWorld, proxyHost } from "./testing/app-world.ts";
import { beginAt, callAt, navigation, pairsOf, query, type SiteAnswer, type SiteCall } from "./testing/site-calls.ts";

const wiki = `wiki.${proxyHost}`;
const shop = `shop.${proxyHost}`;

let world: AppWorld;
let ann: WebBrowser;
let bob: WebBrowser;
/** The application behind the fake agent. */
let serve: (request: IncomingMessage, response: ServerResponse) => void;
let upgrade: (request: IncomingMessage, socket: Duplex) => void;
let requests: IncomingMessage[];

beforeAll(async () => {
  world = await appWorld();
  const server = createServer();
  server.on("request", (request, response) => {
    requests.push(request);
    serve(request, response);
  });
  server.on("upgrade", (request, socket) => upgrade(request, socket));
  world.serve = (client) => void server.emit("connection", client);
  [ann, bob] = [await openBrowser(world.cluster, "ann", ["dev"]), await openBrowser(world.cluster, "bob", ["none"])];
});
afterAll(async () => await world[Symbol.asyncDispose]());
beforeEach(() => {
  requests = [];
  world.reached.splice(0);
  serve = (_request, response) => void response.end("hello");
  upgrade = (_request, socket) => void socket.destroy();
});

const begin = (path: string, sent: SiteCall = {}) => beginAt(world, path, { at: wiki, ...sent });
const call = (path: string, sent: SiteCall = {}) => callAt(world, path, { at: wiki, ...sent });

/** An attempt to sign in: its state, and the cookie of the browser that began it. */
async function attempt(at = wiki): Promise<{ readonly state: string; readonly cookie: string }> {
  const answer = await call("/x-platform-auth/start?path=%2F", { at });
  const [, state = ""] = /#platform-state=(.*)$/.exec(answer.headers.location ?? "") ?? [];
  expect([answer.status, state]).toEqual([302, expect.stringMatching(/^[\w.-]{80}$/)]);
  return { state, cookie: pairsOf(answer).join("; ") };
}

async function session(browser = ann, host = wiki): Promise<{ readonly session: string; readonly subject: string }> {
  const { status, body } = await browser("/app-sessions", { method: "POST", body: { host } });
  expect(status).toBe(200);
  return { session: String(body.session), subject: String(body.subject) };
}

interface Taking {
  readonly body: object;
  readonly cookie: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly at?: string;
}

function take({ body, cookie, headers = {}, at = wiki }: Taking): Promise<SiteAnswer> {
  const text = JSON.stringify({ path: "/", next: [], ...body });
  return call("/x-platform-auth", { at, method: "POST", headers: { "content-type": "application/json", cookie, ...headers }, body: text });
}

/** The cookies of a browser that is signed in to the wiki. */
async function signIn(browser = ann): Promise<{ readonly cookie: string; readonly id: string }> {
  const { state, cookie } = await attempt();
  const opened = await session(browser);
  const answer = await take({ body: { state, ...opened }, cookie });
  expect(answer.status).toBe(200);
  return {
    cookie: pairsOf(answer)
      .filter((pair) => !pair.endsWith("="))
      .join("; "),
    id: opened.session.split(".")[0] ?? "",
  };
}

describe("the hand-off", () => {
  test("leads a browser without a session to the proxy's page, and after it to the path that it asked for, in the user's name", async () => {
    const first = await call("/a?x=1", { headers: navigation });
    expect([first.status, first.headers.location]).toEqual([303, `https://${proxyHost}/web/launch/${wiki}?path=%2Fa%3Fx%3D1`]);
    const start = await call("/x-platform-auth/start?path=%2Fa%3Fx%3D1%23y&next=");
    expect(start.headers.location).toMatch(`https://${proxyHost}/web/launch/${wiki}?path=%2Fa%3Fx%3D1%23y&next=#platform-state=`);
    expect(start.headers["set-cookie"]).toEqual([expect.stringMatching(/; Path=\/; Secure; HttpOnly; SameSite=Strict; Max-Age=60$/)]);
    const state = start.headers.location?.split("#platform-state=")[1] ?? "";
    const page = await call("/x-platform-auth");
    expect([page.status, page.headers["content-security-policy"]]).toEqual([200, expect.stringMatching(/^default-src 'none'; script-src 'sha256-/)]);
    const opened = await session();
    const taken = await take({ body: { state, ...opened, path: "/a?x=1#y" }, cookie: pairsOf(start).join("; ") });
    expect([taken.status, JSON.parse(taken.text)]).toEqual([200, { location: "/a?x=1#y" }]);
    for (const cookie of (taken.headers["set-cookie"] ?? []).slice(1)) expect(cookie).toMatch(/; Path=\/; Secure; HttpOnly; SameSite=None$/);
    const cookie = [...pairsOf(taken), "theme=dark", ...pairsOf(start)].join("; ");
    const answer = await call("/a?x=1", { headers: { ...navigation, cookie } });
    expect([answer.status, answer.text]).toEqual([200, "hello"]);
    expect(requests).toMatchObject([{ url: "/a?x=1", headers: { cookie: "theme=dark", host: wiki } }]);
    const id = opened.session.split(".")[0];
    expect(world.reached).toMatchObject([
      { request: { sessionId: id, target: "wiki" }, user: { name: "ann", route: { kind: "app", name: "wiki" } } },
    ]);
  });

  test("goes on to the next of several applications, and leaves out hosts that are none", async () => {
    const { state, cookie } = await attempt();
    const next = ["evil.test", proxyHost, shop, wiki];
    const taken = await take({ body: { state, ...(await session()), path: "/b", next }, cookie });
    expect(JSON.parse(taken.text)).toEqual({
      location: `https://${proxyHost}/web/launch/${shop}?${query({ path: "/b", next: wiki })}`,
    });
  });

  test.for(["//evil.test", "https://evil.test", "/\\evil.test", "javascript:alert(1)", "/x-platform-logout"])("never leads to %s", async (path) => {
    const { state, cookie } = await attempt();
    expect(JSON.parse((await take({ body: { state, ...(await session()), path }, cookie })).text)).toEqual({ location: "/" });
  });

  test.for<
    readonly [what: string, change: (right: Taking & { readonly body: { state: string; session: string; subject: string } }) => Promise<Taking>]
  >([
    ["the state of another browser", async (right) => ({ ...right, body: { ...right.body, state: (await attempt()).state } })],
    ["no state", async (right) => ({ ...right, body: { ...right.body, state: "" } })],
    ["no cookie", async (right) => ({ ...right, cookie: "" })],
    ["another subject", async (right) => ({ ...right, body: { ...right.body, subject: (await session()).subject } })],
  ])("with %s is refused, ends the session and is recorded", async ([, change]) => {
    const { state, cookie } = await attempt();
    const right = { body: { state, ...(await session()) }, cookie };
    const before = (await world.cluster.events("auth")).length;
    const refused = await take(await change(right));
    expect([refused.status, JSON.parse(refused.text)]).toEqual([403, { error: expect.objectContaining({ code: "denied" }) }]);
    expect(pairsOf(refused).some((pair) => pair.startsWith("__Host-platform_app"))).toBe(false);
    const sid = right.body.session.split(".")[0];
    const recorded = (await world.cluster.events("auth")).slice(before);
    expect(recorded).toMatchObject([{ code: "T3007W", user: "ann", app_name: "wiki", sid }]);
    const again = await attempt();
    expect((await take({ body: { ...right.body, state: again.state }, cookie: again.cookie })).status).toBe(403);
  });

  test("is taken once: who has seen it has nothing, and the session ends", async () => {
    const { state, cookie } = await attempt();
    const opened = await session();
    const first = await take({ body: { state, ...opened }, cookie });
    const cookies = pairsOf(first).join("; ");
    expect((await call("/", { headers: { cookie: cookies } })).status).toBe(200);
    expect((await take({ body: { state, ...opened }, cookie })).status).toBe(403);
    await until("the session has ended", async () => (await call("/", { headers: { cookie: cookies } })).status === 401);
  });

  test("at the host name of another application is refused", async () => {
    const { state, cookie } = await attempt(shop);
    expect((await take({ body: { state, ...(await session()) }, cookie, at: shop })).status).toBe(403);
  });

  test.for([
    ["another site", { origin: "https://evil.test" }],
    ["another application", { origin: `https://${shop}`, "sec-fetch-site": "same-site" }],
    ["a form", { "content-type": "application/x-www-form-urlencoded" }],
  ] as const)("by %s is refused", async ([, headers]) => {
    const { state, cookie } = await attempt();
    const refused = await take({ body: { state, ...(await session()) }, cookie, headers });
    expect(refused.status).toBeGreaterThanOrEqual(400);
    expect(refused.headers["set-cookie"]).toBeUndefined();
  });

  test("begins for users who may use the application, and for no other", async () => {
    const { status, body } = await bob("/app-sessions", { method: "POST", body: { host: wiki } });
    expect([status, body]).toEqual([403, { error: expect.objectContaining({ message: expect.stringContaining("that you may use") }) }]);
    expect((await ann("/app-sessions", { method: "POST", body: { host: proxyHost } })).status).toBe(404);
    expect((await ann(`/app-sites/${wiki}`)).body).toEqual({ start: `https://${wiki}/x-platform-auth/start`, required: [] });
  });
});

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
    world.agent.send({ type: "resources", resources, more: false });
    await until("the auth service knows them", async () => (await world.cluster.admin.listOffered({ kind: "app" })).resources.length === 3);
  });

  test("is which applications come first, for users who may use it", async () => {
    expect((await ann(`/app-sites/${desk}`)).body).toMatchObject({ required: [wiki, "raw.example.org"] });
    expect((await bob(`/app-sites/${desk}`)).body).toMatchObject({ required: [] });
  });

  test("is the answer to pre-flight requests, without a session and without an agent", async () => {
    const preflight = (origin: string, at = desk) =>
      call("/api", { at, method: "OPTIONS", headers: { origin, "access-control-request-method": "PUT", "sec-fetch-mode": "cors" } });
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
    expect(world.reached).toEqual([]);
  });
});

describe("without a session", () => {
  test("scripts get 401 with the address, and nothing reaches an agent", async () => {
    for (const headers of [
      { "sec-fetch-mode": "cors" },
      { accept: "application/json" },
      { "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe" },
    ]) {
      const answer = await call("/api", { headers });
      expect([answer.status, JSON.parse(answer.text)]).toEqual([
        401,
        { error: expect.objectContaining({ code: "unauthenticated" }), launch_url: `https://${proxyHost}/web/launch/${wiki}?path=%2Fapi` },
      ]);
    }
    expect(world.reached).toEqual([]);
  });

  test.for([
    "__Host-platform_app=x; __Host-platform_app_subject=y",
    `__Host-platform_app=${randomUUID()}.${"A".repeat(43)}; __Host-platform_app_subject=${"A".repeat(43)}`,
  ])("%s is none", async (cookie) => {
    expect((await call("/", { headers: { cookie } })).status).toBe(401);
  });

  test("a session of another user's browser needs both of its cookies", async () => {
    const { cookie } = await signIn();
    const [one = "", two = ""] = cookie.split("; ");
    expect((await call("/", { headers: { cookie: one } })).status).toBe(401);
    expect((await call("/", { headers: { cookie: two } })).status).toBe(401);
    expect((await call("/", { headers: { cookie: `${one}; ${two.split("=")[0]}=${"A".repeat(43)}` } })).status).toBe(401);
    expect((await call("/", { at: shop, headers: { cookie } })).status).toBe(401);
    expect((await call("/", { headers: { cookie } })).status).toBe(200);
  });

  test("a WebSocket is refused with 401, and its connection ends", async () => {
    const request = await begin("/ws", { headers: { connection: "Upgrade", upgrade: "websocket" } });
    request.end();
    const [response] = (await once(request, "response")) as [IncomingMessage];
    expect([response.statusCode, response.headers.connection]).toEqual([401, "close"]);
  });
});

test("a request for another host, for two, or with an absolute target is refused", async () => {
  const { cookie } = await signIn();
  const raw = async (head: string): Promise<string> => {
    const socket = await world.connect(wiki, undefined, { ALPNProtocols: ["http/1.1"] });
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
  expect(requests.length).toBe(1);
});

describe("with a session", () => {
  test("a large body arrives whole, and the answer's headers, trailers and bytes come back", async () => {
    const { cookie } = await signIn();
    const body = randomBytes(3_000_000);
    serve = (request, response) => {
      const hash = createHash("sha256");
      request.pipe(hash).on("finish", () => {
        response.writeHead(201, ["X-One", "caf\u00e9", "Set-Cookie", "a=1", "Set-Cookie", "b=2", "Trailer", "X-End"]);
        response.write(hash.digest());
        response.addTrailers({ "X-End": "yes" });
        response.end();
      });
    };
    const answer = await call("/up", { method: "POST", headers: { cookie, "transfer-encoding": "chunked" }, body });
    expect(answer.text).toBe(createHash("sha256").update(body).digest().toString());
    expect([answer.status, answer.headers["x-one"], answer.headers["set-cookie"]]).toEqual([201, "caf\u00e9", ["a=1", "b=2"]]);
  });

  test("an event arrives as soon as it is sent", async () => {
    const { cookie } = await signIn();
    const streams: ServerResponse[] = [];
    serve = (_request, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
      streams.push(response);
    };
    const request = await begin("/events", { headers: { cookie } });
    request.end();
    const [response] = (await once(request, "response")) as [IncomingMessage];
    streams[0]?.write("data: 1\n\n");
    expect(String((await once(response, "data"))[0])).toBe("data: 1\n\n");
    response.destroy();
    await until("the application learns that its reader has gone", async () => streams[0]?.destroyed === true);
  });

  test("a kept connection that the agent closed is not a failure of a request without a body; a body is never sent twice", async () => {
    const { cookie } = await signIn();
    for (let times = 0; times < 3; times += 1) {
      expect((await call("/", { headers: { cookie } })).status).toBe(200);
    }
    expect(world.reached.length).toBe(1);
    serve = (request, response) => {
      if (request.method === "POST" || requests.length === 4) request.socket.destroy();
      else response.end("again");
    };
    expect((await call("/", { headers: { cookie } })).text).toBe("again");
    const before = requests.length;
    expect((await call("/", { method: "POST", headers: { cookie }, body: "once" })).status).toBe(502);
    expect(requests.length).toBe(before + 1);
  });

  test("connections of many requests at once are kept for as many that follow", async () => {
    const { cookie } = await signIn();
    const most = 12;
    for (const wave of [1, 2]) {
      const held: ServerResponse[] = [];
      serve = (_request, response) => {
        held.push(response);
        // All end at once: each of their connections is idle then.
        if (held.length === most) for (const one of held) one.end("hello");
      };
      const answers = await Promise.all(Array.from({ length: most }, () => call("/", { headers: { cookie } })));
      expect([wave, ...new Set(answers.map(({ status }) => status)), world.reached.length]).toEqual([wave, 200, most]);
    }
  });

  test("a WebSocket carries bytes both ways; another answer comes back as it is", async () => {
    const { cookie } = await signIn();
    upgrade = (request, socket) => {
      if (request.url !== "/ws") return void socket.end("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno");
      socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
      socket.pipe(socket);
    };
    const headers = { cookie, connection: "Upgrade", upgrade: "websocket" };
    const open = await begin("/ws", { headers });
    open.end();
    const [, socket] = (await once(open, "upgrade")) as [IncomingMessage, Duplex];
    socket.write("ping");
    expect(String((await once(socket, "data"))[0])).toBe("ping");
    socket.destroy();
    const refused = await begin("/other", { headers });
    refused.end();
    const [response] = (await once(refused, "response")) as [IncomingMessage];
    expect([response.statusCode, Buffer.concat((await response.toArray()) as Buffer[]).toString()]).toEqual([403, "no"]);
  });

  test("a log-out counts at the next request, and ends open WebSockets", async () => {
    const { cookie } = await signIn();
    upgrade = (_request, socket) => {
      socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
      socket.on("error", () => {}).resume();
    };
    const open = await begin("/ws", { headers: { cookie, connection: "Upgrade", upgrade: "websocket" } });
    open.end();
    const [, socket] = (await once(open, "upgrade")) as [IncomingMessage, Duplex];
    const closed = once(socket.on("error", () => {}).resume(), "close");
    expect((await call("/x-platform-logout", { headers: { cookie } })).status).toBe(404);
    expect((await call("/x-platform-logout", { method: "POST", headers: { cookie, origin: "https://evil.test" } })).status).toBe(403);
    const left = await call("/x-platform-logout", { method: "POST", headers: { cookie, origin: `https://${wiki}` } });
    expect([left.status, pairsOf(left)]).toEqual([204, ["__Host-platform_app=", "__Host-platform_app_subject="]]);
    await closed;
    expect((await call("/", { headers: { cookie } })).status).toBe(401);
  });

  test("a lock, and a log-out at the proxy's site, end it too", async () => {
    const { cookie } = await signIn();
    const lock = { kind: "lock", version: "v2", metadata: { name: "l" }, spec: { target: { user: "ann" } } };
    await world.cluster.admin.putResource({ json: JSON.stringify(lock) });
    await until("the lock counts", async () => (await call("/", { headers: { cookie } })).status === 403);
    await world.cluster.admin.deleteResource({ kind: "lock", name: "l" });
    await until("it is gone", async () => (await call("/", { headers: { cookie } })).status === 200);
    expect((await ann("/session", { method: "DELETE" })).status).toBe(204);
    expect((await call("/", { headers: { cookie } })).status).toBe(401);
  });
});
