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

/** In a page: which field has the focus, and what is in it. */
const field = "[document.activeElement.name, document.activeElement.value]";

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

  /** A new user with a device for passkeys, logged in on the own account's page. */
  async function atAccount(name: string) {
    const now = Date.now();
    const enrolled = { admin: cluster.admin, client: cluster.admin };
    const user = await enrolUser(enrolled, { name, roles: ["access"], logins: ["root"] }, new Date(now - 30_000));
    const context = await ui.chromium.newContext({ viewport: { width: 1280, height: 800 } });
    const mine = await context.newPage();
    ui.watch(mine);
    const device = await addAuthenticator(mine);
    await mine.goto(`${site}/web/account`);
    await mine.getByLabel("User").fill(name);
    await mine.getByLabel("Password").fill(user.password);
    await mine.getByLabel("Code").fill(codeAt(user.otpauthUri, new Date(now)));
    await mine.keyboard.press("Enter");
    const nextCode = codeAt(user.otpauthUri, new Date(now + 30_000));
    return { mine, dialog: mine.getByRole("dialog"), device, user, nextCode, [Symbol.asyncDispose]: () => context[Symbol.asyncDispose]() };
  }

  test("a passkey is added, logs in without password and code, also over a page whose session has ended, and not once it is removed", async () => {
    await using opened = await atAccount("carol");
    const { mine, dialog, device, user: carol } = opened;
    // The dialogs and pages in each look only in the long run, and for pictures.
    const pictures = process.env.UI_PICTURES;
    const faults = async (name: string): Promise<readonly unknown[]> => {
      if (pictures === undefined) return long ? await faultsEverywhere(mine) : await faultsOf(mine);
      return await faultsEverywhere(mine, (look) => mine.screenshot({ path: join(pictures, `${name}-${look}.png`) }));
    };
    const withPasskey = () => mine.getByRole("button", { name: "Log in with a passkey" }).click();
    await mine.getByRole("button", { name: "Add a passkey…" }).click();
    await dialog.getByLabel("Name").fill("phone");
    await dialog.getByLabel("Password").fill(carol.password);
    await dialog.getByLabel("Code").fill(opened.nextCode);
    expect(await faults("passkey-add")).toEqual([]);
    // A question of the browser that comes to nothing costs no other code.
    await device.verify(false);
    await dialog.getByRole("button", { name: "Continue" }).click();
    await dialog.getByRole("alert").getByText("No passkey was made. Continue, and your browser asks again").waitFor();
    await dialog.getByLabel("Code").waitFor({ state: "hidden" });
    expect(await faults("passkey-again")).toEqual([]);
    await device.verify(true);
    await dialog.getByRole("button", { name: "Continue" }).click();
    await mine.getByText("The passkey phone has been added.").waitFor();
    const made = await device.credentials();
    expect(made).toMatchObject([{ rpId: "localhost", isResidentCredential: true }]);

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

    const elsewhere = await mine.context().newPage();
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
    await mine.getByRole("button", { name: "Change password…" }).click();
    await dialog.getByText("Your passkey goes on logging you in.").waitFor();
    expect(await faults("passkey-password")).toEqual([]);
    await dialog.getByLabel("Old password").fill(carol.password);
    for (const label of ["New password 12", "New password again"]) await dialog.getByLabel(label).fill("another correct horse");
    await dialog.getByLabel("Code").fill("000000");
    await dialog.getByLabel("Remove my passkeys too").check();
    const [change] = await Promise.all([mine.waitForRequest("**/password"), dialog.getByRole("button", { name: "Change password" }).click()]);
    expect(change.postDataJSON()).toMatchObject({ remove_passkeys: true });
    await dialog.getByRole("alert").waitFor();
    await expect.poll(async () => await mine.evaluate(field)).toEqual(["code", ""]);
    await dialog.getByRole("button", { name: "Cancel" }).click();

    await mine.getByRole("button", { name: "Remove phone" }).click();
    expect(await faults("passkey-remove")).toEqual([]);
    const confirm = () => dialog.getByRole("button", { name: "Confirm with a passkey" }).click();
    await device.verify(false);
    await confirm();
    await dialog.getByRole("alert").getByText("No passkey was used.").waitFor();
    await device.verify(true);
    // A dialog that closes takes the browser's question with it: the next question would be refused beside it.
    await device.attend(false);
    await confirm();
    await dialog.getByRole("alert").waitFor({ state: "detached" });
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await dialog.waitFor({ state: "detached" });
    await device.attend(true);
    await mine.getByRole("button", { name: "Remove phone" }).click();
    await confirm();
    await mine.getByText("The passkey phone has been removed.").waitFor();
    await mine.getByRole("button", { name: "Remove phone" }).waitFor({ state: "detached" });
    // The browser forgets it too.
    await expect.poll(device.credentials).toEqual([]);
    await mine.getByRole("button", { name: "Log out", exact: true }).click();
    await mine.getByRole("heading", { level: 1, name: "Log in" }).waitFor();
    for (const credential of made) await device.keep(credential);
    await withPasskey();
    await mine.getByRole("alert").getByText("Could not log in with this passkey.").waitFor();
    expect(await mine.getByRole("heading", { level: 1, name: "Log in" }).count()).toBe(1);
    await expect.poll(device.credentials).toEqual([]);
    expect(ui.troubles).toEqual([]);
  });

  test("a new passkey that the service refuses is said to be of no use, and its device forgets it", async () => {
    await using opened = await atAccount("dave");
    const { mine, dialog, device, user: dave } = opened;
    // The page's answer is for another handle, on its way to the service.
    await mine.route("**/webapi/v1/passkeys", async (route) => {
      const sent = route.request().postDataJSON() as object | null;
      await route.continue(sent === null ? {} : { postData: { ...sent, user_handle: "A".repeat(43) } });
    });
    await mine.getByRole("button", { name: "Add a passkey…" }).click();
    await dialog.getByLabel("Password").fill(dave.password);
    await dialog.getByLabel("Code").fill(opened.nextCode);
    await dialog.getByRole("button", { name: "Continue" }).click();
    await dialog.getByRole("alert").getByText("made on your device is of no use: remove dave at localhost from the passkeys").waitFor();
    await expect.poll(async () => await mine.evaluate(field)).toEqual(["code", ""]);
    await expect.poll(device.credentials).toEqual([]);
  });
});
