import axe from "axe-core";
import type { BrowserContext, Locator, Page } from "playwright-core";
import { type Chromium, openChromium } from "./chromium/chromium.ts";

export interface Login {
  readonly user: string;
  readonly password: string;
  /** One-time code. */
  readonly code: string;
}

/** The Web UI in a Chromium of its own, in one page at first. */
export interface UiPage extends AsyncDisposable {
  readonly chromium: Chromium;
  readonly context: BrowserContext;
  readonly page: Page;
  /** Violations of the policies of all pages, and errors of the scripts of those that are watched. */
  readonly troubles: readonly string[];
  /** The page's own heading. */
  heading(name: string): Locator;
  /** Opens an address that leads to the login, and logs in; `title` is what it leads to after that. */
  logIn(address: string, login: Login, title: string): Promise<void>;
  /** Adds what goes wrong in another page to `troubles`. */
  watch(page: Page): void;
}

/** `more`: further options of Chromium. */
export async function openUiPage(more: readonly string[] = []): Promise<UiPage> {
  const chromium = await openChromium(more);
  const context = await chromium.newContext({ viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  const troubles: string[] = [];
  const watch: UiPage["watch"] = (one) => {
    one.on("pageerror", (error) => troubles.push(String(error)));
    one.on("console", (message) => {
      if (message.type() === "error" && !message.text().startsWith("Failed to load resource")) troubles.push(message.text());
    });
  };
  watch(page);
  const heading: UiPage["heading"] = (name) => page.getByRole("heading", { level: 1, name });
  return {
    chromium,
    context,
    page,
    get troubles() {
      return [...troubles, ...chromium.violations];
    },
    heading,
    watch,
    logIn: async (address, { user, password, code }, title) => {
      await page.goto(address);
      await page.getByLabel("User").fill(user);
      await page.getByLabel("Password").fill(password);
      await page.getByLabel("Code").fill(code);
      await page.keyboard.press("Enter");
      await heading(title).waitFor();
    },
    [Symbol.asyncDispose]: () => chromium[Symbol.asyncDispose](),
  };
}

/** What axe finds wrong with a page as it is. */
export async function faultsOf(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe.source);
  return await page.evaluate<readonly string[]>(`(async () => {
    const { violations } = await axe.run();
    return violations.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => id + ": " + html + " " + failureSummary));
  })()`);
}

/** Themes and widths, of a desk and of a telephone, in which pages must be as they should. */
const looks = (["light", "dark"] as const).flatMap((colorScheme) => [1280, 320].map((width) => ({ colorScheme, width })));

/** Faults of a page in each of its looks, and overflows. `show` opens it, or makes a picture; it gets the look's name. */
export async function faultsEverywhere(page: Page, show: (look: string) => Promise<unknown> = async () => {}): Promise<readonly object[]> {
  const found: object[] = [];
  for (const { colorScheme, width } of looks) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: width === 320 ? 640 : 800 });
    await show(`${colorScheme}-${width}`);
    const faults = await faultsOf(page);
    /** Pixels by which it is wider than its window. */
    const overflow = await page.evaluate<number>("Math.max(0, document.documentElement.scrollWidth - document.documentElement.clientWidth)");
    if (faults.length > 0 || overflow > 0) found.push({ colorScheme, width, faults, overflow });
  }
  await page.setViewportSize({ width: 1280, height: 800 });
  return found;
}
