import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openShellPage, type ShellPage } from "../inside/shell-page.ts";
import { hasProgram } from "../world/has-program.ts";
import { takeDownloads } from "../world/take-downloads.ts";
import { openAsked } from "../world/terminal-page.ts";
import { faultsEverywhere, faultsOf } from "../world/ui-page.ts";

describe.skipIf(!hasProgram("chromium"))("files of a terminal's host in Chromium", () => {
  let all: ShellPage;
  let page: Page;
  let home: string;

  beforeAll(async () => {
    all = await openShellPage({ codes: 2 });
    ({ page } = all);
    ({ home } = all.host);
    await all.openShell();
  });
  afterAll(async () => {
    await all?.[Symbol.asyncDispose]();
  });

  test("sends a file to the host, asks before it replaces one, and fetches it", async () => {
    const [first, second] = [randomBytes(3_000_000), randomBytes(2_000_000)];
    const [folder, dialog] = [await mkdtemp(join(tmpdir(), "platform-downloads-")), page.getByRole("dialog")];
    try {
      await takeDownloads(page, all.ui.chromium, folder);
      await page.getByRole("button", { name: "Files…" }).click();
      const send = async (buffer: Buffer, more: readonly string[] = []): Promise<void> => {
        await dialog
          .getByLabel("Send files to this folder")
          .setInputFiles(["página.bin", ...more].map((name) => ({ name, mimeType: "application/octet-stream", buffer })));
        await dialog.getByRole("button", { name: "Send", exact: true }).click();
      };
      await send(first);
      await dialog.getByText(`${join(home, "página.bin")} is stored.`).waitFor();
      expect((await readFile(join(home, "página.bin"))).equals(first)).toBe(true);
      await send(second, ["other.bin"]);
      await dialog.getByText("exists there already").waitFor();
      await dialog.getByRole("button", { name: "Replace" }).click();
      for (const name of ["página.bin", "other.bin"]) await dialog.getByText(`${join(home, name)} is stored.`).waitFor();
      expect((await readFile(join(home, "other.bin"))).equals(second)).toBe(true);
      expect((await readFile(join(home, "página.bin"))).equals(second)).toBe(true);
      const path = dialog.getByLabel("Folder, or a file to fetch");
      await path.fill("gone.bin");
      await dialog.getByRole("button", { name: "Open", exact: true }).click();
      await dialog.getByRole("alert").getByText("No such file or directory").waitFor();
      await path.fill("página.bin");
      await path.press("Enter");
      await dialog.getByText("The browser saves").waitFor();
      await expect.poll(async () => await readdir(folder), { timeout: 20_000 }).toEqual(["página.bin"]);
      expect((await readFile(join(folder, "página.bin"))).equals(second)).toBe(true);
      // A listing after that fetches nothing again.
      await send(second);
      await dialog.getByRole("button", { name: "Replace" }).click();
      await dialog.getByText("is stored.").waitFor();
      await writeFile(join(home, "página.bin"), "");
      // A folder and a file whose names are not UTF-8, in the listing.
      const strange = Buffer.concat([Buffer.from(join(home, "z")), Buffer.from([0xff, 0xfe])]);
      await mkdir(strange);
      await writeFile(Buffer.concat([strange, Buffer.from("/"), Buffer.from([0xff])]), second);
      await path.fill("");
      await path.press("Enter");
      await dialog.getByRole("button", { name: "z\ufffd\ufffd/" }).click();
      await dialog.getByRole("button", { name: "\ufffd", exact: true }).click();
      await expect.poll(async () => (await readdir(folder)).length, { timeout: 20_000 }).toBe(2);
      await send(first);
      await dialog.getByText("is stored.").waitFor();
      expect((await readFile(Buffer.concat([strange, Buffer.from("/página.bin")]))).equals(first)).toBe(true);
      await dialog.getByRole("button", { name: "Up" }).click();
      await dialog.getByRole("button", { name: "other.bin" }).waitFor();
      expect(await readdir(folder)).toHaveLength(2);
      expect(await faultsEverywhere(page)).toEqual([]);
    } finally {
      await dialog.getByRole("button", { name: "Close" }).click();
      await rm(folder, { recursive: true, force: true });
    }
  });

  test("where a role demands a code for each session, the terminal and the files ask for one each, by keyboard alone", async ({ onTestFinished }) => {
    const options = { require_session_mfa: true };
    await all.cluster.putRole("shells", { allow: { logins: [all.login], node_labels: { "*": "*" } }, options });
    await page.goto(all.address);
    await openAsked(page);
    const field = page.getByRole("textbox", { name: "Code from your authenticator app" });
    const reason = "Host web-1 needs a one-time code for each session (role shells, require_session_mfa).";
    const asks = async (): Promise<void> => {
      await page.getByRole("dialog", { name: "Enter code" }).getByText(reason).waitFor();
      expect(await page.evaluate("document.activeElement?.name")).toBe("code");
    };
    await asks();
    expect(await field.getAttribute("autocomplete")).toBe("one-time-code");
    const pictures = process.env.UI_PICTURES;
    const picture = async (look: string): Promise<void> => {
      if (pictures !== undefined) await page.screenshot({ path: join(pictures, `code-${look}.png`) });
    };
    expect(await faultsEverywhere(page, picture)).toEqual([]);
    await page.keyboard.press("Escape");
    await expect.poll(async () => await page.evaluate("document.activeElement?.textContent")).toBe("Enter code");
    await page.getByRole("status").getByText(reason).waitFor();
    if (pictures === undefined) expect(await faultsOf(page)).toEqual([]);
    else expect(await faultsEverywhere(page, async (look) => await picture(`left-${look}`))).toEqual([]);
    await page.keyboard.press("Enter");
    await asks();
    await page.keyboard.type("00000");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").getByRole("alert").getByText("Wrong one-time code, or one that was used before.").waitFor();
    expect(await field.inputValue()).toBe("");
    await asks();
    await page.keyboard.type(all.code());
    await page.keyboard.press("Enter");
    await all.ui.heading(`${all.login}@web-1`).waitFor();
    expect(all.host.events.findLast(({ event }) => event === "session.start")).toMatchObject({ user: "alice", with_mfa: "otp" });
    await expect.poll(async () => await page.evaluate("document.activeElement?.className")).toBe("xterm-helper-textarea");
    // The files are another thing: their own code is for all that is done with them while the page is open.
    const files = page.getByRole("dialog", { name: "Files" });
    const folder = await mkdtemp(join(tmpdir(), "platform-downloads-"));
    onTestFinished(async () => await rm(folder, { recursive: true, force: true }));
    await takeDownloads(page, all.ui.chromium, folder);
    for (const isFirst of [true, false]) {
      await page.getByRole("button", { name: "Files…" }).click();
      if (isFirst) {
        await asks();
        await page.keyboard.type(all.code());
        await page.keyboard.press("Enter");
      }
      const name = isFirst ? "one.bin" : "two.bin";
      await files.getByLabel("Send files to this folder").setInputFiles({ name, mimeType: "application/octet-stream", buffer: randomBytes(100_000) });
      await files.getByRole("button", { name: "Send", exact: true }).click();
      await files.getByText(`${join(home, name)} is stored.`).waitFor();
      await files.getByRole("button", { name, exact: true }).click();
      await expect.poll(async () => await readdir(folder), { timeout: 20_000 }).toContain(name);
      await files.getByRole("button", { name: "Close" }).click();
    }
    await page.locator(".xterm").click();
    await page.keyboard.type("exit");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Open a new session" }).click();
    await asks();
    await page.keyboard.press("Escape");
  });

  test("no page has broken its policy, or failed", () => {
    expect(all.ui.troubles).toEqual([]);
  });
});
