import { openChromium } from "./chromium/chromium.ts";

export interface Visit {
  readonly url: string;
  /** Chromium's rules for names of hosts. */
  readonly rules: string;
  readonly user: string;
  readonly password: string;
  /** One-time code. */
  readonly code: string;
}

/** Time for each step, ms. */
const stepMs = 60_000;

/** Opens a web application in Chromium, logs in where that leads to, and returns what the application shows. */
export async function visitApp({ url, rules, user, password, code }: Visit): Promise<string> {
  await using chromium = await openChromium([`--host-resolver-rules=${rules}`]);
  const page = await chromium.browser.newPage({ ignoreHTTPSErrors: true });
  page.setDefaultTimeout(stepMs);
  await page.goto(url);
  await page.getByLabel("User").fill(user);
  await page.getByLabel("Password").fill(password);
  await page.getByLabel("Code").fill(code);
  await page.keyboard.press("Enter");
  await page.waitForURL(url);
  return (await page.locator("body").textContent()) ?? "";
}
