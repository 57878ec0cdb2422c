import type { BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { WebUpstream } from "../../agent/app/testing/web-upstream.ts";
import { type AppBrowser, openAppBrowser } from "../world/app-browser.ts";
import { ask } from "../world/app-client.ts";
import { audited } from "../world/audited.ts";
import { type Chromium, openChromium } from "../world/chromium/chromium.ts";
import { type Cluster, startCluster } from "../world/cluster.ts";
import type { User } from "../world/cluster-user.ts";
import { hasProgram } from "../world/has-program.ts";
import { putRole } from "../world/put-role.ts";
import { reportViolations } from "../world/report-violations.ts";
import { appAddresses, echoedOver, events, eventsScript, openShownApp, type ShownRequest, shownUser, uploadScript } from "../world/shown-app.ts";
import { faultsOf } from "../world/ui-page.ts";
import { until } from "../world/until.ts";

const proxyHost = "access.test";

/** Applications beside the proxy's own name, and one under another site, in a private window: Chromium sends no cookies to third parties there. */
describe.skipIf(!hasProgram("chromium"))("web applications in Chromium", () => {
  let cluster: Cluster;
  let upstream: WebUpstream;
  let chromium: Chromium;
  let context: BrowserContext;
  let page: Page;
  let carol: User;
  let mallory: AppBrowser;

  const at = appAddresses(proxyHost, () => cluster.ports.web);

  beforeAll(async () => {
    upstream = await openShownApp();
    cluster = await startCluster({ publicHost: proxyHost });
    await putRole(cluster, "apps", { allow: { app_labels: { env: "test" } } });
    await putRole(cluster, "careful", { allow: { app_labels: { env: "safe" } }, options: { require_session_mfa: true } });
    const app = (name: string, more = ""): string => `    - { name: ${name}, uri: "${upstream.uri}", labels: { env: test }${more} }\n`;
    const services = `app_service:
  enabled: yes
  apps:
${["wiki", "shop", "news"].map((name) => app(name)).join("")}${app("desk", ", public_addr: desk.other.test")}${app("board", ", required_apps: [news, vault]")}    - { name: vault, uri: "${upstream.uri}", labels: { env: prod } }
    - { name: safe, uri: "${upstream.uri}", labels: { env: safe } }
`;
    await cluster.agent({ name: "apps-1", token: await cluster.token("--type=app"), services, noWait: true });
    const person = { roles: "apps,careful", noLogin: true };
    const [one, other] = await Promise.all([cluster.user("carol", person), cluster.user("mallory", person)]);
    carol = one;
    const ca = await cluster.admin("auth", "export", "--type=tls-host");
    mallory = await openAppBrowser({ address: "127.0.0.1", port: cluster.ports.web, host: proxyHost, ca }, other);
    await until("the agent offers them", async () => (await mallory.call("/app-sites/desk.other.test")).status === 200);
    const rules = [`MAP ${proxyHost} 127.0.0.1`, `MAP *.${proxyHost} 127.0.0.1`, "MAP desk.other.test 127.0.0.1", "MAP * ~NOTFOUND"];
    chromium = await openChromium([`--host-resolver-rules=${rules.join(", ")}`]);
    context = await chromium.newContext();
    // What is not there by then never comes, and the page at that time says why.
    context.setDefaultTimeout(60_000);
    page = await context.newPage();
  });
  afterAll(async () => {
    await chromium?.[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
    await upstream?.[Symbol.asyncDispose]();
  });

  beforeEach(({ onTestFailed }) => {
    onTestFailed(async () => void process.stderr.write(`the page ${page.url()} shows: ${await page.locator("body").textContent()}\n`));
  });

  /** The request that the application shows. */
  async function shown(of = page): Promise<ShownRequest> {
    return JSON.parse((await of.locator("pre").textContent()) ?? "") as ShownRequest;
  }

  test("an unknown visitor logs in, and ends on the path, the query and the fragment that were asked for", async () => {
    await page.goto(at("wiki", "/a?x=1#y"));
    await page.getByLabel("User").fill("carol");
    await page.getByLabel("Password").fill(carol.password);
    await page.getByLabel("Code").fill(await carol.code());
    await page.keyboard.press("Enter");
    await page.waitForURL(at("wiki", "/a?x=1#y"));
    const got = await shown();
    expect(got.url).toBe("/a?x=1");
    expect(got.raw.join("\n")).not.toMatch(/__Host-|platform_/);
    expect(shownUser(got)).toBe("carol");
    expect(await page.evaluate("document.cookie")).toBe("");
  });

  test("two tabs sign in to two applications at once, one of them under another site, although that gets no cookies in a frame", async () => {
    const [one, two] = await Promise.all([context.newPage(), context.newPage()]);
    await Promise.all([one.goto(at("shop", "/s")), two.goto(at("desk.other.test", "/d"))]);
    await Promise.all([one.waitForURL(at("shop", "/s")), two.waitForURL(at("desk.other.test", "/d"))]);
    expect([(await shown(one)).url, (await shown(two)).url]).toEqual(["/s", "/d"]);
    const framed = one.waitForResponse(at("desk.other.test", "/framed"));
    await one.goto(at("shop", `/?frame=${encodeURIComponent(at("desk.other.test", "/framed"))}`));
    expect((await framed).status()).toBe(401);
    await Promise.all([one.close(), two.close()]);
  });

  test.for(["//evil.test", "https://evil.test/", "/\\evil.test", "\\\\evil.test", "javascript:alert(1)"])(
    "a sign-in never leads to %s",
    async (path) => {
      const visited: string[] = [];
      page.on("request", (request) => void visited.push(new URL(request.url()).hostname));
      await page.goto(at(proxyHost, `/web/launch/wiki.${proxyHost}?${new URLSearchParams({ path }).toString()}`));
      await page.waitForURL(at("wiki"));
      expect((await shown()).url).toBe("/");
      expect(new Set(visited)).toEqual(new Set([proxyHost, `wiki.${proxyHost}`]));
      page.removeAllListeners("request");
    },
  );

  test("a session that somebody else began is not taken over: the browser keeps its own user, and it is recorded", async () => {
    const host = `wiki.${proxyHost}`;
    const opened = JSON.parse((await mallory.call("/app-sessions", { method: "POST", body: JSON.stringify({ host }) })).text) as Record<
      string,
      string
    >;
    const ca = await cluster.admin("auth", "export", "--type=tls-host");
    const begun = await ask({ address: "127.0.0.1", port: cluster.ports.web, host, ca }, { path: "/x-platform-auth/start?path=%2F" });
    const state = begun.headers.location?.split("#platform-state=")[1] ?? "";
    expect(state).not.toBe("");
    const facts = { state, session: opened.session ?? "", subject: opened.subject ?? "", path: "/", next: "" };
    const refused = page.waitForResponse((response) => response.request().method() === "POST");
    await page.goto(at("wiki", `/x-platform-auth#${new URLSearchParams(facts).toString()}`));
    expect((await refused).status()).toBe(403);
    await audited(cluster, "auth", { code: "T3007W", user: "mallory", app_name: "wiki" });
    await page.goto(at("wiki"));
    expect(shownUser(await shown())).toBe("carol");
  });

  test("a cookie that an application sets for the common domain is seen by itself alone", async () => {
    await page.goto(at("wiki", `/?${new URLSearchParams({ set: `a=b; Domain=${proxyHost}; Path=/` }).toString()}`));
    expect(await page.evaluate("document.cookie")).toBe("a=b");
    await page.goto(at("shop"));
    expect([await page.evaluate("document.cookie"), (await shown()).raw.join("\n")]).toEqual(["", expect.not.stringContaining("a=b")]);
    await page.goto(at(proxyHost, "/web/"));
    expect(await page.evaluate("document.cookie")).toBe("");
    // The browser itself refuses a page's attempt to set one of our names.
    await page.goto(at("wiki"));
    await page.evaluate(`document.cookie = "__Host-platform_session=forged; Domain=${proxyHost}; Secure; Path=/"`);
    expect((await context.cookies(at(proxyHost))).filter(({ value }) => value === "forged")).toEqual([]);
  });

  test("a page opens WebSockets to its own application, and none to another", async () => {
    await page.goto(at("wiki"));
    const echoed = (app: string): Promise<string> => page.evaluate<string>(echoedOver(at(app, "/ws")));
    expect(await echoed("wiki")).toBe("ping");
    upstream.seen.splice(0);
    expect(await echoed("shop")).toBe("refused");
    expect(upstream.seen).toEqual([]);
  });

  test("a page gets each event of a stream when it is sent, and uploads megabytes as they are", async () => {
    await page.goto(at("wiki"));
    expect(await page.evaluate(eventsScript)).toEqual(events);
    expect(await page.evaluate(uploadScript)).toBe(true);
  });

  test("an application signs the browser in to those that it needs; one that is forbidden is named, and the page leads on", async () => {
    await page.goto(at("board", "/b?x=1"));
    await page.getByText(/vault/).first().waitFor();
    await page.getByRole("link", { name: `Open board.${proxyHost} without it` }).click();
    await page.waitForURL(at("board", "/b?x=1"));
    expect((await shown()).url).toBe("/b?x=1");
    // From a page of board, without any further sign-in.
    await page.goto(at("board", `/?frame=${encodeURIComponent(at("news", "/framed"))}`));
    await page.frameLocator("iframe").getByText('"/framed"').waitFor();
    expect((await context.cookies(at("vault"))).filter(({ name }) => name.startsWith("__Host-platform_app"))).toEqual([]);
  });

  test("where a role demands a code for each session, the way to the application asks for one, and ends on the path that was asked for", async () => {
    await page.goto(at("safe", "/s?x=1#y"));
    const asked = page.getByText("Enter the code of your authenticator to open safe.access.test.");
    await asked.waitFor();
    expect(await page.evaluate("document.activeElement?.name")).toBe("code");
    expect(await faultsOf(page)).toEqual([]);
    await page.keyboard.type("00000");
    await page.keyboard.press("Enter");
    await page.getByText("Wrong one-time code, or one that was used before.").waitFor();
    await page.keyboard.type(await carol.code());
    await page.keyboard.press("Enter");
    await page.waitForURL(at("safe", "/s?x=1#y"));
    expect((await shown()).url).toBe("/s?x=1");
    await audited(cluster, "app.session.start", { user: "carol", app_name: "safe", with_mfa: "otp" });
    // The session lasts: no page of it asks again.
    await page.goto(at("safe", "/later"));
    expect((await shown()).url).toBe("/later");
  });

  test("a log-out in the Web UI ends the applications too", async () => {
    await page.goto(at(proxyHost, "/web/account"));
    await page.getByRole("button", { name: "Log out everywhere" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Log out everywhere" }).click();
    await page.getByLabel("Password").waitFor();
    await page.goto(at("wiki", "/a"));
    await page.waitForURL(/\/web\/launch\//);
    await page.getByLabel("Password").waitFor();
  });

  test("no page of the proxy has broken its policy; one that does is noticed", async () => {
    expect(chromium.violations).toEqual([]);
    await page.goto(at(proxyHost, "/web/"));
    await page.evaluate(reportViolations.breakPolicy);
    await expect.poll(() => chromium.violations).toEqual([expect.stringContaining("img-src https://evil.test/picture.png")]);
  });
});
