import { randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { Agent, request } from "node:https";
import type { BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type AppWorld, appWorld, proxyHost } from "../../control/proxy/app-front/testing/app-world.ts";
import type { AuthClient } from "../../core/api/auth-client.ts";
import type { TestAgent } from "../inside/connect-agent.ts";
import { enrolUser, type TestUser } from "../inside/enrol-user.ts";
import { droppedMarkup, markup, markupVersion, offerMarkup } from "../inside/offer-markup.ts";
import { type Chromium, openChromium } from "../world/chromium/chromium.ts";
import { hasProgram } from "../world/has-program.ts";
import { codeAt } from "../world/one-time-code.ts";
import { until } from "../world/until.ts";

/** Pages of the Web UI, with the places whose texts they and their dialogs show. */
const pages = {
  hosts: ["label"],
  apps: ["app", "app-label", "error", "address"],
  databases: ["db", "db-label", "error", "protocol"],
  sessions: ["login", "session-user", "guest"],
  recordings: ["recorded-user"],
  audit: ["event"],
  inventory: ["detail", "schedule"],
  updates: [],
  users: [],
  roles: ["role"],
  tokens: [],
  locks: ["lock"],
  explain: [],
  account: [],
} as const satisfies Record<string, readonly string[]>;

const keptConnections = new Agent({ keepAlive: true, maxSockets: 8 });
const wiki = `wiki.${proxyHost}`;

describe.skipIf(!hasProgram("chromium"))("hostile hosts, applications and visitors", () => {
  let world: AppWorld;
  let upstream: Server;
  let agents: TestAgent[];
  let chromium: Chromium;
  let context: BrowserContext;
  let page: Page;
  let boss: TestUser;
  /** Violations of the pages' policies, errors of scripts, and questions that a script asked. */
  const troubles: string[] = [];
  /** Number of the proxy's questions about sessions with applications. */
  let questions = 0;
  /** Answers to requests whose bodies do not come. */
  let slow: readonly Promise<string>[];
  const at = (path: string, host = proxyHost): string => `https://${host}${path}`;

  beforeAll(async () => {
    world = await appWorld({
      authOfProxy: (auth) =>
        Object.assign(Object.create(auth) as AuthClient, {
          getAppSession: async (...asked: Parameters<AuthClient["getAppSession"]>) => {
            questions += 1;
            return await auth.getAppSession(...asked);
          },
        }),
    });
    slow = [withoutBody(world, wiki, "/x-platform-auth"), withoutBody(world, proxyHost, "/webapi/v1/sessions")];
    upstream = createServer((_request, response) => void response.setHeader("content-type", "text/html").end("<!doctype html><p>hello</p>"));
    world.serve = (client) => void upstream.emit("connection", client);
    agents = await offerMarkup(world.cluster);
    const any = { "*": "*" };
    const join = [{ name: "all", roles: ["*"], kinds: ["*"], modes: ["*"] }];
    await world.cluster.putRole("all", { allow: { logins: ["root"], node_labels: any, app_labels: any, db_labels: any, join_sessions: join } });
    await put(world, { kind: "role", version: "v7", metadata: { name: "hostile", description: markup("role") }, spec: {} });
    await put(world, { kind: "lock", version: "v2", metadata: { name: "hostile" }, spec: { target: { user: "nobody" }, message: markup("lock") } });
    const admin = world.cluster.admin;
    const roles = ["access", "editor", "auditor", "all"];
    boss = await enrolUser({ admin, client: admin }, { name: "boss", roles, logins: ["root"] }, new Date());
    const port = world.cluster.proxy.addresses.web.port;
    const rules = [`MAP ${proxyHost}:443 127.0.0.1:${port}`, `MAP *.${proxyHost}:443 127.0.0.1:${port}`, "MAP * ~NOTFOUND"];
    chromium = await openChromium([`--host-resolver-rules=${rules.join(", ")}`]);
    context = await chromium.newContext({ userAgent: markup("browser") });
    context.setDefaultTimeout(60_000);
    page = await watched(context, troubles);
    await page.goto(at(`/web/launch/${wiki}?path=%2F`));
    await page.getByLabel("User").fill("boss");
    await page.getByLabel("Password").fill(boss.password);
    await page.getByLabel("Code").fill(codeAt(boss.otpauthUri, new Date(Date.now() + 30_000)));
    await page.keyboard.press("Enter");
    await page.waitForURL(at("/", wiki));
  });
  afterAll(async () => {
    for (const agent of agents ?? []) agent.end();
    await chromium?.[Symbol.asyncDispose]();
    keptConnections.destroy();
    upstream?.closeAllConnections();
    await world?.[Symbol.asyncDispose]();
  });

  /** Elements that only a text which was read as markup can have made. */
  const made = async (): Promise<unknown> =>
    await page.evaluate("[...document.querySelectorAll('[onerror], img[src=\"x\"], script:not([src])')].map((one) => one.outerHTML)");

  test.for(Object.entries(pages))("markup in any name or text is text: %s", async ([name, places]) => {
    await page.goto(at(`/web/${name}`));
    await page.getByRole("heading", { level: 1 }).waitFor();
    await page.waitForLoadState("networkidle");
    let shown = (await page.textContent("main")) ?? "";
    expect(await made()).toEqual([]);
    const rows = page.locator("tbody button.link", { hasText: /<img|evil/ });
    for (let row = 0; row < (await rows.count()); row += 1) {
      await rows.nth(row).click();
      shown += await page.getByRole("dialog").textContent();
      expect(await made()).toEqual([]);
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
    }
    for (const place of places) expect(shown).toContain(markup(place));
    if (name === "hosts" || name === "inventory") expect(shown).toContain(markupVersion);
    expect(shown).not.toContain(markup(droppedMarkup));
    expect([...troubles, ...chromium.violations]).toEqual([]);
  });

  test("a page of an application can neither call the Web UI, nor frame it, nor open its WebSockets, nor sign out of another application", async () => {
    await using own = await chromium.newContext({ storageState: await context.storageState() });
    const evil = await own.newPage();
    await evil.goto(at("/", wiki));
    const outcome = await evil.evaluate<Record<string, unknown>>(`(async () => {
      const site = ${JSON.stringify(at(""))};
      const send = (path, more) => fetch(site + path, { credentials: "include", ...more }).then(({ status }) => status, () => "refused");
      const socket = new Promise((resolve) => {
        const opened = new WebSocket(site.replace("https:", "wss:") + "/webapi/v1/terminal");
        opened.onopen = () => resolve("open");
        opened.onerror = () => resolve("refused");
      });
      const frame = document.body.appendChild(document.createElement("iframe"));
      frame.src = site + "/web/account";
      await new Promise((resolve) => { frame.onload = resolve; });
      return {
        read: await send("/webapi/v1/session"),
        write: await send("/webapi/v1/session", { method: "DELETE" }),
        posted: await send("/webapi/v1/sessions", { method: "POST", mode: "no-cors", body: "{}" }),
        socket: await socket,
        frame: frame.contentDocument === null ? "refused" : "read",
      };
    })()`);
    expect(outcome).toEqual({ read: "refused", write: "refused", posted: "refused", socket: "refused", frame: "refused" });
    for (const address of [at("/webapi/v1/sessions"), at("/x-platform-logout", `shop.${proxyHost}`), at("/x-platform-auth", `shop.${proxyHost}`)]) {
      await evil.goto(at("/", wiki));
      const answered = evil.waitForResponse((response) => response.request().method() === "POST");
      await evil.evaluate(`(() => {
        const form = document.body.appendChild(document.createElement("form"));
        Object.assign(form, { method: "post", enctype: "text/plain", action: ${JSON.stringify(address)} });
        form.submit();
      })()`);
      expect([address, (await answered).status()]).toEqual([address, 403]);
      await evil.waitForURL(address);
    }
    await page.goto(at("/web/account"));
    await page.getByRole("heading", { level: 1, name: "Your account" }).waitFor();
    await page.goto(at("/", wiki));
    expect(await page.textContent("p")).toBe("hello");
  });

  /** The cookies of the browser at a host, as somebody has stolen them. */
  const stolen = async (host: string): Promise<readonly string[]> =>
    (await context.cookies(at("/", host))).map(({ name, value }) => `${name}=${value}`);

  test("stolen cookies are good for nothing in part, at another application, without the page's token, and from an address that the roles do not allow", async () => {
    const [one = "", two = ""] = await stolen(wiki);
    const status = async (cookie: string, more: Partial<Asked> = {}): Promise<number> => await ask(world, { host: wiki, cookie, ...more });
    expect([await status(`${one}; ${two}`), await status(one), await status(two)]).toEqual([200, 401, 401]);
    expect(await status(`${one}; ${two}`, { host: `raw.${proxyHost}` })).toBe(401);
    const site = { host: proxyHost, cookie: (await stolen(proxyHost)).join("; ") };
    for (const path of ["/webapi/v1/hosts", "/webapi/v1/inventory"]) expect([path, await ask(world, { ...site, path })]).toEqual([path, 403]);
    expect(await ask(world, { ...site, path: "/webapi/v1/sessions", method: "DELETE" })).toBe(403);
    await world.cluster.putRole("all", { allow: { app_labels: { "*": "*" } }, options: { pin_source_ip: true } });
    await until("the role counts", async () => (await status(`${one}; ${two}`, { from: "127.0.0.2" })) === 403);
    const isThis = (event: Record<string, unknown>): boolean => event.user === "boss" && String(event["addr.remote"]).startsWith("127.0.0.2");
    await until("it is recorded", async () => (await world.cluster.events("auth")).some(isThis));
    expect(await status(`${one}; ${two}`)).toBe(200);
  });

  test("600 made-up cookies of one address cost the auth service a hundred questions and a few a second, and disturb nobody", async () => {
    questions = 0;
    const codes = new Map<number, number>();
    for (let round = 0; round < 12; round += 1) {
      const all = Array.from({ length: 50 }, () => ask(world, { host: wiki, cookie: madeUp(), from: "127.0.0.9" }));
      for (const code of await Promise.all(all)) codes.set(code, (codes.get(code) ?? 0) + 1);
    }
    expect([...codes.keys()].toSorted()).toEqual([401, 429]);
    expect(codes.get(401)).toBe(questions);
    expect(questions).toBeLessThan(300);
    expect(await ask(world, { host: wiki, cookie: madeUp(), from: "127.0.0.10" })).toBe(401);
    await page.goto(at("/", wiki));
    expect(await page.textContent("p")).toBe("hello");
  });

  test("a body that does not come ends its request", async () => {
    const answers = await Promise.all(slow);
    expect(answers.map((text) => text.slice(0, 12))).toEqual(["HTTP/1.1 504", "HTTP/1.1 408"]);
  });

  test("after the log-out everywhere, no stolen cookie is good for anything", async () => {
    const [app, site] = [(await stolen(wiki)).join("; "), (await stolen(proxyHost)).join("; ")];
    await page.goto(at("/web/account"));
    await page.getByRole("button", { name: "Log out everywhere" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Log out everywhere" }).click();
    await page.getByLabel("Password").waitFor();
    expect([await ask(world, { host: wiki, cookie: app }), await ask(world, { host: proxyHost, cookie: site, path: "/webapi/v1/session" })]).toEqual([
      401, 401,
    ]);
  });

  test("no page of the proxy has broken its policy", () => {
    expect(chromium.violations).toEqual([]);
  });
});

interface Asked {
  readonly host: string;
  readonly cookie: string;
  readonly path?: string;
  readonly method?: string;
  /** Address of the client. */
  readonly from?: string;
}

/** The status of a script's request. */
async function ask({ cluster }: AppWorld, { host, cookie, path = "/", method = "GET", from = "127.0.0.1" }: Asked): Promise<number> {
  const to = { host: "127.0.0.1", port: cluster.proxy.addresses.web.port, localAddress: from, servername: host, ca: [...cluster.hostCaPem] };
  const sent = request({ ...to, path, method, headers: { host, cookie }, agent: keptConnections });
  sent.end();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  response.resume();
  await once(response, "end");
  return response.statusCode ?? 0;
}

/** All that is answered to a request whose body stays away. */
async function withoutBody(world: AppWorld, host: string, path: string): Promise<string> {
  const socket = await world.connect(host, undefined, { ALPNProtocols: ["http/1.1"] });
  socket.write(`POST ${path} HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{`);
  return Buffer.concat((await socket.toArray()) as Buffer[]).toString();
}

/** Cookies that have the shape of a session's. */
function madeUp(): string {
  const secret = (): string => randomBytes(32).toString("base64url");
  return `__Host-platform_app=${randomUUID()}.${secret()}; __Host-platform_app_subject=${secret()}`;
}

/** A page that notes what goes wrong in it. */
async function watched(context: BrowserContext, troubles: string[]): Promise<Page> {
  const page = await context.newPage();
  page.on("dialog", (dialog) => {
    troubles.push(`dialog: ${dialog.message()}`);
    dialog.dismiss().catch(() => {});
  });
  page.on("pageerror", (error) => void troubles.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource")) troubles.push(message.text());
  });
  return page;
}

async function put({ cluster }: AppWorld, document: object): Promise<void> {
  await cluster.admin.putResource({ json: JSON.stringify(document) });
}
