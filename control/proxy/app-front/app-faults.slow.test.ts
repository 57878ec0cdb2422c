import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { AuthClient } from "../../../core/api/auth-client.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { joinServingHost, startTestAgent, type TestAgent } from "../../../test/inside/connect-agent.ts";
import { enrolUser } from "../../../test/inside/enrol-user.ts";
import { openAppBrowser } from "../../../test/world/app-browser.ts";
import { codeAt } from "../../../test/world/one-time-code.ts";
import { until } from "../../../test/world/until.ts";
import { type AppWorld, appWorld, proxyHost } from "./testing/app-world.ts";
import { beginAt, callAt, navigation } from "./testing/site-calls.ts";

/* What a browser gets when something behind the proxy goes away, or is not what it was. */

const wiki = `wiki.${proxyHost}`;
let world: AppWorld;
let upstream: Server;
let cookie: string;
let isAuthAway = false;
/** Time that has gone beyond that of the clock, ms. */
let ahead = 0;
let claimant: TestAgent;
let claimed = 0;

beforeAll(async () => {
  const away = (auth: AuthClient): AuthClient =>
    Object.assign(Object.create(auth) as AuthClient, {
      getAppSession: async (...asked: Parameters<AuthClient["getAppSession"]>) => {
        if (isAuthAway) throw new PlatformError("unavailable", "could not reach the auth service");
        return await auth.getAppSession(...asked);
      },
    });
  world = await appWorld({ authOfProxy: away, clock: () => performance.now() + ahead });
  upstream = createServer((request, response) => {
    if (request.url !== "/up") return void response.end("hello");
    request.once("data", () => request.socket.destroy());
  });
  world.serve = (client) => void upstream.emit("connection", client);
  const { cluster } = world;
  const { admin } = cluster;
  const user = await enrolUser({ admin, client: admin }, { name: "carol", roles: ["dev"], logins: ["root"] }, new Date());
  const person = { name: "carol", password: user.password, code: async () => codeAt(user.otpauthUri, new Date(Date.now() + 30_000)) };
  const site = { address: "127.0.0.1", port: cluster.proxy.addresses.web.port, host: proxyHost, ca: cluster.hostCaPem.join("\n") };
  cookie = (await (await openAppBrowser(site, person)).open(wiki)).cookie ?? "";
  const onStream: Parameters<typeof startTestAgent>[1]["onStream"] = (channel) => {
    claimed += 1;
    channel.destroy();
  };
  const credentials = await joinServingHost(cluster, "claimant", "app");
  claimant = await startTestAgent(cluster, { hostname: "claimant", credentials, services: ["app"], onStream });
});
afterAll(async () => {
  claimant?.end();
  upstream?.closeAllConnections();
  await world?.[Symbol.asyncDispose]();
});

const page = async () => await callAt(world, "/", { at: wiki, headers: { cookie, ...navigation } });

test.for<readonly [who: string, headers: Record<string, string>, type: RegExp]>([
  ["a page for a person", navigation, /^text\/html/],
  ["JSON for a script", {}, /^application\/json/],
])("an agent that goes away during an upload: 502 with the reason and what to do, %s", async ([, headers, type]) => {
  const request = await beginAt(world, "/up", { at: wiki, method: "POST", headers: { cookie, "content-length": 1_000_000, ...headers } });
  request.on("error", () => {});
  request.write(Buffer.alloc(100_000));
  const [response] = (await once(request, "response")) as [IncomingMessage];
  const text = Buffer.concat((await response.toArray()) as Buffer[]).toString();
  expect([response.statusCode, response.headers["content-type"]]).toEqual([502, expect.stringMatching(type)]);
  expect(text).toMatch(/the connection to the application broke/i);
  expect(text).toMatch(/try again/i);
});

test("while the auth service is away, an answer of it counts for two seconds, and then a page says what is missing", async () => {
  expect((await page()).text).toBe("hello");
  isAuthAway = true;
  expect((await page()).status).toBe(200);
  ahead += 2_000;
  const { status, text } = await page();
  expect([status, text]).toEqual([502, expect.stringMatching(/could not reach the auth service/i)]);
  isAuthAway = false;
  expect((await page()).text).toBe("hello");
});

test("another host that claims the name, with labels that the user may not use, gets no request; the application alone there is refused in words", async () => {
  claimant.send({ type: "resources", resources: [{ kind: "app", name: "wiki", labels: { env: "prod" }, details: { scheme: "http" } }], more: false });
  const entries = async () => (await world.cluster.admin.listOffered({ kind: "app" })).resources.filter(({ name }) => name === "wiki").length;
  await until("the claim is known", async () => (await entries()) === 2);
  for (let count = 0; count < 8; count += 1) {
    const from = await callAt(world, "/", { at: wiki, headers: { cookie, connection: "close" } });
    expect([from.status, from.text]).toEqual([200, "hello"]);
  }
  world.agent.end();
  await until("the first agent has gone", async () => (await entries()) === 1);
  const { status, text } = await page();
  expect([status, text]).toEqual([403, expect.stringMatching(/access denied/i)]);
  expect(claimed).toBe(0);
});
