import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestAgent } from "../inside/connect-agent.ts";
import { enrolUser, type TestUser } from "../inside/enrol-user.ts";
import type { TestCluster } from "../inside/open-cluster.ts";
import { desk, openUiWorld, phone, type UiWorld } from "../inside/ui-world.ts";
import { hasProgram } from "../world/has-program.ts";
import { codeAt } from "../world/one-time-code.ts";
import { faultsOf, type UiPage } from "../world/ui-page.ts";

describe.skipIf(!hasProgram("chromium"))("the Web UI in Chromium", () => {
  let world: UiWorld;
  let cluster: TestCluster;
  let boss: TestUser;
  let guest: TestUser;
  let site: string;
  let ui: UiPage;
  let page: Page;
  let picture: UiWorld["picture"];

  beforeAll(async () => {
    world = await openUiWorld();
    ({ cluster, boss, guest, ui, page, site, picture } = world);
  });
  afterAll(async () => await world?.[Symbol.asyncDispose]());

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
    await page.getByLabel("Code").fill(codeAt(boss.otpauthUri, new Date()));
    await page.keyboard.press("Enter");
    await ui.heading("Hosts").waitFor();
    await page.getByText("2 of 4 hosts").waitFor();
    expect(await page.getByRole("row").count()).toBe(3);
  });

  test("Ctrl-K goes to a page, a host, a user or an application by a few letters", async () => {
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
    await page.getByText("1 of 4 hosts").waitFor();
    await page.getByRole("button", { name: "web-2" }).click();
    await page.getByRole("dialog").waitFor();
    expect(await faultsOf(page)).toEqual([]);
    await picture("host");
    await page.keyboard.press("Escape");
    await expect.poll(async () => await page.evaluate("document.activeElement?.textContent")).toBe("web-2");
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox").fill("gues");
    await page.getByRole("option", { name: "guest user" }).waitFor();
    await page.keyboard.press("Enter");
    await ui.heading("Users").waitFor();
    expect(page.url()).toContain("search=guest");
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox").fill("graf");
    await page.getByRole("option", { name: "grafana application" }).waitFor();
    const launch = ui.context.waitForEvent("request", (request) => request.url().startsWith(`${site}/web/launch/grafana.`));
    const [opened] = await Promise.all([ui.context.waitForEvent("page"), launch, page.keyboard.press("Enter")]);
    await opened.close();
  });

  test("what a user may not do is not shown: neither in the navigation, nor by its address, nor in the palette", async () => {
    await using own = await ui.chromium.newContext();
    const other = await own.newPage();
    ui.watch(other);
    await other.goto(`${site}/web/hosts`);
    await fillLogin(other, { user: "guest", password: guest.password, code: codeAt(guest.otpauthUri, new Date(Date.now() + 30_000)) });
    await other.getByText("1 host", { exact: true }).waitFor();
    const named = await other.getByRole("navigation", { name: "Pages" }).getByRole("link").allTextContents();
    expect(named).toEqual(["Hosts", "Applications", "Databases", "Kubernetes", "Sessions", "Your account"]);
    for (const path of ["recordings", "audit", "inventory", "updates", "users", "roles", "tokens", "locks", "explain"]) {
      await other.goto(`${site}/web/${path}`);
      await other.getByText("This page does not exist, or you may not see it").waitFor();
    }
    await other.keyboard.press("Control+k");
    await other.getByRole("combobox").waitFor();
    await other.getByRole("option", { name: "web-1 host" }).waitFor();
    expect(await other.getByRole("option").allTextContents()).toEqual([...named.map((name) => `${name} page`), "web-1 host"]);
  });

  test("five wrong attempts lock a name for this address, and the page says until when and what to do", async () => {
    await using own = await ui.chromium.newContext();
    const other = await own.newPage();
    await other.goto(`${site}/web/hosts`);
    const failure = other.getByRole("alert");
    for (let attempt = 1; attempt <= 5; attempt += 1) {
      await fillLogin(other, { user: "somebody", password: `wrong ${attempt}`, code: "000000" });
      await failure.getByText(attempt < 5 ? "Wrong" : "locked for this address until").waitFor();
      // The field is emptied with the answer.
      await expect.poll(() => other.getByLabel("Code").inputValue()).toBe("");
    }
    expect(await failure.textContent()).toMatch(/one try too many.*locked for this address until .*tctl users unlock/);
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
    const remove = page.getByRole("dialog").getByRole("button", { name: "Remove lost-laptop-of-ann" });
    const question = page.getByRole("dialog", { name: "Remove lock lost-laptop-of-ann?" });
    // Escape closes the question, and not the changed text below it.
    await editor.fill((await editor.inputValue()).replace("user: ann", "user: bob"));
    await remove.click();
    await question.waitFor();
    await page.keyboard.press("Escape");
    await question.waitFor({ state: "detached" });
    await page.keyboard.press("Escape");
    expect(await editor.inputValue()).toContain("user: bob");
    await remove.click();
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
    const reloaded = page.waitForRequest(`${site}/webapi/v1/resources/user`);
    await page.getByRole("dialog", { name: "Invite link for carl" }).getByRole("button", { name: "Close" }).click();
    await reloaded;
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

  test("a user is made in a form beside the text, by keyboard, with what the user could then do, and changed there", async () => {
    await page.goto(`${site}/web/users`);
    await page.getByRole("button", { name: "New user" }).press("Enter");
    const text = page.getByLabel("Document in YAML");
    const role = (name: string) => page.getByRole("checkbox", { name: new RegExp(`^${name} `) });
    await page.getByLabel("Name", { exact: true }).fill("hana");
    await page.keyboard.press("Tab");
    await expect.poll(() => text.inputValue()).toContain("name: hana");
    await role("prod-hosts").press("Space");
    await expect.poll(() => text.inputValue()).toContain("- prod-hosts");
    await page.getByRole("listitem").filter({ hasText: "hana gains host web-1 as ann and root" }).waitFor();
    await role("access").press("Space");
    await expect.poll(() => text.inputValue()).not.toContain("- access");
    // A user has a role: the last one stays.
    await role("prod-hosts").press("Space");
    await page.getByText("A user needs at least one role. Add another role first.").waitFor();
    expect(await role("prod-hosts").isChecked()).toBe(true);
    await page.getByLabel("Other traits").fill("team=web");
    await page.keyboard.press("Tab");
    await expect.poll(() => text.inputValue()).toMatch(/team:\n +- web/);
    await page.getByRole("listitem").filter({ hasText: "hana gains host web-1 as root" }).waitFor();
    expect(await faultsOf(page)).toEqual([]);
    await picture("user");
    await page.getByRole("button", { name: "Save" }).press("Enter");
    await page.getByText("hana has been saved.").waitFor();
    const stored = async (): Promise<unknown> => JSON.parse((await cluster.admin.getResource({ kind: "user", name: "hana" })).json);
    expect(await stored()).toMatchObject({ spec: { roles: ["prod-hosts"], traits: { logins: ["ann"], team: ["web"] } } });
    await page.getByRole("button", { name: "hana", exact: true }).click();
    await page.getByLabel("Name", { exact: true }).waitFor();
    expect(await page.getByLabel("Name", { exact: true }).isDisabled()).toBe(true);
    await text.fill((await text.inputValue()).replace("- ann", "- eva"));
    await expect.poll(() => page.getByLabel("Logins on hosts").inputValue()).toBe("eva");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("hana has been saved.").first().waitFor();
    await expect.poll(stored).toMatchObject({ spec: { traits: { logins: ["eva"] } } });
  });

  test("the own authenticator is replaced for the password and a code, once a code of the new one is right", async () => {
    const enrolled = { admin: cluster.admin, client: cluster.admin };
    const before = new Date(Date.now() - 30_000);
    const nina = await enrolUser(enrolled, { name: "nina", roles: ["prod-hosts"], logins: ["root"] }, before);
    await using own = await ui.chromium.newContext();
    const other = await own.newPage();
    ui.watch(other);
    await other.goto(`${site}/web/account`);
    await fillLogin(other, { user: "nina", password: nina.password, code: codeAt(nina.otpauthUri, new Date()) });
    await other.getByRole("button", { name: "Replace authenticator" }).press("Enter");
    const dialog = other.getByRole("dialog", { name: "Replace authenticator" });
    await dialog.getByLabel("Password").fill(nina.password);
    await dialog.getByLabel("Code").fill(codeAt(nina.otpauthUri, new Date(Date.now() + 30_000)));
    await other.keyboard.press("Enter");
    await dialog.getByRole("img", { name: "QR code of the new authenticator" }).waitFor();
    const uri = (await dialog.getByRole("link", { name: "open it in an app" }).getAttribute("href")) ?? "";
    expect((await dialog.locator("code").textContent())?.replaceAll(" ", "")).toBe(new URL(uri).searchParams.get("secret"));
    expect(await faultsOf(other)).toEqual([]);
    await dialog.getByRole("textbox", { name: "Code of the new authenticator" }).fill("000000");
    await other.keyboard.press("Enter");
    await dialog.getByText("Wrong code of the new authenticator").waitFor();
    await dialog.getByRole("textbox", { name: "Code of the new authenticator" }).fill(codeAt(uri, new Date()));
    await other.keyboard.press("Enter");
    await other.getByText("Your new authenticator counts from now on.").waitFor();
    await dialog.waitFor({ state: "detached" });
    const changes = (await cluster.events("user.authenticator_change")).map(({ user, success }) => [user, success]);
    expect(changes.toSorted()).toEqual([
      ["nina", false],
      ["nina", true],
    ]);
    // This browser stays logged in; a new login takes the new authenticator.
    await other.getByRole("button", { name: "Log out", exact: true }).click();
    await fillLogin(other, { user: "nina", password: nina.password, code: codeAt(uri, new Date(Date.now() + 30_000)) });
    await other.getByRole("heading", { level: 1, name: "Your account" }).waitFor();
  });

  test("the own access to a database is explained, also to one that is out of reach", async () => {
    await page.goto(`${site}/web/databases`);
    await page.getByRole("button", { name: "Check access" }).press("Enter");
    await page.getByLabel("Database", { exact: true }).fill("orders");
    await page.getByLabel("Account").fill("reader");
    await page.keyboard.press("Enter");
    await page.getByText('no agent offers a database "orders" that you may reach').waitFor();
    expect(await faultsOf(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
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
    await dialog.getByLabel("Old password").fill(boss.password);
    await dialog.getByLabel("Code").fill(codeAt(boss.otpauthUri, new Date(Date.now() + 30_000)));
    await page.keyboard.press("Enter");
    await page.getByText("Your password has been changed.").waitFor();
    await dialog.waitFor({ state: "detached" });
    const changes = (await cluster.events("user.password_change")).map(({ user, success }) => [user, success]);
    expect(changes.toSorted()).toEqual([
      ["boss", false],
      ["boss", true],
    ]);
    // This browser stays logged in.
    await page.goto(`${site}/web/hosts`);
    await page.getByText("4 hosts", { exact: true }).waitFor();
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

  test("live events leave the row in its place that the pointer is on, and the export has what the search found", async () => {
    await page.goto(`${site}/web/audit`);
    const rows = page.locator("tbody tr:not(.gap)");
    await rows.first().hover();
    const look = async () => [await rows.first().textContent(), (await rows.first().boundingBox())?.y];
    const before = await look();
    await page.getByLabel("Live").check();
    await rows.first().hover();
    await cluster.putRole("another", { allow: {} });
    await page.getByText(/^\d+ new\. The list updates when you leave it\.$/).waitFor();
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
    await expect.poll(() => names.allTextContents()).toEqual(["a-host", "apps-1", "db-1", "web-1", "web-2"]);
    await names.nth(1).hover();
    extra.end();
    const first = await startTestAgent(cluster, { hostname: "0-host" });
    await other.clock.fastForward(31_000);
    await other.getByText("1 new. The list updates when you leave it.").waitFor();
    expect(await names.allTextContents()).toEqual(["a-host", "apps-1", "db-1", "web-1", "web-2"]);
    await other.getByRole("heading", { level: 1 }).hover();
    await expect.poll(() => names.allTextContents()).toEqual(["0-host", "a-host", "apps-1", "db-1", "web-1", "web-2"]);
    await names.nth(1).click();
    await other.getByText("This host is offline.").waitFor();
    expect(await other.getByRole("button", { name: "Open in the browser" }).count()).toBe(0);
    expect(await other.getByText("tsh ssh").count()).toBe(0);
    first.end();
    await other.close();
  });

  test("no page has broken its policy, or failed", () => {
    expect(ui.troubles).toEqual([]);
  });
});

/** Fills the login of a page, and sends it. */
async function fillLogin(of: Page, { user, password, code }: Record<"user" | "password" | "code", string>): Promise<void> {
  await of.getByLabel("User").fill(user);
  await of.getByLabel("Password").fill(password);
  await of.getByLabel("Code").fill(code);
  await of.keyboard.press("Enter");
}
