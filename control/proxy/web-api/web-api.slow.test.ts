import { once } from "node:events";
import { request } from "node:https";
import type { Socket } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { AuthClient } from "../../../core/api/auth-client.ts";
import { startTestCluster, type TestCluster } from "../../../test/inside/open-cluster.ts";
import { oneTimeCode } from "../../../test/world/one-time-code.ts";

let cluster: TestCluster;
/** The auth service fails with a bug. */
let isBroken = false;
beforeAll(async () => {
  const authOfProxy = (auth: AuthClient): AuthClient => {
    const getInvite: AuthClient["getInvite"] = async (...asked) => {
      if (isBroken) throw new Error("a bug");
      return await auth.getInvite(...asked);
    };
    return Object.assign(Object.create(auth) as AuthClient, { getInvite });
  };
  cluster = await startTestCluster({ authOfProxy, proxy: { publicAddr: { host: "proxy.example.com", port: 443 } } });
});
afterAll(async () => {
  await cluster[Symbol.asyncDispose]();
});

interface Answer {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly text: string;
  json(): unknown;
}

async function call(path: string, options: { method?: string; body?: string; type?: string } = {}): Promise<Answer> {
  const { method = "GET", body, type = "application/json" } = options;
  const headers = body === undefined ? {} : { "content-type": type, "content-length": Buffer.byteLength(body) };
  const { port } = cluster.proxy.addresses.web;
  const sent = request({ host: "127.0.0.1", port, path, method, headers, ca: [...cluster.hostCaPem], servername: "localhost", agent: false });
  sent.end(body);
  const [response] = (await once(sent, "response")) as [import("node:http").IncomingMessage];
  let text = "";
  for await (const chunk of response) text += String(chunk);
  return { status: response.statusCode ?? 0, headers: response.headers, text, json: () => JSON.parse(text) };
}

const form = (fields: Record<string, string>) => ({
  method: "POST",
  body: new URLSearchParams(fields).toString(),
  type: "application/x-www-form-urlencoded",
});

async function invite(user: string): Promise<{ token: string; uri: string }> {
  const spec = { roles: ["access"] };
  await cluster.admin.putResource({ json: JSON.stringify({ kind: "user", version: "v2", metadata: { name: user }, spec }) });
  const { token } = await cluster.admin.createInvite({ user });
  return { token, uri: (await cluster.admin.getInvite({ token })).otpauthUri };
}

describe("the web API", () => {
  test.for(["/webapi/ping", "/v1/webapi/ping"])("%s says where everything is, with the port that was bound", async (path) => {
    const answer = await call(path);
    const web = `127.0.0.1:${cluster.proxy.addresses.web.port}`;
    expect(answer.status).toBe(200);
    expect(answer.json()).toMatchObject({
      cluster_name: "main",
      auth: { type: "local", second_factor: "otp" },
      proxy: { tls_routing_enabled: true, ssh: { listen_addr: web, public_addr: "proxy.example.com:443" } },
    });
  });

  test("find answers the same without how people sign in", async () => {
    expect((await call("/webapi/find")).json()).not.toHaveProperty("auth");
  });

  test.for([
    ["tls-host", /^-----BEGIN CERTIFICATE-----/],
    ["tls-user", /^-----BEGIN CERTIFICATE-----/],
    ["host", /^@cert-authority \*\.main ssh-ed25519 AAAA/],
    ["user", /^ssh-ed25519 AAAA\S+ main\n$/],
  ] as const)("exports the %s authority", async ([type, shape]) => {
    const answer = await call(`/webapi/auth/export?type=${type}`);
    expect(answer.status).toBe(200);
    expect(answer.text).toMatch(shape);
  });

  test.for(["/webapi/auth/export", "/webapi/auth/export?type=saml", "/webapi/auth/export?type=host&type=user"])(
    "refuses %s in JSON",
    async (path) => {
      const answer = await call(path);
      expect(answer.status).toBe(400);
      expect(answer.json()).toMatchObject({ error: { message: expect.any(String), code: "invalid" } });
    },
  );

  test.for([
    ["/webapi/nothing", "not_found"],
    ["/webapi/ping/github", "not_found"],
    ["/web/assets/none.js", "not_found"],
    ["/%ff", "invalid"],
  ] as const)("answers %s with an error in JSON", async ([path, code]) => {
    const answer = await call(path);
    expect(answer.status).toBe(code === "invalid" ? 400 : 404);
    expect(answer.json()).toMatchObject({ error: { message: expect.any(String), code } });
  });

  test.for([
    ["POST", "/v1/webapi/automaticupgrades/channel/default/version", "GET, HEAD"],
    ["PUT", "/webapi/automaticupgrades/channel/stable/cloud/critical", "GET, HEAD"],
    ["POST", "/webapi/ping?a=b", "GET, HEAD"],
    ["DELETE", "/web/invite/a.b", "GET, HEAD, POST"],
    ["OPTIONS", "/", "GET, HEAD"],
  ] as const)("%s %s is refused with the methods that are taken", async ([method, path, allowed]) => {
    const answer = await call(path, { method });
    expect([answer.status, answer.headers.allow]).toEqual([405, allowed]);
    expect(answer.json()).toMatchObject({ error: { code: "invalid", hint: `it supports ${allowed}` } });
  });

  test("shows people who come with a browser whose door it is and how to get in, and needs nothing from elsewhere", async () => {
    const { status, text, headers } = await call("/");
    expect(status).toBe(200);
    expect(headers["content-type"]).toBe("text/html; charset=utf-8");
    expect(headers["content-security-policy"]).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+'; img-src data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'$/,
    );
    expect(headers["cross-origin-opener-policy"]).toBe("same-origin");
    expect(text.replaceAll(/<[^>]*>/g, "")).toContain("tsh login --proxy=proxy.example.com:443 --user=…");
    expect(text).toContain(cluster.auth.caPin);
    expect(text).toContain("<title>main</title>");
    expect(text).toContain('<a href="/web">');
    expect(text).not.toMatch(/<script|src=|href="(?!data:,"|\/scripts\/install\.sh"|\/web")|url\(|style="/i);
  });

  test.for([
    ["GET", "/web/assets/none.js", 404],
    ["GET", "/webapi/v1/none", 404],
    ["POST", "/web/hosts", 405],
    ["GET", "/%ff", 400],
    ["GET", "/webapi/v1/hosts", 401],
    ["POST", "/webapi/v1/sessions", 400],
    ["GET", "/v1/webapi/users/invite/x", 500],
  ] as const)("%s %s has the headers of a page on its error", async ([method, path, status]) => {
    isBroken = status === 500;
    const answer = await call(path, { method }).finally(() => (isBroken = false));
    expect(answer.status).toBe(status);
    const page = (await call("/web/")).headers;
    const policy = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'";
    // Of the page alone: what it is, and what it may load.
    const { date: _, etag: _etag, vary: _vary, "content-type": _type, "content-length": _length, ...kept } = page;
    expect(Object.keys(kept)).toContain("permissions-policy");
    expect(answer.headers).toMatchObject({ ...kept, "cache-control": "no-store", "content-security-policy": policy });
  });

  test("refuses a body that is too long", async () => {
    const answer = await call("/v1/webapi/users/invite/x", { method: "POST", body: JSON.stringify({ password: "x".repeat(20_000) }) });
    expect(answer.status).toBe(429);
    expect(answer.json()).toMatchObject({ error: { code: "limit" } });
  });

  test("ends a connection whose request headers are too long", async () => {
    const tls = await openTls();
    tls.write(`GET / HTTP/1.1\r\nHost: x\r\nX: ${"a".repeat(40_000)}\r\n\r\n`);
    tls.resume();
    await new Promise((resolve) => tls.once("close", resolve));
    expect((await call("/webapi/ping")).status).toBe(200);
  });
});

async function openTls(): Promise<TLSSocket> {
  const tls = connectTls({
    socket: (await cluster.open()) as Socket,
    ca: [...cluster.hostCaPem],
    servername: "localhost",
    ALPNProtocols: ["http/1.1"],
  });
  tls.on("error", () => {});
  await once(tls, "secureConnect");
  return tls;
}

describe("an invite", () => {
  test("is a page that needs nothing from elsewhere", async () => {
    const { token, uri } = await invite("ivy");
    const { status, text, headers } = await call(`/web/invite/${token}`);
    expect(status).toBe(200);
    expect(text).toContain("ivy");
    expect(text).toContain("<svg");
    const secret = new URL(uri).searchParams.get("secret") ?? "none";
    expect(text.replaceAll(" ", "")).toContain(secret);
    expect(text).not.toMatch(/<script|src=|href="(?!data:,"|otpauth:)|url\(|style="/i);
    expect(headers["content-security-policy"]).toMatch(/^default-src 'none'; style-src 'sha256-/);
    expect(headers["referrer-policy"]).toBe("no-referrer");
    expect(headers["cache-control"]).toBe("no-store");
  });

  test("sets password and code once, and then says how to log in", async () => {
    const { token, uri } = await invite("eve");
    const path = `/web/invite/${token}`;
    const good = { password: "correct horse battery", repeat: "correct horse battery", code: oneTimeCode(uri) };
    const differing = await call(path, form({ ...good, repeat: "something else" }));
    expect(differing.status).toBe(400);
    expect(differing.text).toContain("The two passwords differ.");
    expect(differing.text).toContain("<form");
    const wrong = await call(path, form({ ...good, code: "000000" }));
    expect(wrong.status).toBeGreaterThanOrEqual(400);
    expect(wrong.text).toContain('role="alert"');
    const done = await call(path, form(good));
    expect(done.status).toBe(200);
    expect(done.text.replaceAll(/<[^>]*>/g, "")).toContain(`tsh login --proxy=proxy.example.com:443 --user=eve --ca-pin=${cluster.auth.caPin}`);
    const again = await call(path, form(good));
    expect(again.status).toBeGreaterThanOrEqual(400);
    expect(again.text).toContain("This link does not work");
    expect(cluster.lines.join("")).not.toContain(token);
  });

  test("has a twin in JSON", async () => {
    const { token, uri } = await invite("jay");
    const path = `/v1/webapi/users/invite/${token}`;
    expect((await call(path)).json()).toEqual({ user: "jay", otpauth_uri: uri });
    const body = JSON.stringify({ password: "correct horse battery", code: oneTimeCode(uri) });
    expect((await call(path, { method: "POST", body })).json()).toEqual({ user: "jay" });
    const again = await call(path, { method: "POST", body });
    expect(again.status).toBeGreaterThanOrEqual(400);
    expect(again.json()).toMatchObject({ error: { message: expect.any(String) } });
    const accepted = (await cluster.events("invite.accepted")).filter(({ user }) => user === "jay");
    expect(accepted).toMatchObject([{ "addr.remote": "127.0.0.1" }]);
  });

  test("that nobody made is refused in words", async () => {
    const { status, text } = await call("/web/invite/nobody-made-this");
    expect(status).toBeGreaterThanOrEqual(400);
    expect(text).toContain("This link does not work");
  });
});
