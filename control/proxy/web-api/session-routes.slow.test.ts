import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { enrolUser, type TestUser } from "../../../test/inside/enrol-user.ts";
import { startTestCluster, type TestCluster } from "../../../test/inside/open-cluster.ts";
import { openBrowser } from "../../../test/inside/web-browser.ts";
import { codeAt } from "../../../test/world/one-time-code.ts";

let cluster: TestCluster;
let alice: TestUser;

beforeAll(async () => {
  cluster = await startTestCluster();
  alice = await enrolUser({ admin: cluster.admin, client: cluster.admin }, { name: "alice", roles: ["access"], logins: ["root"] }, new Date());
});
afterAll(() => cluster[Symbol.asyncDispose]());

interface Answer {
  readonly status: number;
  readonly cookies: readonly string[];
  readonly body: Record<string, unknown>;
}

type Sent = { readonly method?: string; readonly body?: unknown; readonly headers?: Record<string, string> };

async function call(path: string, { method = "GET", body, headers = {} }: Sent = {}): Promise<Answer> {
  const text = body === undefined ? undefined : JSON.stringify(body);
  const sent = request({
    host: "127.0.0.1",
    port: cluster.proxy.addresses.web.port,
    path,
    method,
    headers: { ...(text !== undefined && { "content-type": "application/json", "content-length": Buffer.byteLength(text) }), ...headers },
    ca: [...cluster.hostCaPem],
    servername: "localhost",
    agent: false,
  });
  sent.end(text);
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  let received = "";
  for await (const chunk of response) received += String(chunk);
  const cookies = response.headers["set-cookie"] ?? [];
  return { status: response.statusCode ?? 0, cookies, body: received === "" ? {} : (JSON.parse(received) as Record<string, unknown>) };
}

interface Session {
  readonly cookie: string;
  readonly token: string;
  readonly headers: Record<string, string>;
}

/** Once: the code of the next step is good already, and there is none after it. */
async function logIn(earlier: Record<string, string> = {}): Promise<Session> {
  const { user, password } = { user: alice.name, password: alice.password };
  const code = codeAt(alice.otpauthUri, new Date(Date.now() + 30_000));
  const { status, cookies, body } = await call("/webapi/v1/sessions", { method: "POST", body: { user, password, code }, headers: earlier });
  expect(status).toBe(200);
  const [cookie = ""] = (cookies[0] ?? "").split(";");
  expect(cookies).toEqual([
    expect.stringMatching(/^__Host-platform_session=[0-9a-f-]{36}\.[\w-]{43}; Path=\/; Secure; HttpOnly; SameSite=Strict; Max-Age=\d+$/),
  ]);
  const token = String(body.token);
  return { cookie, token, headers: { cookie, authorization: `Bearer ${token}` } };
}

test("a session: login, its token again, the list, and log out", async () => {
  const { cookie, token, headers } = await logIn();
  expect((await call("/webapi/v1/session", { headers: { cookie } })).body).toMatchObject({ token, user: "alice", roles: ["access"] });
  expect((await call("/webapi/v1/sessions", { headers })).body).toMatchObject({ sessions: [{ is_current: true, address: "127.0.0.1", agent: "" }] });
  const left = await call("/webapi/v1/session", { method: "DELETE", headers });
  expect([left.status, left.cookies]).toEqual([204, [expect.stringMatching(/^__Host-platform_session=; .*Max-Age=0$/)]]);
  expect((await call("/webapi/v1/session", { headers: { cookie } })).status).toBe(401);
  expect((await call("/webapi/v1/sessions", { headers })).status).toBe(401);
});

describe("a login", () => {
  const body = { user: "alice", password: "wrong", code: "123456" };

  test("with a wrong password sets no cookie", async () => {
    const answer = await call("/webapi/v1/sessions", { method: "POST", body });
    expect([answer.status, answer.cookies]).toEqual([401, []]);
  });

  test.for([
    ["a form of another site", { origin: "https://evil.test", "sec-fetch-site": "cross-site" }],
    ["a page of an application", { origin: "https://app.localhost", "sec-fetch-site": "same-site" }],
  ] as const)("by %s is refused before its password is looked at", async ([, headers]) => {
    const before = (await cluster.events("user.login")).length;
    expect((await call("/webapi/v1/sessions", { method: "POST", body, headers })).status).toBe(403);
    expect((await cluster.events("user.login")).length).toBe(before);
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
    for (const [path, methods] of Object.entries(paths)) {
      for (const [method, { security }] of Object.entries(methods)) {
        if (security[0]?.bearer === undefined) continue;
        const plain = path.slice("/webapi/v1".length).replaceAll(/\{[a-z]+\}/gi, "x");
        const answer = await mine(plain, { method: method.toUpperCase(), headers: { authorization: `Bearer ${token}` } });
        expect([method, path, answer.status]).toEqual([method, path, 403]);
      }
    }
    expect((await mine("/sessions")).status).toBe(200);
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
    expect(open).toEqual(["post /webapi/v1/sessions"]);
  });
});
