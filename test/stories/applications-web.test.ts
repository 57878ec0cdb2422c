import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createLocalJWKSet, decodeProtectedHeader, jwtVerify } from "jose";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { WebUpstream } from "../../agent/app/testing/web-upstream.ts";
import type { AppBrowser } from "../world/app-browser.ts";
import { answerTo, ask, askRaw, beginRequest, connectAs, fieldValues, openSocket, type Visitor, webSocketHeaders } from "../world/app-client.ts";
import type { Cluster } from "../world/cluster.ts";
import type { Agent as AppAgent } from "../world/cluster-agent.ts";
import { streamGrowth, watchMemory } from "../world/peak-memory.ts";
import { program, run } from "../world/program.ts";
import { putRole } from "../world/put-role.ts";
import { step } from "../world/rotations.ts";
import { long, rounds } from "../world/rounds.ts";
import { openSocketApp, type SocketApp } from "../world/socket-app.ts";
import { until } from "../world/until.ts";
import { echoOf } from "../world/web-socket-echo.ts";
import { everyApp, openWiki } from "../world/wiki-world.ts";

const isRoot = process.getuid?.() === 0;
const wiki = "wiki.apps.test";

/** alice comes with a certificate, carol with a browser; both are at the web port of the real executable. */
describe("web applications", () => {
  let cluster: Cluster;
  let app: SocketApp;
  let upstream: WebUpstream;
  let agent: AppAgent;
  let alice: Visitor;
  let site: Visitor;
  let browser: AppBrowser;
  let carol: Visitor;
  /** The application's answer; beforeEach sets the usual one. */
  let serve: (request: IncomingMessage, response: ServerResponse) => void;

  beforeAll(async () => {
    app = await openSocketApp((request, response) => serve(request, response));
    ({ upstream } = app);
    ({ cluster, agent, alice, site, browser, carol } = await openWiki(upstream.uri));
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
    await upstream?.[Symbol.asyncDispose]();
  });
  beforeEach(() => {
    serve = (_request, response) => void response.end("hello");
    upstream.seen.splice(0);
  });

  test("the user's token verifies by the published keys, before, during and after their rotation", async () => {
    const keys = async () => JSON.parse((await ask(site, { path: "/.well-known/jwks.json" })).text) as { keys: { kid: string }[] };
    const read = async (token: string) =>
      await jwtVerify(token, createLocalJWKSet(await keys()), { issuer: "test.cluster", audience: upstream.uri, algorithms: ["ES256"] });
    const next = async (visitor = alice): Promise<string> => {
      await ask(visitor);
      return upstream.values("platform-jwt-assertion")[0] ?? "";
    };
    const before = await next();
    const { payload, protectedHeader } = await read(before);
    expect(payload).toMatchObject({ sub: "alice", roles: ["apps"], traits: { logins: ["root", "ubuntu"] } });
    expect((await read(await next(carol))).payload.sub).toBe("carol");
    expect((payload.exp ?? 0) - (payload.iat ?? 0)).toBeLessThanOrEqual(300);
    await step(cluster, "jwt", "init");
    await until("both keys are published", async () => (await keys()).keys.length === 2);
    expect((await read(before)).payload.sub).toBe("alice");
    await step(cluster, "jwt", "update_clients");
    const after = await until("a token of the new key", async () => {
      const token = await next();
      return decodeProtectedHeader(token).kid !== protectedHeader.kid && token;
    });
    for (const token of [before, after]) expect((await read(token)).payload.sub).toBe("alice");
    await step(cluster, "jwt", "update_servers");
    await step(cluster, "jwt", "standby");
    await until("the old key is gone", async () => (await keys()).keys.length === 1);
    await expect(read(before)).rejects.toThrow(/no applicable key/);
    expect((await read(after)).payload.sub).toBe("alice");
  });

  test.for(["GET", "WebSocket"])("of what a client writes in the platform's name, nothing reaches the application by %s", async (kind) => {
    const forged = ["Platform-Jwt-Assertion: forged", "platform_jwt_assertion: forged", "X_Forwarded_For: 6.6.6.6", "X-Forwarded-User: forged"];
    const plain = ["Connection: close, Platform-Jwt-Assertion, X-Forwarded-For"];
    const key = webSocketHeaders["sec-websocket-key"];
    const asked = ["Connection: Upgrade, Platform-Jwt-Assertion", "Upgrade: websocket", `Sec-WebSocket-Key: ${key}`];
    const own = kind === "GET" ? ["GET / HTTP/1.1", ...plain] : ["GET /no HTTP/1.1", "Sec-WebSocket-Version: 13", ...asked];
    const [line = "", ...rest] = own;
    for (const visitor of [alice, carol]) {
      await askRaw(visitor, [line, `Host: ${wiki}`, ...rest, ...forged]);
      const { raw } = upstream.seen.at(-1) ?? { raw: [] };
      expect(raw.join("\n")).not.toMatch(/forged|6\.6\.6\.6|__Host-/i);
      expect(fieldValues(raw, "platform-jwt-assertion")).toEqual([expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/)]);
      expect(fieldValues(raw, "x-forwarded-for")).toEqual(["127.0.0.1"]);
    }
  });

  test.for<readonly [fault: string, lines: readonly string[]]>([
    ["two hosts", ["GET / HTTP/1.1", `Host: ${wiki}`, "Host: plain.apps.test"]],
    ["another host in the request line", ["GET http://plain.apps.test/ HTTP/1.1", `Host: ${wiki}`]],
    ["two lengths", ["POST / HTTP/1.1", `Host: ${wiki}`, "Content-Length: 5", "Transfer-Encoding: chunked"]],
  ])("a request with %s is refused, and nothing reaches the application", async ([, lines]) => {
    for (const visitor of [alice, carol]) expect(await askRaw(visitor, lines)).toMatch(/^HTTP\/1\.1 400 /);
    expect(upstream.seen).toEqual([]);
  });

  test("a WebSocket echoes; pages of other sites open none unless they are listed, and the application may refuse it", async () => {
    const echoed = async (origin?: string): Promise<string> => await echoOf(carol, "/ws", origin);
    for (const origin of [undefined, `https://${wiki}:${site.port}`, "https://one.test"]) expect(await echoed(origin)).toBe("ping");
    for (const origin of ["https://evil.test", `https://plain.apps.test:${site.port}`]) expect(await echoed(origin)).toBe("refused");
    const refused = await ask(carol, { path: "/other", headers: webSocketHeaders });
    expect([refused.status, refused.text]).toEqual([403, "no"]);
  });

  test("a WebSocket that the application refused ends the connection on both sides: what comes after it on the same one goes nowhere", async () => {
    const asked = Object.entries(webSocketHeaders).map(([name, value]) => `${name}: ${value}`);
    for (const visitor of [alice, carol]) {
      upstream.seen.splice(0);
      const socket = await connectAs(visitor);
      const cookie = visitor.cookie === undefined ? [] : [`Cookie: ${visitor.cookie}`];
      const lines = (path: string, more: readonly string[]): string =>
        [`GET ${path} HTTP/1.1`, `Host: ${wiki}`, ...cookie, ...more, "", ""].join("\r\n");
      socket.write(lines("/no", asked) + lines("/after", []));
      const text = Buffer.concat((await socket.toArray()) as Buffer[]).toString();
      expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 403"]);
      await until("the connection to the application has ended", () => app.refusing?.destroyed === true);
      expect((await ask(visitor, { path: "/other" })).status).toBe(200);
      expect([upstream.seen.map(({ url }) => url), Buffer.concat(app.afterRefusal).toString()]).toEqual([["/no", "/other"], ""]);
    }
  });

  test("an event arrives before the next one is written, however long that takes", { timeout: 1_500_000 }, async () => {
    const { promise: stream, resolve } = Promise.withResolvers<ServerResponse>();
    serve = (_request, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
      resolve(response);
    };
    const begun = await beginRequest(carol, { path: "/events" });
    begun.end();
    const [response] = (await once(begun, "response")) as [IncomingMessage];
    for (const event of ["data: 1\n\n", "data: 2\n\n"]) {
      // Longer than any usual time limit of a request.
      if (long) await sleep(600_000);
      const begin = performance.now();
      (await stream).write(event);
      expect(String((await once(response, "data"))[0])).toBe(event);
      const took = performance.now() - begin;
      process.stdout.write(`an event arrived after ${Math.round(took)} ms\n`);
      if (long) expect(took).toBeLessThan(200);
    }
    response.destroy();
    await until("the application learns that its reader has gone", async () => (await stream).destroyed);
  });

  test("a long upload arrives whole, and neither the proxy nor the agent keeps it", { timeout: 900_000 }, async () => {
    serve = (request, response) => {
      const hash = createHash("sha256");
      request.pipe(hash).on("finish", () => response.end(hash.digest("hex")));
    };
    const hash = createHash("sha256");
    const block = randomBytes(1024 * 1024);
    const pids = isRoot ? [cluster.control.pid, agent.service.pid] : [];
    const watched = await Promise.all(pids.map(watchMemory));
    const begun = await beginRequest(carol, { method: "POST", path: "/up" });
    const answer = answerTo(begun);
    for (let at = 0; at < rounds(2_048, 128); at += 1) {
      const chunk = Buffer.concat([Buffer.from(String(at)), block]);
      hash.update(chunk);
      if (!begun.write(chunk)) await once(begun, "drain");
      // More than five minutes in all.
      if (long) await sleep(150);
    }
    begun.end();
    expect(await answer).toMatchObject({ status: 200, text: hash.digest("hex") });
    for (const memory of watched) expect(await memory.growth()).toBeLessThan(streamGrowth);
  });

  test("redirects, and fields with several values, are as the settings have them; fields of the platform cannot be set", async () => {
    serve = (_request, response) => void response.writeHead(302, { location: "http://inside.test:8080/a?b=1" }).end();
    expect((await ask(alice)).headers.location).toBe(`https://${wiki}:${site.port}/a?b=1`);
    expect(upstream.values("x-login")).toEqual(["root", "ubuntu"]);
    const spec = { uri: upstream.uri, rewrite: { headers: ["X-Forwarded-For: 1.1.1.1"] } };
    const app = JSON.stringify({ kind: "app", version: "v3", metadata: { name: "bad" }, spec });
    const refused = await cluster.tctl(["create", "-f", "-"], { input: app });
    expect([refused.status, refused.stderr]).toEqual([2, expect.stringMatching(/X-Forwarded-For, which only the platform sets/)]);
    const file = join(cluster.dir, "reserved.yaml");
    const lines = (await readFile(join(agent.dir, "platform.yaml"), "utf8")).replace("X-Login:", "X-Forwarded-For:").split("\n");
    await writeFile(file, lines.join("\n"), { mode: 0o600 });
    const checked = await run(program("platform"), ["start", "--check", "--config", file]);
    expect([checked.status, checked.stderr]).toEqual([
      2,
      expect.stringContaining(`${file}:${lines.findIndex((line) => line.includes("rewrite:")) + 1}`),
    ]);
  });

  test("without a session a page leads to the login, a script gets 401, and a pre-flight the application's policy", async () => {
    const stranger = { ...carol, cookie: undefined };
    const launch = `https://127.0.0.1:${site.port}/web/launch/${wiki}?path=%2Fa`;
    const page = await ask(stranger, { path: "/a", headers: { "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" } });
    expect([page.status, page.headers.location]).toEqual([303, launch]);
    const script = await ask(stranger, { path: "/a", headers: { "sec-fetch-mode": "cors" } });
    expect([script.status, JSON.parse(script.text)]).toMatchObject([401, { launch_url: launch }]);
    const preflight = async (host: string) =>
      await ask({ ...stranger, host }, { method: "OPTIONS", headers: { origin: "https://one.test", "access-control-request-method": "PUT" } });
    const allowed = await preflight(wiki);
    expect([allowed.status, allowed.headers]).toMatchObject([204, { "access-control-allow-origin": "https://one.test" }]);
    const [without, unknown] = [await preflight("plain.apps.test"), await preflight("nothing.apps.test")];
    expect([without.status, unknown.status]).toEqual([401, 401]);
    expect(JSON.parse(without.text).error).toEqual(JSON.parse(unknown.text).error);
    expect(upstream.seen).toEqual([]);
  });

  test("an application of the cluster is served without a restart; the agent's policy decides about its address", async () => {
    const metadata = (name: string) => ({ name, labels: { team: "stock" } });
    for (const [name, uri] of [
      ["stock", upstream.uri],
      ["cloud", "http://169.254.169.254"],
    ] as const) {
      const app = JSON.stringify({ kind: "app", version: "v3", metadata: metadata(name), spec: { uri } });
      expect(await cluster.tctl(["create", "-f", "-"], { input: app })).toMatchObject({ status: 0 });
    }
    const stock = await until("it is offered", async () => await browser.open("stock.apps.test"));
    expect(await until("it is served", async () => (await ask(stock)).status === 200)).toBe(true);
    const cloud = await until("the other is offered", async () => await browser.open("cloud.apps.test"));
    const refused = await until("the agent answers", async () => {
      const answer = await ask(cloud);
      return answer.text.includes("policy") && answer;
    });
    expect(refused.status).toBe(403);
  });

  test("a lock and a lost role refuse the next request and cut open WebSockets, and so does a log-out", async () => {
    const cut = async (visitors: readonly Visitor[], act: () => Promise<unknown>, status: number): Promise<void> => {
      const sockets = await Promise.all(visitors.map(async (visitor) => await openSocket(visitor, "/ws")));
      const closed = sockets.map(async (socket) => await once(socket, "close"));
      const begin = performance.now();
      await act();
      await Promise.all(closed);
      const cutMs = performance.now() - begin;
      await until("the next request is refused", async () => (await ask(carol)).status === status);
      const refusedMs = performance.now() - begin;
      process.stdout.write(`WebSockets were cut after ${Math.round(cutMs)} ms, requests refused after ${Math.round(refusedMs)} ms\n`);
      if (long) expect(Math.max(cutMs, refusedMs)).toBeLessThan(5_000);
    };
    const isServed = async (): Promise<boolean> => (await ask(carol)).status === 200 && (await ask(alice)).status === 200;
    await cut([carol, alice], async () => await cluster.admin("lock", "--role=apps", "--message=gone"), 403);
    for (const name of (await cluster.admin("get", "lock", "--format=names")).split("\n").filter(Boolean)) await cluster.admin("rm", `lock/${name}`);
    await until("both are served again", isServed);
    await cut([carol, alice], async () => await putRole(cluster, "apps", { allow: { app_labels: { env: "none" } } }), 403);
    await putRole(cluster, "apps", everyApp);
    await until("both are served again", isServed);
    await cut([carol], async () => expect((await browser.call("/session", { method: "DELETE" })).status).toBe(204), 401);
    expect((await ask(alice)).status).toBe(200);
  });
});
