import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestAgent, type TestAgent } from "../inside/connect-agent.ts";
import { enrolUser, type TestUser } from "../inside/enrol-user.ts";
import { startTestCluster, type TestCluster } from "../inside/open-cluster.ts";
import { hasProgram } from "../world/has-program.ts";
import { codeAt } from "../world/one-time-code.ts";
import { faultsEverywhere, faultsOf, openUiPage, type UiPage } from "../world/ui-page.ts";

/** Where pictures of each page go; left out: none are made. */
const pictures = process.env.UI_PICTURES;

const pages = "hosts apps databases kubernetes sessions recordings audit inventory updates users roles tokens locks explain account".split(" ");

const [desk, phone] = [
  { width: 1280, height: 800 },
  { width: 320, height: 640 },
];

describe.skipIf(!hasProgram("chromium"))("the Web UI in Chromium", () => {
  let cluster: TestCluster;
  let boss: TestUser;
  let agents: TestAgent[];
  let site: string;
  let ui: UiPage;
  let page: Page;

  beforeAll(async () => {
    cluster = await startTestCluster({ proxy: { upgradeChannels: { default: { staticVersion: "v1.9.0", critical: false } } } });
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
    ui = await openUiPage();
    ({ page } = ui);
    if (pictures !== undefined) await mkdir(pictures, { recursive: true });
  });
  afterAll(async () => {
    for (const agent of agents) agent.end();
    await ui[Symbol.asyncDispose]();
    await cluster[Symbol.asyncDispose]();
  });

  async function picture(name: string, of = page): Promise<void> {
    if (pictures !== undefined) await of.screenshot({ path: join(pictures, `${name}.png`) });
  }

  /** Opens a page in each of its looks, and makes a picture of it. */
  async function faultsAt(of: Page, { name, path, title }: { readonly name: string; readonly path: string; readonly title?: string }) {
    return await faultsEverywhere(of, async (look) => {
      await of.goto(`${site}/web/${path}`);
      await of.getByRole("heading", { level: 1, ...(title !== undefined && { name: title }) }).waitFor();
      await of.waitForLoadState("networkidle");
      await picture(`${name}-${look}`, of);
    });
  }

  test("a wrong code is refused with a sentence, the right one leads to the hosts", async () => {
    await page.goto(`${site}/web/hosts?search=web`);
    await ui.heading("Log in").waitFor();
    expect(await faultsOf(page)).toEqual([]);
    await picture("login");
    await page.getByLabel("User").fill("boss");
    await page.getByLabel("Password").fill(boss.password);
    await page.getByLabel("Code").fill("000000");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").waitFor();
    await page.getByLabel("Code").fill(codeAt(boss.otpauthUri, new Date(Date.now() + 30_000)));
    await page.keyboard.press("Enter");
    await ui.heading("Hosts").waitFor();
    await page.getByText("2 of 3 hosts").waitFor();
    expect(await page.getByRole("row").count()).toBe(3);
  });

  test.for(pages)("%s has no fault for readers without a mouse, a screen or good eyes, in both themes and at any width", async (name) => {
    expect(await faultsAt(page, { name, path: name })).toEqual([]);
  });

  test("Ctrl-K goes to a page or a host by a few letters", async () => {
    const asked: string[] = [];
    page.on("request", (request) => asked.push(new URL(request.url()).pathname));
    await page.goto(`${site}/web/hosts`);
    await ui.heading("Hosts").waitFor();
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox").waitFor();
    await picture("palette");
    expect(await faultsOf(page)).toEqual([]);
    await page.keyboard.type("audit");
    await page.keyboard.press("Enter");
    await ui.heading("Audit log").waitFor();
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox").waitFor();
    await page.keyboard.type("web-2");
    await page.getByRole("option", { name: "web-2" }).waitFor();
    // The names of a while ago are kept; the page asked for the hosts once, and the palette once.
    expect(["resources/user", "hosts"].map((path) => asked.filter((one) => one === `/webapi/v1/${path}`).length)).toEqual([1, 2]);
    await page.keyboard.press("Enter");
    await page.getByText("1 of 3 hosts").waitFor();
    await page.getByRole("button", { name: "web-2" }).click();
    await page.getByRole("dialog").waitFor();
    expect(await faultsOf(page)).toEqual([]);
    await picture("host");
    await page.keyboard.press("Escape");
    await expect.poll(async () => await page.evaluate("document.activeElement?.textContent")).toBe("web-2");
  });

  test("markup in a name or a text is text", async () => {
    await page.goto(`${site}/web/roles`);
    await page.getByText('<img src=x onerror="document.title=1">').waitFor();
    expect(await page.locator("main img").count()).toBe(0);
  });

  test("a lock is made from its example, in an editor, and removed there after a question, at 320 px, too", async () => {
    await page.goto(`${site}/web/locks`);
    await page.getByRole("button", { name: "New lock" }).click();
    const editor = page.getByLabel("Document in YAML");
    await editor.fill((await editor.inputValue()).replace("user: ann", "colour: red"));
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("alert").waitFor();
    expect(await faultsOf(page)).toEqual([]);
    await picture("editor");
    await editor.fill((await editor.inputValue()).replace("colour: red", "user: ann"));
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("button", { name: "Remove lost-laptop-of-ann" }).waitFor();
    await page.setViewportSize(phone);
    await page.getByRole("button", { name: "lost-laptop-of-ann", exact: true }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Remove lost-laptop-of-ann" }).click();
    expect(await faultsOf(page)).toEqual([]);
    await picture("remove-320");
    await page.getByRole("button", { name: "Remove", exact: true }).click();
    await page.getByText("No locks yet").waitFor();
    await page.setViewportSize(desk);
    expect((await cluster.events("lock.deleted")).map(({ user }) => user)).toEqual(["boss"]);
  });

  test("an admin ends a user's wait after failed logins, and makes an invite, at 320 px", async () => {
    const person = { kind: "user", version: "v2", metadata: { name: "carl" }, spec: { roles: ["access"] } };
    await cluster.admin.putResource({ json: JSON.stringify(person) });
    await using stranger = await ui.chromium.browser.newContext({ ignoreHTTPSErrors: true });
    const data = { user: "carl", password: "a wrong password", code: "000000" };
    for (let tries = 0; tries < 5; tries += 1) await stranger.request.post(`${site}/webapi/v1/sessions`, { data });
    await page.setViewportSize(phone);
    await page.goto(`${site}/web/users`);
    await page.getByRole("row").filter({ hasText: "locked" }).getByRole("button", { name: "carl" }).click();
    const dialog = page.getByRole("dialog", { name: "carl", exact: true });
    await dialog.getByRole("button", { name: "Unlock carl" }).click();
    await page.getByText("carl may try to log in again.").waitFor();
    await dialog.getByRole("button", { name: "Unlock carl" }).waitFor({ state: "detached" });
    expect((await cluster.events("user.unlocked")).map(({ user, name }) => [user, name])).toEqual([["boss", "carl"]]);
    await dialog.getByRole("button", { name: "Invite or reset… carl" }).click();
    await page.getByRole("button", { name: "Make the link" }).click();
    await page.getByText("Send it to carl privately").waitFor();
    expect(await faultsOf(page)).toEqual([]);
    await picture("invite-320");
    await page.setViewportSize(desk);
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
    expect(await faultsOf(page)).toEqual([]);
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
        await ui.heading("Updates").waitFor();
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
    expect(await faultsOf(page)).toEqual([]);
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
    expect(await faultsOf(page)).toEqual([]);
    await picture("password");
    await page.keyboard.press("Escape");
    await ui.heading("Your account").waitFor();
  });

  test("an access is explained with the role that decides it", async () => {
    await page.goto(`${site}/web/explain`);
    await page.getByLabel("User").fill("boss");
    await page.getByLabel("Name").fill("web-1");
    await page.getByLabel("Login").fill("root");
    await page.keyboard.press("Enter");
    await page.getByText("boss may log in as root on web-1: access, all-hosts allow it").waitFor();
    await page.setViewportSize(phone);
    await page.getByText("role auditor does not allow").waitFor();
    await page.setViewportSize(desk);
    expect(await faultsOf(page)).toEqual([]);
    await picture("explained");
    await page.getByLabel("Name").fill("web-9");
    await page.keyboard.press("Enter");
    await page.getByText('There is no host "web-9"').waitFor();
  });

  test("the pages of an invite and of a sign-in to an application look as the others, and have no fault", async () => {
    const person = { kind: "user", version: "v2", metadata: { name: "new-one" }, spec: { roles: ["access"] } };
    await cluster.admin.putResource({ json: JSON.stringify(person) });
    const { token } = await cluster.admin.createInvite({ user: "new-one" });
    await using stranger = await ui.chromium.browser.newContext({ ignoreHTTPSErrors: true });
    const other = await stranger.newPage();
    ui.watch(other);
    for (const [name, path, title] of [
      ["invite", `invite/${token}`, "Welcome to"],
      ["launch", "launch/wiki.localhost", "Open an application"],
      ["refused-invite", "invite/unknown", "This link does not work"],
    ] as const) {
      expect({ name, found: await faultsAt(other, { name, path, title }) }).toEqual({ name, found: [] });
    }
  });

  test("why a host waits, and what to do about it, is shown at 320 px", async () => {
    const labels = { env: "prod", team: "web" };
    agents[0]?.send({ type: "status", status: { upgrader: "unit", reason: "no_space", detail: "3 MB are free", sessions: 0 }, labels });
    await page.setViewportSize(phone);
    await expect
      .poll(async () => {
        await page.goto(`${site}/web/inventory`);
        await page.getByRole("button", { name: "web-1" }).waitFor();
        return await page.getByText("disk is full").count();
      })
      .toBe(1);
    await page.getByRole("button", { name: "web-1" }).click();
    await page.getByText("What to do").waitFor();
    await page.getByText("Free space on the file system that the detail names.").waitFor();
    expect(await faultsOf(page)).toEqual([]);
    await page.goto(`${site}/web/updates`);
    await page.getByRole("button", { name: "web-1" }).click();
    const dialog = page.getByRole("dialog", { name: "web-1" });
    await dialog.getByText("Why").waitFor();
    await dialog.getByText("Channel").waitFor();
    expect(await faultsOf(page)).toEqual([]);
    await picture("plan-320");
    await page.setViewportSize(desk);
  });

  test("live events leave the row in its place that the pointer is on, and the export has what the search found", async () => {
    await page.goto(`${site}/web/audit`);
    const rows = page.locator("tbody tr:not(.gap)");
    await rows.first().hover();
    const look = async () => [await rows.first().textContent(), (await rows.first().boundingBox())?.y];
    const before = await look();
    await page.getByLabel("Live").check();
    await rows.first().hover();
    await cluster.putRole("another", { allow: {} });
    await page.getByText(/^\d+ new events?, shown when you leave the list$/).waitFor();
    expect(await look()).toEqual(before);
    await picture("audit-held");
    await page.getByRole("heading", { level: 1 }).hover();
    await expect.poll(look).not.toEqual(before);
    await page.getByLabel("Live").uncheck();
    await page.getByLabel("Search events").fill("lost-laptop-of-ann lock.deleted");
    await page.getByText(/^1 of /).waitFor();
    // The file that the page hands to the browser, without the browser's downloads.
    await page.evaluate("{ const make = URL.createObjectURL.bind(URL); URL.createObjectURL = (file) => make((globalThis.exported = file)); }");
    await page.getByRole("button", { name: "Export" }).click();
    const lines = String(await page.evaluate("exported.text()"))
      .trimEnd()
      .split("\n");
    expect([lines.length, lines[1]]).toEqual([2, expect.stringContaining("lock.deleted")]);
  });

  test("hosts keep their places under the pointer while others come and go; one that is offline does not offer a shell", async () => {
    const extra = await startTestAgent(cluster, { hostname: "a-host" });
    const other = await ui.context.newPage();
    ui.watch(other);
    // Its timers, so that the list is loaded again now.
    await other.clock.install();
    await other.goto(`${site}/web/hosts`);
    const names = other.locator("tbody button.link");
    await expect.poll(() => names.allTextContents()).toEqual(["a-host", "db-1", "web-1", "web-2"]);
    await names.nth(1).hover();
    extra.end();
    const first = await startTestAgent(cluster, { hostname: "0-host" });
    await other.clock.fastForward(31_000);
    await other.getByText("1 new host, shown when you leave the list").waitFor();
    expect(await names.allTextContents()).toEqual(["a-host", "db-1", "web-1", "web-2"]);
    await other.getByRole("heading", { level: 1 }).hover();
    await expect.poll(() => names.allTextContents()).toEqual(["0-host", "a-host", "db-1", "web-1", "web-2"]);
    await names.nth(1).click();
    await other.getByText("This host is offline.").waitFor();
    expect(await other.getByRole("button", { name: "Open in the browser" }).count()).toBe(0);
    first.end();
    await other.close();
  });

  test("no page has broken its policy, or failed", () => {
    expect(ui.troubles).toEqual([]);
  });
});
