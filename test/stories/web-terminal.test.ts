import { createHash, randomBytes } from "node:crypto";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import type { BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { enrolUser, type TestUser } from "../inside/enrol-user.ts";
import { startTestCluster, type TestCluster } from "../inside/open-cluster.ts";
import { type SshHost, startSshHost } from "../inside/ssh-host.ts";
import { hasProgram } from "../world/has-program.ts";
import { codeAt } from "../world/one-time-code.ts";
import { rounds } from "../world/rounds.ts";
import { followSize, type TerminalScreen, terminalScreen } from "../world/terminal-page.ts";
import { faultsEverywhere, faultsOf, openUiPage, type UiPage } from "../world/ui-page.ts";

const login = userInfo().username;

describe.skipIf(!hasProgram("chromium"))("a terminal in Chromium", () => {
  let cluster: TestCluster;
  let host: SshHost;
  let alice: TestUser;
  let ui: UiPage;
  let context: BrowserContext;
  let page: Page;
  let screen: TerminalScreen;
  let site: string;

  beforeAll(async () => {
    cluster = await startTestCluster();
    await cluster.putRole("shells", { allow: { logins: [login], node_labels: { "*": "*" } } });
    host = await startSshHost(cluster, "web-1");
    alice = await enrolUser({ admin: cluster.admin, client: cluster.admin }, { name: "alice", roles: ["shells"], logins: [login] }, new Date());
    site = `https://localhost:${cluster.proxy.addresses.web.port}`;
    ui = await openUiPage();
    ({ page, context } = ui);
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    screen = terminalScreen(page, context);
    page.on("dialog", (dialog) => void dialog.accept());
    const { password, otpauthUri } = alice;
    await ui.logIn(`${site}/web/hosts`, { user: "alice", password, code: codeAt(otpauthUri, new Date(Date.now() + 30_000)) }, "Hosts");
  });
  afterAll(async () => {
    await ui[Symbol.asyncDispose]();
    await host[Symbol.asyncDispose]();
    await cluster[Symbol.asyncDispose]();
  });

  const shown = async (): Promise<string> => await screen.shown();
  const line = async (text: string): Promise<void> => await screen.line(text);

  /** Rows and columns that `followSize` has printed. */
  const sizes = async (): Promise<readonly string[]> => (await shown()).match(/^\d+ \d+$/gm) ?? [];
  async function stopFollowing(): Promise<void> {
    await page.keyboard.press("Control+C");
    await line(followSize.end);
  }

  /** A shell without a prompt of its own. */
  async function openShell(): Promise<void> {
    await page.goto(`${site}/web/terminal?node=${host.agent.id}&login=${login}`);
    await page.getByRole("heading", { level: 1, name: `${login}@web-1` }).waitFor();
    await line("exec sh");
    await line("PS1='' PS2=''; stty -echo; clear; echo re''ady");
    await expect.poll(shown, { timeout: 15_000 }).toMatch(/^ready/);
  }

  test("opens from the list of hosts, in a page of its own, with the focus in it", async () => {
    await page.getByRole("button", { name: "web-1" }).click();
    await page.getByRole("textbox", { name: "Login" }).fill(login);
    const [opened] = await Promise.all([context.waitForEvent("page"), page.getByRole("button", { name: "Open in the browser" }).click()]);
    await opened.getByRole("heading", { level: 1, name: `${login}@web-1` }).waitFor();
    await expect.poll(async () => await opened.evaluate("document.activeElement?.className")).toBe("xterm-helper-textarea");
    await opened.close();
    await openShell();
  });

  test("shows what programs print, in any script, and follows the size of the window", async () => {
    await line("echo grüß 漢字");
    await expect.poll(shown).toContain("grüß 漢字");
    await line(followSize.begin);
    await expect.poll(shown).toMatch(/^\d+ \d+$/m);
    const [before = ""] = await sizes();
    await page.setViewportSize({ width: 900, height: 600 });
    await expect.poll(async () => (await sizes()).at(-1)).not.toBe(before);
    await page.setViewportSize({ width: 1280, height: 800 });
    await expect.poll(async () => (await sizes()).at(-1)).toBe(before);
    await stopFollowing();
  });

  test.skipIf(!hasProgram("vim"))("runs a full-screen program at 200 columns and 60 lines", async () => {
    await line(followSize.begin);
    await page.setViewportSize({ width: 2100, height: 1500 });
    await expect
      .poll(async () => {
        const [rows, cols] = ((await sizes()).at(-1) ?? "").split(" ");
        return Number(rows) >= 60 && Number(cols) >= 200;
      })
      .toBe(true);
    await stopFollowing();
    await line("LC_ALL=C.UTF-8 vim -u NONE -i NONE written.txt");
    await expect.poll(shown).toContain("written.txt");
    await page.keyboard.type("i漢字 in vim");
    await page.keyboard.press("Escape");
    await expect.poll(shown).toContain("漢字 in vim");
    await line(":wq");
    await expect.poll(shown).not.toContain("in vim");
    expect(await readFile(join(host.home, "written.txt"), "utf8")).toBe("漢字 in vim\n");
    await page.setViewportSize({ width: 1280, height: 800 });
  });

  test("interrupts a program with Ctrl-C, and copies what is selected", async () => {
    await line("clear; sh -c 'echo sta''rted; sleep 1000'");
    await expect.poll(shown).toContain("started");
    await page.keyboard.press("Control+C");
    await line("echo words-$?");
    await expect.poll(shown).toContain("words-130");
    await page.locator(".xterm-rows").getByText("words-130").dblclick({ force: true });
    await page.keyboard.press("Control+Shift+C");
    await expect.poll(() => screen.clipboard()).toBe("words-130");
  });

  test("shows 24-bit colours", async () => {
    await line("clear; printf '\\033[38;2;1;200;3mcol''oured\\033[0m\\n'");
    const colour = `getComputedStyle([...document.querySelectorAll(".xterm-rows span")].find((one) => one.textContent === "coloured") ?? document.body).color`;
    await expect.poll(async () => await page.evaluate(colour)).toBe("rgb(1, 200, 3)");
  });

  test("takes a megabyte from the clipboard as it is", async () => {
    const pasted = randomBytes(768 * 1024).toString("base64");
    await line("clear; stty raw; echo g''o; head -c 1048576 > pasted; stty cooked; echo do''ne");
    await expect.poll(shown).toContain("go");
    await page.evaluate(`{
      const data = new DataTransfer();
      data.setData("text/plain", "${pasted}");
      document.activeElement?.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
    }`);
    await expect.poll(shown, { timeout: 60_000 }).toContain("done");
    const hash = (bytes: string | Buffer) => createHash("sha256").update(bytes).digest("hex");
    expect(hash(await readFile(join(host.home, "pasted")))).toBe(hash(pasted));
  });

  test("what programs print reaches nothing outside it", async () => {
    await line("stty sane; stty -echo; clear");
    await line(`printf '\\033]2;<img src=x onerror=document.body.remove()>\\007'; echo ti''tled`);
    await expect.poll(shown).toContain("titled");
    expect(await page.locator(".terminal-title").textContent()).toBe("<img src=x onerror=document.body.remove()>");
    expect(await page.locator("main img").count()).toBe(0);
    await line(`printf '\\033]52;c;aGVsbG8=\\007\\033]8;;javascript:document.body.remove()\\033\\\\press-me\\033]8;;\\033\\\\\\n'`);
    await expect.poll(shown).toContain("press-me");
    await screen.press("press-me");
    expect(await page.getByRole("dialog").count()).toBe(0);
    expect(await screen.clipboard()).toBe("words-130");
    await page.getByRole("heading", { level: 1, name: `${login}@web-1` }).waitFor();
  });

  test("a flood of output leaves echo quick, and the memory of page and proxy as it was", async () => {
    const bytes = rounds(200_000_000, 8_000_000);
    const fill = async (count: number): Promise<void> => {
      await line(`clear; yes 'a line of output that a program writes without end' | head -c ${count}; clear; echo all-$((${count} + 1))`);
      await expect.poll(shown, { timeout: 600_000 }).toContain(`all-${count + 1}`);
    };
    // What the first one needs stays.
    await fill(2_000_000);
    const [heapBefore, proxyBefore] = [await screen.heap(), process.memoryUsage().rss];
    await fill(bytes);
    expect((await screen.heap()) - heapBefore).toBeLessThan(16_777_216);
    expect(process.memoryUsage().rss - proxyBefore).toBeLessThan(134_217_728);
    await line("stty echo; echo ec''hoes; cat > /dev/null");
    await expect.poll(shown).toContain("echoes");
    const times: number[] = [];
    for (let at = 0; at < 9; at += 1) times.push(await screen.echo(`e${at}o`));
    await page.keyboard.press("Control+C");
    await line("stty -echo");
    const median = times.toSorted((one, other) => one - other)[4];
    expect(median, JSON.stringify(times)).toBeLessThan(100);
  }, 700_000);

  test("sends a file to the host, asks before it replaces one, and fetches it", async () => {
    const [first, second] = [randomBytes(3_000_000), randomBytes(2_000_000)];
    const [folder, dialog] = [await mkdtemp(join(tmpdir(), "platform-downloads-")), page.getByRole("dialog")];
    try {
      // The browser is another user of this machine.
      await chmod(folder, 0o777);
      const cdp = await context.newCDPSession(page);
      const { targetInfo } = (await cdp.send("Target.getTargetInfo")) as { targetInfo: { browserContextId?: string } };
      const { browserContextId = "" } = targetInfo;
      const all = await ui.chromium.browser.newBrowserCDPSession();
      await all.send("Browser.setDownloadBehavior", { behavior: "allow", browserContextId, downloadPath: folder });
      await page.getByRole("button", { name: "Files…" }).click();
      const send = async (buffer: Buffer, more: readonly string[] = []): Promise<void> => {
        await dialog
          .getByLabel("Send files to this folder")
          .setInputFiles(["página.bin", ...more].map((name) => ({ name, mimeType: "application/octet-stream", buffer })));
        await dialog.getByRole("button", { name: "Send", exact: true }).click();
      };
      await send(first);
      await dialog.getByText(`${join(host.home, "página.bin")} is stored.`).waitFor();
      expect((await readFile(join(host.home, "página.bin"))).equals(first)).toBe(true);
      await send(second, ["other.bin"]);
      await dialog.getByText("exists there already").waitFor();
      await dialog.getByRole("button", { name: "Replace" }).click();
      for (const name of ["página.bin", "other.bin"]) await dialog.getByText(`${join(host.home, name)} is stored.`).waitFor();
      expect((await readFile(join(host.home, "other.bin"))).equals(second)).toBe(true);
      expect((await readFile(join(host.home, "página.bin"))).equals(second)).toBe(true);
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
      await writeFile(join(host.home, "página.bin"), "");
      // A folder and a file whose names are not UTF-8, in the listing.
      const strange = Buffer.concat([Buffer.from(join(host.home, "z")), Buffer.from([0xff, 0xfe])]);
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
      await page.locator(".xterm").click();
      await rm(folder, { recursive: true, force: true });
    }
  });

  test("a link to a web page is opened after a question", async () => {
    await line(`clear; printf '\\033]8;;https://example.com/page\\033\\\\press-this\\033]8;;\\033\\\\\\n'`);
    await expect.poll(shown).toContain("press-this");
    await screen.press("press-this");
    await page.getByRole("dialog").getByText("https://example.com/page").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
    await page.locator(".xterm").click();
  });

  test("is left by keyboard, and has no fault for readers without a mouse, a screen or good eyes", async () => {
    await page.keyboard.press("Control+F6");
    await expect.poll(async () => await page.evaluate("document.activeElement?.textContent")).toBe("Back to the terminal");
    await page.getByLabel("Screen reader mode").check();
    expect(await faultsOf(page)).toEqual([]);
    await page.getByLabel("Screen reader mode").uncheck();
    await page.getByRole("button", { name: "Back to the terminal" }).click();
    await expect.poll(async () => await page.evaluate("document.activeElement?.className")).toBe("xterm-helper-textarea");
  });

  test("ends on the host when the page is loaded again, which opens another", async () => {
    const ends = () => host.events.filter(({ event }) => event === "session.end").length;
    const before = ends();
    await page.reload();
    await page.getByRole("heading", { level: 1, name: `${login}@web-1` }).waitFor();
    await expect.poll(ends, { timeout: 10_000 }).toBe(before + 1);
  });

  test("shows the status at its end, and opens another session", async () => {
    await line("exit 7");
    await page.getByText("The session ended with status 7.").waitFor();
    await page.getByRole("button", { name: "Open a new session" }).click();
    await expect.poll(shown, { timeout: 15_000 }).toMatch(/[#$]$/m);
  });

  test("a lock ends it within seconds, and says why", async () => {
    const lock = { kind: "lock", version: "v2", metadata: { name: "alice" }, spec: { target: { user: "alice" }, message: "lost laptop" } };
    await cluster.admin.putResource({ json: JSON.stringify(lock) });
    await page.getByRole("button", { name: "Open a new session" }).waitFor({ timeout: 5_000 });
    expect(await page.locator("main").textContent()).toContain("lost laptop");
  });

  test("no page has broken its policy, or failed", () => {
    expect(ui.troubles).toEqual([]);
  });
});
