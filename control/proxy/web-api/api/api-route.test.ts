import fastify, { type FastifyInstance, type InjectOptions } from "fastify";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import type { AuditFacts } from "../../../../core/audit/audit-events.ts";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import { createLog } from "../../../../core/log/log.ts";
import { authClientOf } from "../../../../test/inside/auth-client-of.ts";
import { bearerOf, formatCredential, newSessionCredential } from "../../../browser/session-credential.ts";
import { sessionCookie } from "../cookies.ts";
import { addErrors } from "../server/answer-errors.ts";
import { type Api, createApi, upgradesOf } from "./api.ts";
import { apiRoute } from "./api-route.ts";

const [alice, bob, gone] = [newSessionCredential(), newSessionCredential(), newSessionCredential()];
const client = authClientOf({});

let app: FastifyInstance;
let api: Api;
let bodiesSeen: unknown[];
let refusals: AuditFacts[];

beforeEach(async () => {
  bodiesSeen = [];
  refusals = [];
  app = fastify();
  addErrors(app, createLog({ level: "error", format: "text", write: () => {} }));
  api = createApi(
    app,
    {
      opened: () => {},
      find: async (credential, _address, isUnused = false) => {
        const user = Object.entries({ alice, bob }).find(([, one]) => one.id === credential.id && one.secret === credential.secret)?.[0];
        if (user === undefined) throw new PlatformError("unauthenticated", "this session has ended");
        const [roles, expires] = [["access"], new Date("2026-11-20T12:00:00Z")];
        const identity = { kind: "user", name: user, roles, traits: {}, principals: {}, cluster: "main", validBefore: expires } as const;
        return { credential, user, roles, expires, isUnused, identity };
      },
      clientOf: () => client,
    },
    { version: "1.2.3", audit: { emitRefusal: (facts) => void refusals.push(facts) } },
  );
  apiRoute(api, {
    method: "POST",
    path: "/webapi/v1/things/:name",
    summary: "Makes a thing.",
    schema: {
      params: z.object({ name: z.string().max(8) }),
      query: z.object({ times: z.coerce.number().int().max(9).optional() }),
      body: z.strictObject({ colour: z.enum(["red", "blue"]) }),
      answer: z.object({ by: z.string(), colour: z.string(), times: z.number().optional(), is_own: z.boolean() }),
    },
    handler: ({ browser, params, query, body, auth }) => {
      bodiesSeen.push(body);
      return { by: `${browser.user} ${params.name}`, colour: body.colour, times: query.times, is_own: auth === client };
    },
  });
  apiRoute(api, { method: "GET", path: "/webapi/v1/door", summary: "Is open.", public: true, schema: {}, handler: () => undefined });
  apiRoute(api, {
    method: "GET",
    path: "/webapi/v1/me",
    summary: "Needs the cookie only.",
    authentication: "session",
    schema: { answer: z.object({ user: z.string() }) },
    handler: ({ browser }) => ({ user: browser.user }),
  });
  await app.ready();
});
afterEach(() => app.close());

const cookieOf = (credential: typeof alice): string => `${sessionCookie}=${formatCredential(credential)}`;
const logged = (credential = alice): Record<string, string> => ({
  host: "proxy.test",
  cookie: cookieOf(credential),
  authorization: `Bearer ${bearerOf(credential)}`,
});

function make(headers: Record<string, string>, more: InjectOptions = {}) {
  return app.inject({ method: "POST", url: "/webapi/v1/things/box", payload: { colour: "red" }, ...more, headers });
}

describe("a route that declares nothing else", () => {
  test("serves the user of the cookie and its token", async () => {
    const answer = await make(logged(), { url: "/webapi/v1/things/box?times=3" });
    expect([answer.statusCode, answer.json()]).toEqual([200, { by: "alice box", colour: "red", times: 3, is_own: true }]);
  });

  test.for([
    ["without a cookie", { cookie: "" }, 401],
    ["with a cookie of another shape", { cookie: `${sessionCookie}=admin` }, 401],
    ["with two cookies of the name", { cookie: `${cookieOf(bob)}; ${cookieOf(alice)}` }, 401],
    ["with the cookie of a session that has ended", { cookie: cookieOf(gone), authorization: `Bearer ${bearerOf(gone)}` }, 401],
    ["with the id of a session and another secret", { cookie: cookieOf({ ...alice, secret: gone.secret }) }, 401],
    ["without a token", { authorization: "" }, 403],
    ["with the token of another session", { authorization: `Bearer ${bearerOf(bob)}` }, 403],
    ["with the cookie's value as the token", { authorization: `Bearer ${formatCredential(alice)}` }, 403],
    ["with the token in another scheme", { authorization: `Basic ${bearerOf(alice)}` }, 403],
    ["from a page of another site", { origin: "https://evil.test" }, 403],
    ["from the page of an application", { origin: "https://app.proxy.test", "sec-fetch-site": "same-site" }, 403],
    ["from a page without TLS", { origin: "http://proxy.test" }, 403],
    ["from a page without an origin", { origin: "null" }, 403],
    ["from another site that hides its origin", { "sec-fetch-site": "cross-site" }, 403],
  ] as const)("refuses a call %s, and reads no body", async ([, changed, status]) => {
    const answer = await make({ ...logged(), ...changed });
    expect(answer.statusCode).toBe(status);
    expect(answer.json()).toMatchObject({ error: { code: status === 401 ? "unauthenticated" : "denied" } });
    expect(bodiesSeen).toEqual([]);
    const broken = await make({ ...logged(), ...changed, "content-type": "application/json" }, { payload: "{" });
    expect(broken.statusCode).toBe(status);
  });

  test("that a page of another site calls leaves an event, and one that only reads does not", async () => {
    await make({ ...logged(), origin: "https://evil.test" }, { url: "/webapi/v1/things/box?secret=1" });
    const error = 'access denied: a page of "https://evil.test" may not send POST /webapi/v1/things/box';
    expect(refusals).toEqual([{ event: "auth", error, "addr.remote": "127.0.0.1" }]);
    await make({ ...logged(), origin: "https://evil.test" }, { method: "GET", url: "/webapi/v1/me" });
    await make({ ...logged(), authorization: "" });
    expect(refusals).toHaveLength(1);
  });

  test("serves pages of its own site", async () => {
    expect((await make({ ...logged(), origin: "https://proxy.test", "sec-fetch-site": "same-origin" })).statusCode).toBe(200);
  });

  test.for([
    [{ payload: { colour: "green" } }, /the body: colour/],
    [{ payload: { colour: "red", more: 1 } }, /the body/],
    [{ payload: "colour=red", headers: { "content-type": "text/plain" } }, /Content-Type/],
    [{ url: "/webapi/v1/things/much-too-long" }, /the path: name/],
    [{ url: "/webapi/v1/things/box?times=10" }, /the query: times/],
    [{ url: "/webapi/v1/things/box?times=2&times=3" }, /the query: times/],
  ] as const)("refuses %o with the field", async ([more, message]) => {
    const headers = { ...logged(), ...("headers" in more ? more.headers : {}) };
    const answer = await make(headers, more as InjectOptions);
    expect(answer.statusCode).toBe(400);
    expect(answer.json().error.message).toMatch(message);
  });
});

test("a route of the API that is added in any other way stops the start", () => {
  const bare = fastify();
  createApi(bare, api.sessions, { version: "1", audit: api.audit });
  for (const url of ["/webapi/v1/planted", "/webapi/v1/:any", "/webapi/v1/*", "/WEBAPI/v1/x"]) {
    expect(() => bare.get(url, () => "open")).toThrow(/apiRoute/);
  }
  expect(() => bare.get("/webapi/ping", () => "open")).not.toThrow();
});

test("a WebSocket of the API that is added in any other way stops the start", () => {
  const bare = createApi(fastify(), api.sessions, { version: "1", audit: api.audit });
  const take = (): void => {};
  for (const path of ["/webapi/v1/planted", "/WEBAPI/v1/x"]) expect(() => upgradesOf(bare, new Map([[path, take]]))).toThrow(/socketRoute/);
  bare.sockets.set("/webapi/v1/own", take);
  expect([...upgradesOf(bare, new Map([["/webapi/agents", take]])).keys()]).toEqual(["/webapi/agents", "/webapi/v1/own"]);
});

test("a public route is open, but not to pages of other sites", async () => {
  expect((await app.inject({ url: "/webapi/v1/door" })).statusCode).toBe(204);
  expect((await app.inject({ url: "/webapi/v1/door", headers: { "sec-fetch-site": "cross-site" } })).statusCode).toBe(403);
});

test("a route of the session needs the cookie, and no token", async () => {
  expect((await app.inject({ url: "/webapi/v1/me" })).statusCode).toBe(401);
  const { authorization: _, ...headers } = logged(bob);
  expect((await app.inject({ url: "/webapi/v1/me", headers })).json()).toEqual({ user: "bob" });
});

test("the document has every route with its parameters, schemas and authentication", async () => {
  const document = (await app.inject({ url: "/webapi/v1/openapi.json" })).json();
  expect(document).toMatchObject({ openapi: "3.1.0", info: { version: "1.2.3" } });
  expect(Object.keys(document.paths)).toEqual(["/webapi/v1/things/{name}", "/webapi/v1/door", "/webapi/v1/me"]);
  expect(document.paths["/webapi/v1/things/{name}"].post).toMatchObject({
    security: [{ session: [], bearer: [] }],
    parameters: [
      { name: "name", in: "path", required: true, schema: { type: "string", maxLength: 8 } },
      { name: "times", in: "query", required: false },
    ],
    requestBody: { content: { "application/json": { schema: { properties: { colour: { enum: ["red", "blue"] } }, additionalProperties: false } } } },
    responses: { 200: { content: { "application/json": { schema: { type: "object" } } } }, 401: {}, 403: {} },
  });
  expect(document.paths["/webapi/v1/door"].get).toMatchObject({ security: [], responses: { 204: {} } });
});
