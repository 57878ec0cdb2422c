import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { enrolUser, type TestUser } from "../inside/enrol-user.ts";
import { startTestCluster, type TestCluster } from "../inside/open-cluster.ts";
import { addAuthenticator } from "../world/chromium/virtual-authenticator.ts";
import { hasProgram } from "../world/has-program.ts";
import { codeAt } from "../world/one-time-code.ts";
import { long } from "../world/rounds.ts";
import { faultsEverywhere, faultsOf, openUiPage, type UiPage } from "../world/ui-page.ts";

describe.skipIf(!hasProgram("chromium"))("a session that ends while people work, in Chromium", () => {
  let cluster: TestCluster;
  let boss: TestUser;
  let site: string;
  let ui: UiPage;
  /** With an editor open, and a text in it that is not saved. */
  let page: Page;
  let other: Page;
  /** Requests for the document that is edited. */
  const loads: string[] = [];
  const changed = "description: of all hosts";

  beforeAll(async () => {
    // Passkeys need the proxy's own address.
    cluster = await startTestCluster({ proxy: { publicAddr: { host: "localhost", port: 0 } } });
    await cluster.putRole("all-hosts", { allow: { logins: ["root"], node_labels: { "*": "*" } } });
    // A code is good for one login: three are used here, of three half minutes in a row.
    boss = await enrolUser(
      { admin: cluster.admin, client: cluster.admin },
      { name: "boss", roles: ["access", "editor", "auditor"], logins: ["root"] },
      new Date(Date.now() - 30_000),
    );
    site = `https://localhost:${cluster.proxy.addresses.web.port}`;
    ui = await openUiPage();
    ({ page } = ui);
    await ui.logIn(`${site}/web/roles`, { user: "boss", password: boss.password, code: codeAt(boss.otpauthUri, new Date()) }, "Roles");
    page.on("request", (request) => {
      if (request.url().endsWith("/documents/role/all-hosts")) loads.push(request.method());
    });
    await page.getByRole("button", { name: "all-hosts", exact: true }).click();
    const text = editor();
    await text.fill((await text.inputValue()).replace("name: all-hosts", `name: all-hosts\n  ${changed}`));
    other = await openPage("audit", "Audit log");
  });
  afterAll(async () => {
    await ui?.[Symbol.asyncDispose]();
    await cluster[Symbol.asyncDispose]();
  });

  const editor = () => page.getByLabel("Document in YAML");

  async function openPage(path: string, title: string): Promise<Page> {
    const opened = await ui.context.newPage();
    ui.watch(opened);
    await opened.goto(`${site}/web/${path}`);
    await opened.getByRole("heading", { level: 1, name: title }).waitFor();
    return opened;
  }

  test("a selection that is drawn out of an editor, Escape and a click beside it lose no text", async () => {
    const place = await editor().boundingBox();
    await page.mouse.move((place?.x ?? 0) + 20, (place?.y ?? 0) + 20);
    await page.mouse.down();
    await page.mouse.move(5, 400);
    await page.mouse.up();
    await page.mouse.click(5, 400);
    for (let presses = 0; presses < 3; presses += 1) await page.keyboard.press("Escape");
    expect(await editor().inputValue()).toContain(changed);
  });

  test("Escape does not take away a secret that is shown once, wherever the focus is", async () => {
    await other.goto(`${site}/web/tokens`);
    await other.getByRole("button", { name: "New token" }).click();
    await other.getByRole("dialog").getByRole("button", { name: "Make" }).click();
    const secret = other
      .getByRole("dialog")
      .getByText(/sha256:[0-9a-f]{64}/)
      .first();
    await secret.waitFor();
    for (let presses = 0; presses < 3; presses += 1) await other.keyboard.press("Escape");
    await secret.waitFor();
    await other.getByRole("dialog").getByRole("button", { name: "Close" }).click();
    await secret.waitFor({ state: "detached" });
  });

  test("the login comes before an open editor, and nothing but a login closes it", async () => {
    const account = await openPage("account", "Account");
    await account.getByRole("button", { name: "Log out everywhere" }).click();
    await account.getByRole("dialog").getByRole("button", { name: "Log out everywhere" }).click();
    await account.getByRole("heading", { level: 1, name: "Log in" }).waitFor();
    await account.close();
    await other.getByRole("link", { name: "Users" }).click();
    await other.getByText("Your session has ended").waitFor();

    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Your session has ended").waitFor();
    for (let presses = 0; presses < 3; presses += 1) await page.keyboard.press("Escape");
    expect(await faultsEverywhere(page)).toEqual([]);
  });

  test("the text is there after it, also where another admin has changed the document meanwhile: that is a conflict, and not lost", async () => {
    await cluster.putRole("all-hosts", { allow: { logins: ["root", "deploy"], node_labels: { "*": "*" } } });
    await page.getByLabel("Password").fill(boss.password);
    await page.getByLabel("Code").fill(codeAt(boss.otpauthUri, new Date(Date.now() + 30_000)));
    await page.keyboard.press("Enter");
    await page.getByText("Your session has ended").waitFor({ state: "detached" });
    expect(await editor().inputValue()).toContain(changed);
    expect(loads).toEqual(["GET"]);
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("button", { name: "Load the stored one, and lose my changes" }).click();
    await expect.poll(async () => await editor().inputValue()).toContain("deploy");
  });

  test("another page of the browser goes on with the session of that login, and does not end it", async () => {
    await other.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
    await other.getByRole("heading", { level: 1, name: "Users" }).waitFor();
    await other.getByText("Your session has ended").waitFor({ state: "detached" });
    await other.getByText("boss", { exact: true }).first().waitFor();
    const text = editor();
    await text.fill((await text.inputValue()).replace("name: all-hosts", `name: all-hosts\n  ${changed}`));
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("all-hosts has been saved").waitFor();
    expect(ui.troubles).toEqual([]);
  });

  test("a passkey is added, logs in without password and code, also over a page whose session has ended, and not once it is removed", async () => {
    const enrolled = { admin: cluster.admin, client: cluster.admin };
    const now = Date.now();
    const carol = await enrolUser(enrolled, { name: "carol", roles: ["access"], logins: ["root"] }, new Date(now - 30_000));
    await using context = await ui.chromium.newContext({ viewport: { width: 1280, height: 800 } });
    const mine = await context.newPage();
    ui.watch(mine);
    const device = await addAuthenticator(mine);
    // The dialogs and pages in each look only in the long run, and for pictures.
    const pictures = process.env.UI_PICTURES;
    const faults = async (name: string): Promise<readonly unknown[]> => {
      if (pictures === undefined) return long ? await faultsEverywhere(mine) : await faultsOf(mine);
      return await faultsEverywhere(mine, (look) => mine.screenshot({ path: join(pictures, `${name}-${look}.png`) }));
    };
    const withPasskey = () => mine.getByRole("button", { name: "Log in with a passkey" }).click();
    const dialog = mine.getByRole("dialog");
    await mine.goto(`${site}/web/account`);
    await mine.getByLabel("User").fill("carol");
    await mine.getByLabel("Password").fill(carol.password);
    await mine.getByLabel("Code").fill(codeAt(carol.otpauthUri, new Date(now)));
    await mine.keyboard.press("Enter");

    await mine.getByRole("button", { name: "Add a passkey…" }).click();
    await dialog.getByLabel("Name").fill("phone");
    await dialog.getByLabel("Password").fill(carol.password);
    await dialog.getByLabel("Code").fill(codeAt(carol.otpauthUri, new Date(now + 30_000)));
    expect(await faults("passkey-add")).toEqual([]);
    await dialog.getByRole("button", { name: "Continue" }).click();
    await mine.getByText("The passkey phone has been added.").waitFor();
    expect(await device.credentials()).toMatchObject([{ rpId: "localhost", isResidentCredential: true }]);

    await mine.getByRole("button", { name: "Log out", exact: true }).click();
    await mine.getByRole("heading", { level: 1, name: "Log in" }).waitFor();
    expect(await faults("passkey-login")).toEqual([]);
    await withPasskey();
    await mine.getByRole("row").filter({ hasText: "phone" }).waitFor();
    expect((await cluster.events("user.login")).at(-1)).toMatchObject({
      user: "carol",
      method: "passkey",
      mfa_device: "passkey phone",
      success: true,
    });

    const elsewhere = await context.newPage();
    await elsewhere.goto(`${site}/web/account`);
    await elsewhere.getByRole("button", { name: "Log out everywhere" }).click();
    await elsewhere.getByRole("dialog").getByRole("button", { name: "Log out everywhere" }).click();
    await elsewhere.getByRole("heading", { level: 1, name: "Log in" }).waitFor();
    await elsewhere.close();
    await mine.getByRole("link", { name: "Hosts" }).click();
    await mine.getByText("Your session has ended").waitFor();
    await withPasskey();
    await mine.getByText("Your session has ended").waitFor({ state: "detached" });

    await mine.goto(`${site}/web/account`);
    await mine.getByRole("heading", { level: 2, name: "Passkeys" }).scrollIntoViewIfNeeded();
    await mine.getByRole("button", { name: "Remove phone" }).scrollIntoViewIfNeeded();
    expect(await faults("passkeys")).toEqual([]);
    await mine.getByRole("button", { name: "Remove phone" }).click();
    expect(await faults("passkey-remove")).toEqual([]);
    await dialog.getByRole("button", { name: "Confirm with a passkey" }).click();
    await mine.getByText("The passkey phone has been removed.").waitFor();
    await mine.getByRole("button", { name: "Remove phone" }).waitFor({ state: "detached" });
    await mine.getByRole("button", { name: "Log out", exact: true }).click();
    await mine.getByRole("heading", { level: 1, name: "Log in" }).waitFor();
    await withPasskey();
    await mine.getByRole("alert").getByText("Could not log in with this passkey.").waitFor();
    expect(await mine.getByRole("heading", { level: 1, name: "Log in" }).count()).toBe(1);
    expect(ui.troubles).toEqual([]);
  });
});
