import { openChromium } from "./chromium/chromium.ts";
import { terminalScreen } from "./terminal-page.ts";
import { until } from "./until.ts";

export interface Visit {
  /** Address of a web application. */
  readonly app: string;
  /** Address of the Web UI's list of hosts. */
  readonly hosts: string;
  /** A host of that list. */
  readonly host: string;
  /** As whom to log in there. */
  readonly login: string;
  /** Chromium's rules for names of hosts. */
  readonly rules: string;
  readonly user: string;
  readonly password: string;
  /** One-time code. */
  readonly code: string;
}

export interface Visited {
  /** Text of the application's page. */
  readonly app: string;
  /** Text of the terminal's screen. */
  readonly terminal: string;
}

/** Time for each step, ms. */
const stepMs = 60_000;

/** Opens a web application in Chromium and logs in where that leads to; then opens a terminal from the list of hosts, in which the host prints its name. */
export async function visitDemo({ app, hosts, host, login, rules, user, password, code }: Visit): Promise<Visited> {
  await using chromium = await openChromium([`--host-resolver-rules=${rules}`]);
  const context = await chromium.newContext();
  context.setDefaultTimeout(stepMs);
  const page = await context.newPage();
  await page.goto(app);
  await page.getByLabel("User").fill(user);
  await page.getByLabel("Password").fill(password);
  await page.getByLabel("Code").fill(code);
  await page.keyboard.press("Enter");
  await page.waitForURL(app);
  const shown = (await page.locator("body").textContent()) ?? "";
  await page.goto(hosts);
  await page.getByRole("button", { name: host, exact: true }).click();
  await page.getByRole("textbox", { name: "Login" }).fill(login);
  const [opened] = await Promise.all([context.waitForEvent("page"), page.getByRole("button", { name: "Open in the browser" }).click()]);
  await opened.getByRole("heading", { level: 1, name: `${login}@${host}` }).waitFor();
  // What is typed before that goes nowhere.
  await opened.locator("textarea.xterm-helper-textarea:focus").waitFor({ state: "attached" });
  const screen = terminalScreen(opened, context);
  await screen.line('echo "terminal: $((6 * 7)) on $(hostname)"');
  await until("the host answers in the terminal", async () => (await screen.shown()).includes("terminal: 42 on "));
  return { app: shown, terminal: await screen.shown() };
}
