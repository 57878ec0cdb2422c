import { readdir } from "node:fs/promises";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openShellPage, type ShellPage } from "../inside/shell-page.ts";
import { openBrowser } from "../inside/web-browser.ts";
import { openWebTerminal } from "../inside/web-terminal.ts";
import { hasProgram } from "../world/has-program.ts";
import { openAsked, type TerminalScreen, terminalQuestion } from "../world/terminal-page.ts";
import { faultsEverywhere, faultsOf } from "../world/ui-page.ts";

const { title: question } = terminalQuestion;

/** A terminal's page that the user has come to by a click in the Web UI, and in other ways. */
describe.skipIf(!hasProgram("chromium"))("opening a terminal in Chromium", () => {
  let all: ShellPage;
  let page: Page;
  let screen: TerminalScreen;
  /** WebSockets that pages have opened. */
  const sockets: string[] = [];

  beforeAll(async () => {
    all = await openShellPage({ more: { join_sessions: [{ name: "all", roles: ["*"], kinds: ["*"], modes: ["*"] }] } });
    ({ page, screen } = all);
    const follow = (one: Page): void => void one.on("websocket", (socket) => sockets.push(socket.url()));
    follow(page);
    all.context.on("page", (opened) => {
      follow(opened);
      all.ui.watch(opened);
      opened.on("dialog", (dialog) => void dialog.accept());
    });
  });
  afterAll(async () => {
    await all?.[Symbol.asyncDispose]();
  });

  const ends = (): number => all.host.events.filter(({ event }) => event === "session.end").length;
  const facts = async (): Promise<readonly string[]> => await page.locator("dd").allTextContents();

  /** Presses a button that opens a page. */
  async function pageOf(button: string): Promise<Page> {
    const [opened] = await Promise.all([all.context.waitForEvent("page"), page.getByRole("button", { name: button }).click()]);
    return opened;
  }
  /** Follows a link that leads to an address from a page of another site. */
  async function followLink(address: string): Promise<void> {
    await page.goto("about:blank");
    await page.setContent(`<a href="${address.replaceAll("&", "&amp;")}">news</a>`);
    await page.getByRole("link").click();
  }

  test("a click in the list of hosts opens it at once, in a page of its own, with the focus in it", async () => {
    await page.getByRole("button", { name: "web-1" }).click();
    await page.getByRole("textbox", { name: "Login" }).fill(all.login);
    const opened = await pageOf("Open in the browser");
    await opened.getByRole("heading", { level: 1, name: `${all.login}@web-1` }).waitFor();
    await expect.poll(async () => await opened.evaluate("document.activeElement?.className")).toBe("xterm-helper-textarea");
    expect(sockets).toHaveLength(1);
    await opened.close();
  });

  test("a link opens nothing: what is typed and pasted reaches no host before the user has pressed Open", async () => {
    sockets.splice(0);
    await followLink(all.address);
    await all.ui.heading(question).waitFor();
    await page.getByRole("button", { name: "Open", exact: true }).waitFor();
    expect(await facts()).toEqual(["web-1", all.host.agent.id, "none", all.login]);
    expect(await faultsEverywhere(page)).toEqual([]);
    expect(await page.evaluate("document.activeElement.textContent")).toBe(question);
    await screen.line("touch typed");
    await page.evaluate(`{
      const data = new DataTransfer();
      data.setData("text/plain", "touch pasted\\n");
      document.activeElement.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
    }`);
    // The page comes to the front just when the user clicks.
    await page.evaluate(`dispatchEvent(new Event("focus")); document.querySelector("main button.primary").click()`);
    await page.getByRole("status").filter({ hasText: "press Open again" }).waitFor();
    expect(sockets).toEqual([]);
    await openAsked(page);
    await all.ui.heading(`${all.login}@web-1`).waitFor();
    expect(sockets).toHaveLength(1);
    await screen.line("touch meant; echo do''ne");
    await expect.poll(screen.shown).toContain("done");
    expect(await readdir(all.host.home)).toEqual(["meant"]);
  });

  test("loading the page again ends the session, and asks before the next one", async () => {
    const before = ends();
    await page.reload();
    await all.ui.heading(question).waitFor();
    await expect.poll(ends, { timeout: 10_000 }).toBe(before + 1);
    expect(sockets).toHaveLength(1);
    await openAsked(page);
    await all.ui.heading(`${all.login}@web-1`).waitFor();
  });

  test("a name in the address is that of the host, and one that nobody knows is not; Cancel leads to the list", async () => {
    await page.goto(`${all.site}/web/terminal?node=web-1&login=root`);
    await page.getByRole("link", { name: "Cancel" }).waitFor();
    expect(await facts()).toEqual(["web-1", all.host.agent.id, "none", "root"]);
    await page.goto(`${all.site}/web/terminal?node=web-%22\u202e&login=root`);
    await page.getByText(`$'web-"\\u202e' is not the name or id of one host that you may reach`).waitFor();
    expect(await faultsOf(page)).toEqual([]);
    await page.getByRole("link", { name: "Cancel" }).click();
    await all.ui.heading("Hosts").waitFor();
  });

  test("a click takes part in a session at once; a link to it shows whose it is, and asks", async () => {
    const ben = await openBrowser(all.cluster, "ben", ["shells"]);
    const session = await openWebTerminal(all.cluster, ben, { type: "open", node: all.host.agent.id, login: all.login, cols: 80, rows: 24 });
    await page.goto(`${all.site}/web/sessions`);
    await page.getByRole("row").filter({ hasText: "ben" }).getByRole("button").click();
    const peer = await pageOf("Take part in the browser");
    await peer.getByRole("status").filter({ hasText: "You take part" }).waitFor();
    const { searchParams } = new URL(peer.url());
    await peer.close();
    sockets.splice(0);
    await followLink(peer.url());
    await all.ui.heading(question).waitFor();
    await page.getByRole("button", { name: "Open", exact: true }).waitFor();
    const [sid, user, where, , part] = await facts();
    expect([sid, user, where, part]).toEqual([searchParams.get("session"), "ben", `${all.login}@web-1`, "take part: what you type is sent"]);
    expect(await faultsEverywhere(page)).toEqual([]);
    await screen.line("echo from-a''lice");
    expect(sockets).toEqual([]);
    await openAsked(page);
    await page.getByRole("status").filter({ hasText: "You take part" }).waitFor();
    await screen.line("echo later-from-a''lice");
    await expect.poll(session.output).toContain("later-from-alice");
    expect(session.output()).not.toMatch(/^from-alice/m);
    session.send({ type: "end" });
    await page.getByRole("button", { name: "Join again" }).waitFor();
    await page.reload();
    await page.getByText("is not a running session that you may see").waitFor();
    await page.getByRole("link", { name: "Cancel" }).click();
    await all.ui.heading("Sessions").waitFor();
  });

  test("no page has broken its policy, or failed", () => {
    expect(all.ui.troubles).toEqual([]);
  });
});
