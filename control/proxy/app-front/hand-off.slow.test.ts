import { text } from "node:stream/consumers";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { until } from "../../../test/world/until.ts";
import { proxyHost } from "./testing/app-world.ts";
import { BrowserWorld, shop, type Taking, wiki } from "./testing/browser-world.ts";
import { navigation, pairsOf, query } from "./testing/site-calls.ts";

let site: BrowserWorld;
beforeAll(async () => {
  site = await BrowserWorld.open();
});
afterAll(async () => await site[Symbol.asyncDispose]());
beforeEach(() => site.reset());

describe("the hand-off", () => {
  test("leads a browser without a session to the proxy's page, and after it to the path that it asked for, in the user's name", async () => {
    const first = await site.call("/a?x=1", { headers: navigation });
    expect([first.status, first.headers.location]).toEqual([303, `https://${proxyHost}/web/launch/${wiki}?path=%2Fa%3Fx%3D1`]);
    const start = await site.call("/x-platform-auth/start?path=%2Fa%3Fx%3D1%23y&next=");
    expect(start.headers.location).toMatch(`https://${proxyHost}/web/launch/${wiki}?path=%2Fa%3Fx%3D1%23y&next=#platform-state=`);
    expect(start.headers["set-cookie"]).toEqual([expect.stringMatching(/; Path=\/; Secure; HttpOnly; SameSite=Strict; Max-Age=60$/)]);
    const state = start.headers.location?.split("#platform-state=")[1] ?? "";
    const page = await site.call("/x-platform-auth");
    expect([page.status, page.headers["content-security-policy"]]).toEqual([200, expect.stringMatching(/^default-src 'none'; script-src 'sha256-/)]);
    const opened = await site.session();
    const taken = await site.take({ body: { state, ...opened, path: "/a?x=1#y" }, cookie: pairsOf(start).join("; ") });
    expect([taken.status, JSON.parse(taken.text)]).toEqual([200, { location: "/a?x=1#y" }]);
    for (const cookie of (taken.headers["set-cookie"] ?? []).slice(1)) expect(cookie).toMatch(/; Path=\/; Secure; HttpOnly; SameSite=None$/);
    const cookie = [...pairsOf(taken), "theme=dark", ...pairsOf(start)].join("; ");
    const answer = await site.call("/a?x=1", { headers: { ...navigation, cookie } });
    expect([answer.status, answer.text]).toEqual([200, "hello"]);
    expect(site.requests).toMatchObject([{ url: "/a?x=1", headers: { cookie: "theme=dark", host: wiki } }]);
    const id = opened.session.split(".")[0];
    expect(site.world.reached).toMatchObject([
      { request: { sessionId: id, target: "wiki" }, user: { name: "ann", route: { kind: "app", name: "wiki" } } },
    ]);
  });

  test("goes on to the next of several applications, and skips hosts that are not applications", async () => {
    const { state, cookie } = await site.attempt();
    const next = ["evil.test", proxyHost, shop, wiki];
    const taken = await site.take({ body: { state, ...(await site.session()), path: "/b", next }, cookie });
    expect(JSON.parse(taken.text)).toEqual({
      location: `https://${proxyHost}/web/launch/${shop}?${query({ path: "/b", next: wiki })}`,
    });
  });

  test.for(["//evil.test", "https://evil.test", "/\\evil.test", "javascript:alert(1)", "/x-platform-logout"])("never leads to %s", async (path) => {
    const { state, cookie } = await site.attempt();
    expect(JSON.parse((await site.take({ body: { state, ...(await site.session()), path }, cookie })).text)).toEqual({ location: "/" });
  });

  test.for<
    readonly [what: string, change: (right: Taking & { readonly body: { state: string; session: string; subject: string } }) => Promise<Taking>]
  >([
    ["the state of another browser", async (right) => ({ ...right, body: { ...right.body, state: (await site.attempt()).state } })],
    ["no state", async (right) => ({ ...right, body: { ...right.body, state: "" } })],
    ["no cookie", async (right) => ({ ...right, cookie: "" })],
    ["another subject", async (right) => ({ ...right, body: { ...right.body, subject: (await site.session()).subject } })],
  ])("with %s is refused, ends the session and is recorded", async ([, change]) => {
    const { state, cookie } = await site.attempt();
    const right = { body: { state, ...(await site.session()) }, cookie };
    const before = (await site.world.cluster.events("auth")).length;
    const refused = await site.take(await change(right));
    expect([refused.status, JSON.parse(refused.text)]).toEqual([403, { error: expect.objectContaining({ code: "denied" }) }]);
    expect(pairsOf(refused).some((pair) => pair.startsWith("__Host-platform_app"))).toBe(false);
    const sid = right.body.session.split(".")[0];
    const recorded = (await site.world.cluster.events("auth")).slice(before);
    expect(recorded).toMatchObject([{ code: "T3007W", user: "ann", app_name: "wiki", sid }]);
    const again = await site.attempt();
    expect((await site.take({ body: { ...right.body, state: again.state }, cookie: again.cookie })).status).toBe(403);
  });

  test("can be taken once: a second attempt gets nothing, and the session ends", async () => {
    const { state, cookie } = await site.attempt();
    const opened = await site.session();
    const first = await site.take({ body: { state, ...opened }, cookie });
    const cookies = pairsOf(first).join("; ");
    expect((await site.call("/", { headers: { cookie: cookies } })).status).toBe(200);
    const before = (await site.world.cluster.events("auth")).length;
    expect((await site.take({ body: { state, ...opened }, cookie })).status).toBe(403);
    const recorded = (await site.world.cluster.events("auth")).slice(before);
    expect(recorded).toMatchObject([{ code: "T3007W", user: "ann", app_name: "wiki", sid: opened.session.split(".")[0] }]);
    await until("the session has ended", async () => (await site.call("/", { headers: { cookie: cookies } })).status === 401);
  });

  test("at the host name of another application is refused", async () => {
    const { state, cookie } = await site.attempt(shop);
    const opened = await site.session();
    const before = (await site.world.cluster.events("auth")).length;
    expect((await site.take({ body: { state, ...opened }, cookie, at: shop })).status).toBe(403);
    const recorded = (await site.world.cluster.events("auth")).slice(before);
    expect(recorded).toMatchObject([{ code: "T3007W", user: "ann", sid: opened.session.split(".")[0] }]);
  });

  test.for([
    ["another site", { origin: "https://evil.test" }],
    ["another application", { origin: `https://${shop}`, "sec-fetch-site": "same-site" }],
    ["a form", { "content-type": "application/x-www-form-urlencoded" }],
  ] as const)("by %s is refused", async ([, headers]) => {
    const { state, cookie } = await site.attempt();
    const refused = await site.take({ body: { state, ...(await site.session()) }, cookie, headers });
    expect(refused.status).toBeGreaterThanOrEqual(400);
    expect(refused.headers["set-cookie"]).toBeUndefined();
  });

  test("by another site, a form of it to begin or to end a session too, leaves an event with the origin and the application", async () => {
    const recorded = async () => (await site.world.cluster.events("auth")).filter(({ error }) => String(error).includes("https://forms.test"));
    const headers = { origin: "https://forms.test", "sec-fetch-site": "cross-site", "content-type": "text/plain" };
    for (const path of ["/x-platform-auth", "/x-platform-logout"]) expect((await site.call(path, { method: "POST", headers })).status).toBe(403);
    await until("both are recorded", async () => (await recorded()).length === 2);
    expect((await recorded()).map(({ app_name, error }) => [app_name, error]).toSorted()).toEqual(
      ["/x-platform-auth", "/x-platform-logout"].map((path) => ["wiki", `access denied: a page of "https://forms.test" may not send POST ${path}`]),
    );
  });

  test("without a body is refused at once", async () => {
    const socket = await site.world.connect(wiki, undefined, { ALPNProtocols: ["http/1.1"] });
    // Node's client would send a length.
    socket.write(`POST /x-platform-auth HTTP/1.1\r\nHost: ${wiki}\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n`);
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 400 /);
  });

  test("begins for users who may use the application, and for no other", async () => {
    const { status, body } = await site.bob("/app-sessions", { method: "POST", body: { host: wiki } });
    expect([status, body]).toEqual([403, { error: expect.objectContaining({ message: expect.stringContaining("your roles do not allow it") }) }]);
    expect((await site.ann("/app-sessions", { method: "POST", body: { host: proxyHost } })).status).toBe(404);
    expect((await site.ann(`/app-sites/${wiki}`)).body).toEqual({ start: `https://${wiki}/x-platform-auth/start`, required: [] });
  });
});
