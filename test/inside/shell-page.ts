import { userInfo } from "node:os";
import type { BrowserContext, Page } from "playwright-core";
import { codeAt } from "../world/one-time-code.ts";
import { openAsked, type TerminalScreen, terminalScreen } from "../world/terminal-page.ts";
import { openUiPage, type UiPage } from "../world/ui-page.ts";
import { until } from "../world/until.ts";
import { enrolUser } from "./enrol-user.ts";
import { startTestCluster, type TestCluster } from "./open-cluster.ts";
import { type SshHost, startSshHost } from "./ssh-host.ts";

/** The user alice in Chromium at the list of hosts, of which web-1 is the only one. */
export interface ShellPage extends AsyncDisposable {
  readonly cluster: TestCluster;
  readonly host: SshHost;
  /** As whom alice may log in: the user of the tests. */
  readonly login: string;
  readonly ui: UiPage;
  readonly context: BrowserContext;
  readonly page: Page;
  readonly screen: TerminalScreen;
  /** The proxy's address. */
  readonly site: string;
  /** Of the page with a shell on web-1. */
  readonly address: string;
  /** Opens a shell on web-1 without a prompt of its own. */
  openShell(): Promise<void>;
  /** A code of alice that has not been used yet: the cluster's clock moves on for it. */
  code(): string;
}

/** Step of codes, ms. */
const stepMs = 30_000;

export interface ShellPageOptions {
  /** What alice's role allows besides shells. */
  readonly more?: Readonly<Record<string, unknown>>;
  /** Number of codes that are used after the login: the cluster's clock is behind at first, by as many steps, as hosts refuse certificates that begin later than now. */
  readonly codes?: number;
}

export async function openShellPage({ more = {}, codes = 0 }: ShellPageOptions = {}): Promise<ShellPage> {
  await using opened = new AsyncDisposableStack();
  const login = userInfo().username;
  let behind = codes * stepMs;
  const now = (): Date => new Date(Date.now() - behind);
  const cluster = opened.use(await startTestCluster({ now }));
  await cluster.putRole("shells", { allow: { logins: [login], node_labels: { "*": "*" }, ...more } });
  const host = opened.use(await startSshHost(cluster, "web-1"));
  const wish = { name: "alice", roles: ["shells"], logins: [login] };
  const { password, otpauthUri } = await enrolUser({ admin: cluster.admin, client: cluster.admin }, wish, now());
  // The next step's code is good already.
  const next = (): string => codeAt(otpauthUri, new Date(now().getTime() + stepMs));
  const code = (): string => {
    behind -= stepMs;
    return next();
  };
  const site = `https://localhost:${cluster.proxy.addresses.web.port}`;
  const address = `${site}/web/terminal?node=${host.agent.id}&login=${login}`;
  const ui = opened.use(await openUiPage());
  const { page, context } = ui;
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  page.on("dialog", (dialog) => void dialog.accept());
  await ui.logIn(`${site}/web/hosts`, { user: "alice", password, code: next() }, "Hosts");
  const screen = terminalScreen(page, context);
  const openShell = async (): Promise<void> => {
    await page.goto(address);
    await openAsked(page);
    await ui.heading(`${login}@web-1`).waitFor();
    await screen.line("exec sh");
    await screen.line("PS1='' PS2=''; stty -echo; clear; echo re''ady");
    await until("the shell answers", async () => (await screen.shown()).startsWith("ready"));
  };
  const all = opened.move();
  return { cluster, host, login, ui, context, page, screen, site, address, openShell, code, [Symbol.asyncDispose]: () => all.disposeAsync() };
}
