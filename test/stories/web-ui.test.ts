import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import axe from "axe-core";
import type { BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestAgent, type TestAgent } from "../inside/connect-agent.ts";
import { enrolUser, type TestUser } from "../inside/enrol-user.ts";
import { startTestCluster, type TestCluster } from "../inside/open-cluster.ts";
import { type Chromium, openChromium } from "../world/chromium.ts";
import { hasProgram } from "../world/has-program.ts";
import { codeAt } from "../world/one-time-code.ts";

/** Where pictures of each page go; left out: none are made. */
const pictures = process.env.UI_PICTURES;

const pages = [
  "hosts",
  "apps",
  "databases",
  "sessions",
  "recordings",
  "audit",
  "inventory",
  "updates",
  "users",
  "roles",
  "tokens",
  "locks",
  "explain",
  "account",
];

describe.skipIf(!hasProgram("chromium"))("the Web UI in Chromium", () => {
  let cluster: TestCluster;
  let chromium: Chromium;
  let boss: TestUser;
  let agents: TestAgent[];
  let site: string;
  let context: BrowserContext;
  let page: Page;
  /** Violations of the page's policy, and errors of its scripts. */
  const troubles: string[] = [];

  beforeAll(async () => {
    cluster = await startTestCluster();
    await cluster.putRole("all-hosts", {
      allow: { logins: ["root"], node_labels: { "*": "*" }, join_sessions: [{ name: "all", roles: ["*"], kinds: ["*"], modes: ["*"] }] },
    });
    await cluster.admin.putResource({
      json: JSON.stringify({
        kind: "role",
        version: "v7",
        metadata: { name: "hostile", description: '<img src=x onerror="document.title=1">' },
        spec: {},
      }),
    });
    agents = await Promise.all(
      ["web-1", "web-2", "db-1"].map((hostname, at) =>
        startTestAgent(cluster, { hostname, labels: { env: at === 0 ? "prod" : "test", team: at === 2 ? "data" : "web" } }),
      ),
    );
    boss = await enrolUser(
      { admin: cluster.admin, client: cluster.admin },
      { name: "boss", roles: ["access", "editor", "auditor", "all-hosts"], logins: ["root"] },
      new Date(),
    );
    site = `https://localhost:${cluster.proxy.addresses.web.port}`;
    chromium = await openChromium();
    context = await chromium.browser.newContext({ ignoreHTTPSErrors: true, viewport: { width: 1280, height: 800 } });
    page = await context.newPage();
    page.on("pageerror", (error) => troubles.push(String(error)));
    page.on("console", (message) => {
      if (message.type() === "error" && !message.text().startsWith("Failed to load resource")) troubles.push(message.text());
    });
    if (pictures !== undefined) await mkdir(pictures, { recursive: true });
  });
  afterAll(async () => {
    for (const agent of agents) agent.end();
    await chromium[Symbol.asyncDispose]();
    await cluster[Symbol.asyncDispose]();
  });

  const heading = (name: string) => page.getByRole("heading", { level: 1, name });

  async function picture(name: string, of = page): Promise<void> {
    if (pictures !== undefined) await of.screenshot({ path: join(pictures, `${name}.png`) });
  }

  /** What axe finds wrong with the page as it is. */
  async function faults(of = page): Promise<readonly string[]> {
    await of.evaluate(axe.source);
    return await of.evaluate<readonly string[]>(`(async () => {
      const { violations } = await axe.run();
      return violations.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => id + ": " + html + " " + failureSummary));
    })()`);
  }

  test("a wrong code is refused with a sentence, the right one leads to the hosts", async () => {
    await page.goto(`${site}/web/hosts?search=web`);
    await heading("Log in").waitFor();
    expect(await faults()).toEqual([]);
    await picture("login");
    await page.getByLabel("User").fill("boss");
    await page.getByLabel("Password").fill(boss.password);
    await page.getByLabel("Code").fill("000000");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").waitFor();
    await page.getByLabel("Code").fill(codeAt(boss.otpauthUri, new Date(Date.now() + 30_000)));
    await page.keyboard.press("Enter");
    await heading("Hosts").waitFor();
    await page.getByText("2 of 3 hosts").waitFor();
    expect(await page.getByRole("row").count()).toBe(3);
  });

  test.for(pages)("%s has no fault for readers without a mouse, a screen or good eyes, in both themes and at any width", async (name) => {
    for (const colorScheme of ["light", "dark"] as const) {
      for (const width of [1280, 320]) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize({ width, height: width === 320 ? 640 : 800 });
        await page.goto(`${site}/web/${name}`);
        await page.getByRole("heading", { level: 1 }).waitFor();
        await page.waitForLoadState("networkidle");
        await picture(`${name}-${colorScheme}-${width}`);
        expect({ name, colorScheme, width, faults: await faults() }).toEqual({ name, colorScheme, width, faults: [] });
        const overflow = await page.evaluate("Math.max(0, document.documentElement.scrollWidth - document.documentElement.clientWidth)");
        expect({ name, width, overflow }).toEqual({ name, width, overflow: 0 });
      }
    }
    await page.setViewportSize({ width: 1280, height: 800 });
  });

  test("Ctrl-K goes to a page or a host by a few letters", async () => {
    await page.goto(`${site}/web/hosts`);
    await heading("Hosts").waitFor();
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox").waitFor();
    await picture("palette");
    expect(await faults()).toEqual([]);
    await page.keyboard.type("audit");
    await page.keyboard.press("Enter");
    await heading("Audit log").waitFor();
    await page.keyboard.press("Control+k");
    await page.keyboard.type("web-2");
    await page.getByRole("option", { name: "web-2" }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByText("1 of 3 hosts").waitFor();
    await page.getByRole("button", { name: "web-2" }).click();
    await page.getByRole("dialog").waitFor();
    expect(await faults()).toEqual([]);
    await picture("host");
    await page.keyboard.press("Escape");
    await expect.poll(async () => await page.evaluate("document.activeElement?.textContent")).toBe("web-2");
  });

  test("markup in a name or a text is text", async () => {
    await page.goto(`${site}/web/roles`);
    await page.getByText('<img src=x onerror="document.title=1">').waitFor();
    expect(await page.locator("main img").count()).toBe(0);
  });

  test("a lock is made from its example, in an editor, and removed after a question", async () => {
    await page.goto(`${site}/web/locks`);
    await page.getByRole("button", { name: "New lock" }).click();
    const editor = page.getByLabel("Document in YAML");
    await editor.fill((await editor.inputValue()).replace("user: ann", "colour: red"));
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("alert").waitFor();
    expect(await faults()).toEqual([]);
    await picture("editor");
    await editor.fill((await editor.inputValue()).replace("colour: red", "user: ann"));
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("button", { name: "Remove lost-laptop-of-ann" }).click();
    await page.getByRole("button", { name: "Remove", exact: true }).click();
    await page.getByText("No locks yet").waitFor();
    expect((await cluster.events("lock.deleted")).map(({ user }) => user)).toEqual(["boss"]);
  });

  test("a role's form and its text follow each other, and show what its users gain before it is saved", async () => {
    await page.goto(`${site}/web/roles`);
    await page.getByRole("button", { name: "all-hosts", exact: true }).click();
    const [text, logins] = [page.getByLabel("Document in YAML"), page.getByLabel("Logins on hosts")];
    await logins.waitFor();
    await logins.fill("root\ndeploy");
    await logins.blur();
    await expect.poll(() => text.inputValue()).toContain("- deploy");
    await page.getByText("host web-1 as deploy").waitFor();
    await page.getByLabel("Hosts with the labels", { exact: true }).fill("env");
    await page.getByLabel("Hosts with the labels", { exact: true }).blur();
    await page.getByText("Write a label as name=value.").waitFor();
    expect(await faults()).toEqual([]);
    await picture("role");
    await text.fill((await text.inputValue()).replace("- deploy", "- ops"));
    await expect.poll(() => logins.inputValue()).toBe("root\nops");
    await page.getByText("host web-1 as ops").waitFor();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("all-hosts has been saved.").waitFor();
    expect((await cluster.events("role.updated")).map(({ user, name }) => [user, name])).toContainEqual(["boss", "all-hosts"]);
  });

  test("the next maintenance windows are shown in the zone of the reader, and in another one", async () => {
    const document = { kind: "cluster_maintenance_config", spec: { agent_upgrades: { utc_start_hour: 3 } } };
    await cluster.admin.putResource({ json: JSON.stringify({ ...document, metadata: { name: "cluster-maintenance-config" } }), overwrite: true });
    await expect
      .poll(async () => {
        await page.goto(`${site}/web/updates`);
        await heading("Updates").waitFor();
        await page.waitForLoadState("networkidle");
        return await page.getByLabel("Also in the zone").count();
      })
      .toBe(1);
    await page.getByLabel("Also in the zone").selectOption("Asia/Tokyo");
    await page
      .getByText(/12:00–13:00/)
      .first()
      .waitFor();
    expect(page.url()).toContain("zone=Asia%2FTokyo");
    expect(await faults()).toEqual([]);
    await picture("windows");
  });

  test("the own password is changed for the old one and a code", async () => {
    await page.goto(`${site}/web/account`);
    await page.getByRole("button", { name: "Change password" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Old password").fill("not the old one");
    for (const label of ["New password 12", "New password again"]) await dialog.getByLabel(label).fill("another long password");
    await dialog.getByLabel("Code").fill("000000");
    await page.keyboard.press("Enter");
    await page.getByText("Wrong password or one-time code").waitFor();
    expect(await faults()).toEqual([]);
    await picture("password");
    await page.keyboard.press("Escape");
    await heading("Your account").waitFor();
  });

  test("an access is explained with the role that decides it", async () => {
    await page.goto(`${site}/web/explain`);
    await page.getByLabel("User").fill("boss");
    await page.getByLabel("Name").fill("web-1");
    await page.getByLabel("Login").fill("root");
    await page.keyboard.press("Enter");
    await page.getByText("boss may log in as root on web-1: access, all-hosts allow it").waitFor();
    expect(await faults()).toEqual([]);
    await picture("explained");
    await page.getByLabel("Name").fill("web-9");
    await page.keyboard.press("Enter");
    await page.getByText('There is no host "web-9"').waitFor();
  });

  test("10,000 hosts are searched and sorted within 300 ms", async () => {
    const hosts = Array.from({ length: 10_000 }, (_, at) => ({
      id: crypto.randomUUID(),
      name: `web-${(at * 7919) % 10_000}.region-${at % 17}.example.com`,
      labels: { env: at % 3 === 0 ? "prod" : "test", team: `team-${at % 40}` },
      state: at % 9 === 0 ? "offline" : "connected",
      version: `1.${at % 3}.0`,
    }));
    await page.route("**/webapi/v1/hosts*", (route) => route.fulfill({ json: { hosts, cursor: "" } }));
    await page.goto(`${site}/web/hosts`);
    await page.getByText("10,000 hosts", { exact: true }).waitFor();
    await picture("hosts-10000");
    /** Time from an act in the page to the second picture after it, ms. */
    const took = async (act: string): Promise<number> =>
      await page.evaluate<number>(`(async () => {
        const begin = performance.now();
        ${act};
        await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
        return performance.now() - begin;
      })()`);
    const typed = (text: string): string =>
      `const field = document.querySelector("input[type=search]"); field.value = ${JSON.stringify(text)}; field.dispatchEvent(new Event("input", { bubbles: true }))`;
    const sorted = (column: number): string => `document.querySelector("thead th:nth-child(${column}) button").click()`;
    const search = await took(typed("region-3. prod"));
    await page.getByText(/of 10,000 hosts/).waitFor();
    await took(typed(""));
    const sort = await took(sorted(2));
    const reverse = await took(sorted(1));
    expect(Math.max(search, sort, reverse)).toBeLessThan(300);
    expect(await page.locator("tbody tr").count()).toBeLessThan(60);
    await page.evaluate("scrollTo(0, document.body.scrollHeight)");
    await page.getByText("web-9999.", { exact: false }).waitFor();
    await page.unroute("**/webapi/v1/hosts*");
  });

  test("the pages of an invite and of a sign-in to an application look as the others, and have no fault", async () => {
    const person = { kind: "user", version: "v2", metadata: { name: "new-one" }, spec: { roles: ["access"] } };
    await cluster.admin.putResource({ json: JSON.stringify(person) });
    const { token } = await cluster.admin.createInvite({ user: "new-one" });
    await using stranger = await chromium.browser.newContext({ ignoreHTTPSErrors: true });
    const other = await stranger.newPage();
    other.on("pageerror", (error) => troubles.push(String(error)));
    for (const [name, path, title] of [
      ["invite", `invite/${token}`, "Welcome to"],
      ["launch", "launch/wiki.localhost", "Open an application"],
      ["refused-invite", "invite/unknown", "This link does not work"],
    ] as const) {
      for (const colorScheme of ["light", "dark"] as const) {
        for (const width of [1280, 320]) {
          await other.emulateMedia({ colorScheme });
          await other.setViewportSize({ width, height: width === 320 ? 640 : 800 });
          await other.goto(`${site}/web/${path}`);
          await other.getByRole("heading", { level: 1, name: title }).waitFor();
          await other.waitForLoadState("networkidle");
          await picture(`${name}-${colorScheme}-${width}`, other);
          expect({ name, colorScheme, width, faults: await faults(other) }).toEqual({ name, colorScheme, width, faults: [] });
          const overflow = await other.evaluate("Math.max(0, document.documentElement.scrollWidth - document.documentElement.clientWidth)");
          expect({ name, width, overflow }).toEqual({ name, width, overflow: 0 });
        }
      }
    }
  });

  test("logging out everywhere ends the session of another page, which asks for a login over what it shows", async () => {
    const other = await context.newPage();
    await other.goto(`${site}/web/audit`);
    await other.getByRole("heading", { level: 1, name: "Audit log" }).waitFor();
    await page.goto(`${site}/web/account`);
    await page.getByRole("button", { name: "Log out everywhere" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Log out everywhere" }).click();
    await heading("Log in").waitFor();
    await other.getByRole("link", { name: "Users" }).click();
    await other.getByText("Your session has ended").waitFor();
    await other.close();
  });

  test("no page has broken its policy, or failed", () => {
    expect(troubles).toEqual([]);
  });
});
