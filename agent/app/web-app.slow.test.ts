import { once } from "node:events";
import { mkdtempDisposable } from "node:fs/promises";
import { createServer as createTcpServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { WebUpstream } from "./testing/web-upstream.ts";
import { ask, askRaw, type WebOptions, WebWorld } from "./testing/web-world.ts";

describe("requests to a web application", () => {
  let world: WebWorld;
  beforeAll(async () => {
    world = await WebWorld.open();
  });
  afterAll(async () => await world[Symbol.asyncDispose]());

  const enter = async (upstream: WebUpstream, options: WebOptions = {}) =>
    await world.enter({ ...options, spec: { uri: upstream.uri, ...options.spec } });

  test("reach it with the user's token and address, and responses come back as they are", async () => {
    await using upstream = await WebUpstream.open((_request, response) => {
      response.writeHead(201, "Made", ["X-One", "1", "X-One", "2", "Set-Cookie", "a=b; Domain=test; Path=/", "Connection", "x-gone", "X-Gone", "1"]);
      response.end("body");
    });
    const { tls, tokens } = await enter(upstream);
    const { status, response, body } = await ask(tls, { path: "/a?b=c", headers: { host: "web.test" } });
    expect([status, response.statusMessage, body]).toEqual([201, "Made", "body"]);
    expect(response.rawHeaders.join("\n")).toContain("X-One\n1\nX-One\n2");
    expect(response.headers["set-cookie"]).toEqual(["a=b; Path=/"]);
    expect(response.headers["x-gone"]).toBeUndefined();
    expect(upstream.seen[0]).toMatchObject({ method: "GET", url: "/a?b=c" });
    expect(upstream.values("platform-jwt-assertion")).toHaveLength(1);
    expect(upstream.values("x-forwarded-for")).toEqual(["192.0.2.7"]);
    expect(upstream.values("x-forwarded-host")).toEqual(["web.test"]);
    expect(upstream.values("x-forwarded-proto")).toEqual(["https"]);
    expect(upstream.values("host")).toEqual(["web.test"]);
    expect(tokens).toMatchObject([{ app: "web", uri: upstream.uri, clientAddress: "192.0.2.7:40000", claims: "roles-and-traits" }]);
  });

  test("and their responses keep the bytes of fields that are not ASCII", async () => {
    await using upstream = await WebUpstream.open((_request, response) => void response.setHeader("X-Name", "caf\u00e9").end(Buffer.from("body")));
    const { tls } = await enter(upstream);
    const lines = ["POST / HTTP/1.1", "Host: web.test", "X-Name: caf\u00e9", "Content-Length: 1", "Connection: close"];
    tls.write(`${lines.join("\r\n")}\r\n\r\nx`, "latin1");
    const answer = Buffer.concat((await tls.toArray()) as Buffer[]).toString("latin1");
    expect(upstream.values("x-name")).toEqual(["caf\u00e9"]);
    expect(answer).toContain("X-Name: caf\u00e9\r\n");
  });

  test("carry nothing that the client writes in the platform's name, in no spelling, and none of its cookies", async () => {
    await using upstream = await WebUpstream.open();
    const { tls } = await enter(upstream);
    const lines = [
      "GET / HTTP/1.1",
      "Host: web.test",
      "Platform-Jwt-Assertion: forged",
      "platform_jwt_assertion: forged",
      "X_Forwarded_For: 6.6.6.6",
      "X-Forwarded-User: root",
      "X-Real-IP: 6.6.6.6",
      "Forwarded: for=6.6.6.6",
      "Cookie: a=1; __Host-platform_session=secret; b=2; __host-PLATFORM_app=x",
      "Connection: close, Platform-Jwt-Assertion, X-Forwarded-For, X-Hop",
      "X-Hop: 1",
    ];
    const answer = await askRaw(tls, `${lines.join("\r\n")}\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 200/);
    const all = upstream.seen[0]?.raw.join("\n") ?? "";
    expect(all).not.toMatch(/forged|6\.6\.6\.6|root|secret|PLATFORM_app|x-hop/i);
    expect(upstream.values("platform-jwt-assertion")).toHaveLength(1);
    expect(upstream.names().filter((name) => name.replaceAll("_", "-") === "x-forwarded-for")).toHaveLength(1);
    expect(upstream.values("cookie")).toEqual(["a=1; b=2"]);
  });

  test.for<readonly [fault: string, bytes: string]>([
    ["two hosts", "GET / HTTP/1.1\r\nHost: web.test\r\nHost: other.test\r\n\r\n"],
    ["another host in the request line", "GET http://other.test/ HTTP/1.1\r\nHost: web.test\r\n\r\n"],
    ["two lengths of the body", "POST / HTTP/1.1\r\nHost: web.test\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"],
    ["a coding of the body that would be lost", "POST / HTTP/1.1\r\nHost: web.test\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"],
    ["a host with a path", "GET / HTTP/1.1\r\nHost: web.test/x\r\n\r\n"],
    ["an upgrade with two hosts", "GET / HTTP/1.1\r\nHost: web.test\r\nHost: b.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"],
  ])("%s: refused, and nothing reaches the application", async ([, bytes]) => {
    await using upstream = await WebUpstream.open();
    const { tls } = await enter(upstream);
    expect(await askRaw(tls, bytes)).toMatch(/^HTTP\/1\.1 (400|501)/);
    expect(upstream.seen).toEqual([]);
  });

  test("with too long headers are refused, and CONNECT and TRACE are", async () => {
    await using upstream = await WebUpstream.open();
    const long = await enter(upstream);
    expect(await askRaw(long.tls, `GET / HTTP/1.1\r\nHost: web.test\r\nX: ${"x".repeat(70_000)}\r\n\r\n`)).toMatch(/^HTTP\/1\.1 431/);
    const connect = await enter(upstream);
    expect(await askRaw(connect.tls, "CONNECT web.test:443 HTTP/1.1\r\nHost: web.test:443\r\n\r\n")).toMatch(/^HTTP\/1\.1 405/);
    const trace = await enter(upstream);
    expect(await askRaw(trace.tls, "TRACE / HTTP/1.1\r\nHost: web.test\r\nConnection: close\r\n\r\n")).toMatch(/^HTTP\/1\.1 405/);
    expect(upstream.seen).toEqual([]);
  });

  test("get the fields that the settings set, one for each value of a trait, and a Host of theirs", async () => {
    await using upstream = await WebUpstream.open();
    const headers = [
      { name: "X-Team", value: "{{external.teams}}" },
      { name: "Authorization", value: "Bearer {{internal.jwt}}" },
      { name: "Host", value: "inside.test" },
      { name: "X-None", value: "{{external.none}}" },
      { name: "X-Bad", value: "{{external.bad}}" },
    ];
    const spec = { rewrite: { headers, redirect: [], jwt_claims: "roles" as const } };
    const { tls, tokens } = await enter(upstream, { spec, traits: { teams: ["a", "b"], bad: ["x\r\nY: 1"] } });
    await ask(tls, { headers: { host: "web.test", authorization: "Basic x", "x-team": "forged", x_none: "forged" } });
    expect(upstream.values("x-team")).toEqual(["a", "b"]);
    expect(upstream.values("authorization")).toEqual([expect.stringMatching(/^Bearer [^.]+\.[^.]+\.c2lnbmF0dXJl$/)]);
    expect(upstream.values("host")).toEqual(["inside.test"]);
    expect(upstream.names()).not.toContain("x_none");
    expect(upstream.names()).not.toContain("x-bad");
    expect(tokens[0]?.claims).toBe("roles");
  });

  test("redirects to hosts of the settings lead to the public address, others do not change", async () => {
    const places = ["http://inside.test:8080/a?b#c", "//inside.test/a", "http://other.test/a", "/a"];
    await using upstream = await WebUpstream.open(({ url = "" }, response) => {
      response.writeHead(302, { Location: places[Number(url.slice(1))] ?? "" }).end();
    });
    const { tls } = await enter(upstream, { spec: { rewrite: { redirect: ["inside.test"], headers: [], jwt_claims: "none" } } });
    const locations: unknown[] = [];
    const sent = [0, 1, 2, 3].map((at) => `GET /${at} HTTP/1.1\r\nHost: web.test\r\n${at === 3 ? "Connection: close\r\n" : ""}\r\n`);
    const answers = await askRaw(tls, sent.join(""));
    for (const [, location] of answers.matchAll(/^Location: (.*)\r$/gim)) locations.push(location);
    expect(locations).toEqual(["https://web.test/a?b#c", "https://web.test/a", "http://other.test/a", "/a"]);
  });

  test("for / lead to the path of the address, and all others go on as they are", async () => {
    await using upstream = await WebUpstream.open();
    const options = { spec: { uri: `${upstream.uri}/start` } };
    const { tls } = await world.enter(options);
    const { status, headers } = await ask(tls, { path: "/?a=1", headers: { host: "web.test" } });
    expect([status, headers.location]).toEqual([302, "/start?a=1"]);
    const next = await world.enter(options);
    await ask(next.tls, { path: "/other", headers: { host: "web.test" } });
    expect(upstream.seen.map(({ url }) => url)).toEqual(["/other"]);
  });

  test("a refusal names the application and nothing internal, as a page, as JSON or as text", async () => {
    const broken = createTcpServer((socket) => void socket.end("SSH-2.0-not-http\r\n"));
    await once(broken.listen(0, "127.0.0.1"), "listening");
    const uri = `http://127.0.0.1:${(broken.address() as { port: number }).port}`;
    const page = await ask((await world.enter({ spec: { uri } })).tls, { headers: { host: "web.test", accept: "text/html" } });
    expect([page.status, page.headers["content-type"]]).toEqual([502, "text/html; charset=utf-8"]);
    expect(page.body).toContain("the application web could not be reached");
    expect(page.body).not.toContain("127.0.0.1");
    const json = await ask((await world.enter({ spec: { uri } })).tls, { headers: { host: "web.test", accept: "application/json" } });
    expect(JSON.parse(json.body)).toEqual({ error: { status: 502, message: "the application web could not be reached" } });
    broken.close();
  });

  test("an application that nobody answers for, or at an address that the agent refuses, is refused before the first request", async () => {
    const { error } = await world.enter({ spec: { uri: "http://127.0.0.1:1" } });
    expect(error?.code).toBe("unavailable");
    const metadata = await world.enter({ spec: { uri: "http://169.254.169.254/latest" } });
    expect(metadata.error?.code).toBe("denied");
  });

  test("over a Unix socket", async () => {
    await using upstream = await WebUpstream.open();
    await using folder = await mkdtempDisposable(join(tmpdir(), "web-unix-"));
    const path = join(folder.path, "app.sock");
    upstream.server.close();
    await once(upstream.server.listen(path), "listening");
    const { tls } = await world.enter({ spec: { uri: `unix://${path}` } });
    expect(await ask(tls, { path: "/a", headers: { host: "web.test" } })).toMatchObject({ status: 200, body: "hello" });
  });

  test("without a token no request goes out", async () => {
    await using upstream = await WebUpstream.open();
    const signToken = () => Promise.reject(new PlatformError("unavailable", "no auth service"));
    const { status, body } = await ask((await enter(upstream, { deps: { signToken } })).tls, { headers: { host: "web.test" } });
    expect([status, body]).toEqual([503, "the platform cannot serve this request now; try again in a moment\n"]);
    expect(upstream.seen).toEqual([]);
  });

  test("a role that is lost, or a lock, ends the connection at once", async () => {
    await using upstream = await WebUpstream.open((_request, response) => void response.writeHead(200).flushHeaders());
    const listeners: Parameters<NonNullable<WebOptions["follow"]>>[0][] = [];
    const { tls, deps } = await enter(upstream, { follow: (listener) => void listeners.push(listener) });
    tls.write("GET / HTTP/1.1\r\nHost: web.test\r\n\r\n");
    await once(tls, "data");
    const ended = once(tls, "close");
    const access = await deps.access.at("");
    for (const listener of listeners) listener({ ...access, roles: [] });
    await ended;
  });

  test("a connection whose certificate has expired ends with a role that is lost, and with no other change of access", async () => {
    await using upstream = await WebUpstream.open((_request, response) => void response.end());
    const listeners: Parameters<NonNullable<WebOptions["follow"]>>[0][] = [];
    let time = new Date();
    const { tls, deps } = await enter(upstream, { follow: (listener) => void listeners.push(listener), deps: { now: () => time } });
    const access = await deps.access.at("");
    time = new Date(time.getTime() + 365 * 86_400_000);
    for (const listener of listeners) listener({ ...access, revision: "2" });
    // Refused by the agent itself: no token is needed, which would have expired too.
    tls.write("TRACE / HTTP/1.1\r\nHost: web.test\r\n\r\n");
    expect(String((await once(tls, "data"))[0])).toMatch(/^HTTP\/1.1 405 /);
    tls.resume();
    const ended = once(tls, "close");
    for (const listener of listeners) listener({ ...access, roles: [] });
    await ended;
  });
});
