import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type CodedBrowser, openCodedBrowser, stillTime } from "../../../test/inside/coded-browser.ts";
import { BrowserWorld, shop, wiki } from "./testing/browser-world.ts";

/* A browser at an application where a role demands a code for each session. */

const now = stillTime();
const allow = { app_labels: { env: "test" } };
let site: BrowserWorld;

beforeAll(async () => {
  site = await BrowserWorld.open({ now: () => now });
  await site.world.cluster.putRole("careful", { allow, options: { require_session_mfa: true } });
});
afterAll(async () => await site[Symbol.asyncDispose]());
beforeEach(() => site.reset());

const person = async (roles = ["careful"]): Promise<CodedBrowser> => await openCodedBrowser(site.world.cluster, now, roles);
const open = async ({ browser }: CodedBrowser, confirmation?: string) =>
  await browser("/app-sessions", { method: "POST", body: { host: wiki, ...(confirmation !== undefined && { confirmation }) } });
const page = { "sec-fetch-mode": "navigate", "sec-fetch-dest": "document", accept: "text/html" };

describe("where a role demands a code for each session", () => {
  test("a session of an application begins with a code alone; the agent sees the mark on each connection, and the code opens no second one", async () => {
    const ann = await person();
    expect(await open(ann)).toMatchObject({ status: 403, body: { error: { code: "mfa_required" } } });
    const { confirmation } = await ann.confirm({ type: "app", host: wiki });
    const { state, cookie } = await site.attempt();
    const opened = await open(ann, confirmation);
    expect(opened.status).toBe(200);
    const { session, subject } = opened.body;
    const taken = await site.take({ body: { state, session, subject }, cookie });
    const cookies = site.cookiesOf(taken);
    expect(await site.call("/", { headers: { cookie: cookies } })).toMatchObject({ status: 200, text: "hello" });
    for (const { socket } of site.requests) socket.destroy();
    expect((await site.call("/", { headers: { cookie: cookies } })).status).toBe(200);
    expect(site.world.reached.length).toBe(2);
    for (const { user } of site.world.reached) {
      expect(user).toMatchObject({ name: ann.name, mfa: { device: "otp", kind: "app", name: "wiki" }, sourceIp: "127.0.0.1" });
    }
    expect(await open(ann, confirmation)).toMatchObject({ status: 403, body: { error: { code: "mfa_required" } } });
    expect(await open(await person(), confirmation)).toMatchObject({ status: 403, body: { error: { code: "mfa_required" } } });
  });

  test("a code for something else opens no session of an application, and an unknown host name none", async () => {
    const [bob, carol] = [await person(), await person()];
    expect((await bob.confirm({ type: "kube", cluster: "wiki" })).status).toBe(404);
    const { confirmation } = await bob.confirm({ type: "app", host: shop });
    expect(await open(bob, confirmation)).toMatchObject({ status: 403, body: { error: { code: "mfa_required" } } });
    expect((await carol.confirm({ type: "app", host: "nothing.example.test" })).status).toBe(404);
    expect((await carol.confirm({ type: "app", host: wiki })).status).toBe(200);
  });

  test("a role that gains the option sends the page of an open session to sign in again, and refuses its scripts with the address", async () => {
    const { cluster, agent } = site.world;
    await cluster.putRole("dev", { allow });
    const cookie = await site.signIn();
    expect((await site.call("/", { headers: { cookie } })).status).toBe(200);
    await cluster.putRole("dev", { allow, options: { require_session_mfa: true } });
    const { revision } = await cluster.admin.getAccess({ kinds: ["app"] });
    while ((await agent.next("access")).accessRevision !== revision);
    // A connection from before is the agent's to end.
    for (const { socket } of site.requests) socket.destroy();
    const launch = `https://proxy.example.test/web/launch/${wiki}?path=%2Fa%3Fb%3D1&next=`;
    const moved = await site.call("/a?b=1", { headers: { cookie, ...page } });
    expect([moved.status, moved.headers.location?.split("&next")[0]]).toEqual([303, launch.split("&next")[0]]);
    const refused = await site.call("/a", { headers: { cookie } });
    expect(refused.status).toBe(403);
    expect(JSON.parse(refused.text)).toMatchObject({ error: { code: "mfa_required" }, launch_url: expect.stringContaining("/web/launch/") });
    expect(site.requests.length).toBe(1);
  });
});
