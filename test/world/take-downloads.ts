import { chmod } from "node:fs/promises";
import type { Page } from "playwright-core";
import type { Chromium } from "./chromium/chromium.ts";

/** From now on the pages of this page's window save files to a folder. The browser is another user of this machine: the folder is opened to all. */
export async function takeDownloads(page: Page, { browser }: Pick<Chromium, "browser">, folder: string): Promise<void> {
  await chmod(folder, 0o777);
  const session = await page.context().newCDPSession(page);
  const { targetInfo } = (await session.send("Target.getTargetInfo")) as { targetInfo: { browserContextId?: string } };
  await session.detach();
  const { browserContextId = "" } = targetInfo;
  const whole = await browser.newBrowserCDPSession();
  await whole.send("Browser.setDownloadBehavior", { behavior: "allow", browserContextId, downloadPath: folder });
}
