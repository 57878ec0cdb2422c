import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestCluster, type TestCluster } from "../../../test/inside/open-cluster.ts";
import { callWeb, openBrowser, type WebCall } from "../../../test/inside/web-browser.ts";
import { dialTerminal } from "../../../test/inside/web-terminal.ts";

let cluster: TestCluster;

beforeAll(async () => {
  cluster = await startTestCluster();
});
afterAll(() => cluster[Symbol.asyncDispose]());

const call = (path: string, sent: WebCall = {}) => callWeb(cluster, path, sent);

test("a session: login, its token again, the list, and log out", async () => {
  const alice = await openBrowser(cluster, "alice", ["access"]);
  const { cookie, token, setCookies } = alice;
  expect(setCookies).toEqual([
    expect.stringMatching(/^__Host-platform_session=[0-9a-f-]{36}\.[\w-]{43}; Path=\/; Secure; HttpOnly; SameSite=Strict; Max-Age=\d+$/),
  ]);
  expect((await call("/webapi/v1/session", { headers: { cookie } })).body).toMatchObject({ token, user: "alice", roles: ["access"] });
  expect((await alice("/sessions")).body).toMatchObject({ sessions: [{ is_current: true, address: "127.0.0.1", agent: "" }] });
  const left = await alice("/session", { method: "DELETE" });
  expect([left.status, left.headers["set-cookie"]]).toEqual([204, [expect.stringMatching(/^__Host-platform_session=; .*Max-Age=0$/)]]);
  expect((await call("/webapi/v1/session", { headers: { cookie } })).status).toBe(401);
  expect((await alice("/sessions")).status).toBe(401);
});

describe("a login", () => {
  const body = { user: "alice", password: "wrong", code: "123456" };

  test("with a wrong password sets no cookie", async () => {
    const answer = await call("/webapi/v1/sessions", { method: "POST", body });
    expect([answer.status, answer.headers["set-cookie"]]).toEqual([401, undefined]);
  });

  test.for([
    ["a form of another site", { origin: "https://evil.test", "sec-fetch-site": "cross-site" }],
    ["a page of an application", { origin: "https://app.localhost", "sec-fetch-site": "same-site" }],
  ] as const)("by %s is refused before its password is looked at", async ([, headers]) => {
    const before = (await cluster.events("user.login")).length;
    expect((await call("/webapi/v1/sessions", { method: "POST", body, headers })).status).toBe(403);
    expect((await cluster.events("user.login")).length).toBe(before);
    const error = `access denied: a page of "${headers.origin}" may not send POST /webapi/v1/sessions`;
    await expect.poll(() => cluster.events("auth")).toContainEqual(expect.objectContaining({ error }));
  });

  test("by an HTML form is refused: it is not JSON", async () => {
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    expect((await call("/webapi/v1/sessions", { method: "POST", body, headers })).status).toBe(400);
  });
});

describe("every route of the API", () => {
  test("refuses the token of another session", async () => {
    const other = await openBrowser(cluster, "mallory", ["access"]);
    const mine = await openBrowser(cluster, "carol", ["access"]);
    const { paths } = (await call("/webapi/v1/openapi.json")).body as { paths: Record<string, Record<string, { security: { bearer?: unknown }[] }>> };
    const token = String((await other("/session")).body.token);
    const byCookieAlone = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods)
        .filter(([, { security }]) => security.length > 0 && security[0]?.bearer === undefined)
        .map(([method]) => `${method} ${path}`),
    );
    for (const [path, methods] of Object.entries(paths)) {
      for (const [method, { security }] of Object.entries(methods)) {
        if (security[0]?.bearer === undefined) continue;
        const plain = path.slice("/webapi/v1".length).replaceAll(/\{[a-z]+\}/gi, "x");
        const answer = await mine(plain, { method: method.toUpperCase(), headers: { authorization: `Bearer ${token}` } });
        expect([method, path, answer.status]).toEqual([method, path, 403]);
      }
    }
    expect((await mine("/sessions")).status).toBe(200);
    // A page of this site gets its token by the first, and a link of it starts a download by the second. Neither changes anything.
    expect(byCookieAlone.toSorted()).toEqual(["get /webapi/v1/files/content", "get /webapi/v1/session"]);
  });

  test("that is served is declared, and needs a session unless it says otherwise", async () => {
    const { paths } = (await call("/webapi/v1/openapi.json")).body as { paths: Record<string, Record<string, { security: unknown[] }>> };
    const open: string[] = [];
    for (const [path, methods] of Object.entries(paths)) {
      for (const [method, { security }] of Object.entries(methods)) {
        const plain = path.replaceAll(/\{[a-z]+\}/gi, "x");
        const [stranger, foreign] = [
          await call(plain, { method: method.toUpperCase() }),
          await call(plain, {
            method: method.toUpperCase(),
            headers: { cookie: `__Host-platform_session=${crypto.randomUUID()}.${"A".repeat(43)}` },
          }),
        ];
        if (security.length === 0) open.push(`${method} ${path}`);
        else expect([path, stranger.status, foreign.status]).toEqual([path, 401, 401]);
      }
    }
    // Before a login: by a passkey the first asks for a challenge, and the second sends what answers it, or password and code.
    expect(open.toSorted()).toEqual(["post /webapi/v1/passkey-logins", "post /webapi/v1/sessions"]);
  });
});

describe("every WebSocket of the API", () => {
  const site = (): string => `https://localhost:${cluster.proxy.addresses.web.port}`;

  async function webSockets(): Promise<readonly string[]> {
    const { paths } = (await call("/webapi/v1/openapi.json")).body as { paths: Record<string, Record<string, { "x-websocket"?: boolean }>> };
    return Object.keys(paths).filter((path) => Object.values(paths[path] ?? {}).some((operation) => operation["x-websocket"] === true));
  }

  test("is declared", async () => {
    expect((await webSockets()).toSorted()).toEqual(["/webapi/v1/files/upload", "/webapi/v1/terminal"]);
  });

  test("needs a session and a page of this site before the upgrade", async () => {
    const { cookie } = await openBrowser(cluster, "dora", ["access"]);
    const foreign = `__Host-platform_session=${crypto.randomUUID()}.${"A".repeat(43)}`;
    for (const path of await webSockets()) {
      const dial = async (facts: { cookie?: string; origin?: string }) => await dialTerminal(cluster, { path, ...facts });
      expect([path, await dial({ origin: site() })]).toEqual([path, 401]);
      expect([path, await dial({ origin: site(), cookie: foreign })]).toEqual([path, 401]);
      for (const origin of ["https://evil.test", site().replace("localhost", "app.localhost"), site().replace("https", "http")]) {
        expect([path, origin, await dial({ cookie, origin })]).toEqual([path, origin, 403]);
      }
      expect([path, await dial({ cookie })]).toEqual([path, 403]);
    }
  });

  test("ends by a first message with the token of another user, or with none", async () => {
    const [mine, other] = await Promise.all(["eve", "frank"].map((name) => openBrowser(cluster, name, ["access"])));
    for (const path of await webSockets()) {
      for (const first of [{ token: other?.token }, {}]) {
        const socket = await dialTerminal(cluster, { path, cookie: mine?.cookie, origin: site() });
        if (typeof socket === "number") throw new Error(`${path} was refused with ${socket}`);
        const [message, closed] = [once(socket, "message"), once(socket, "close")];
        socket.send(JSON.stringify(first));
        const [data] = (await message) as [Buffer];
        expect([path, JSON.parse(data.toString()), (await closed)[0]]).toMatchObject([path, { type: "error", error: { code: "denied" } }, 1008]);
      }
    }
  });
});
