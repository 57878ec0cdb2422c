import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openShellPage, type ShellPage } from "../inside/shell-page.ts";
import { hasProgram } from "../world/has-program.ts";
import { takeDownloads } from "../world/take-downloads.ts";
import { faultsEverywhere } from "../world/ui-page.ts";

describe.skipIf(!hasProgram("chromium"))("files of a terminal's host in Chromium", () => {
  let all: ShellPage;
  let page: Page;
  let home: string;

  beforeAll(async () => {
    all = await openShellPage();
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

  test("no page has broken its policy, or failed", () => {
    expect(all.ui.troubles).toEqual([]);
  });
});
