import { createHash, randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openShellPage, type ShellPage } from "../inside/shell-page.ts";
import { hasProgram } from "../world/has-program.ts";
import { long, rounds } from "../world/rounds.ts";
import { followSize, type TerminalScreen } from "../world/terminal-page.ts";
import { faultsOf } from "../world/ui-page.ts";

describe.skipIf(!hasProgram("chromium"))("a terminal in Chromium", () => {
  let all: ShellPage;
  let page: Page;
  let screen: TerminalScreen;

  beforeAll(async () => {
    all = await openShellPage();
    ({ page, screen } = all);
    await all.openShell();
  });
  afterAll(async () => {
    await all?.[Symbol.asyncDispose]();
  });

  const shown = async (): Promise<string> => await screen.shown();
  const line = async (text: string): Promise<void> => await screen.line(text);

  /** Rows and columns that `followSize` has printed. */
  const sizes = async (): Promise<readonly string[]> => (await shown()).match(/^\d+ \d+$/gm) ?? [];
  async function stopFollowing(): Promise<void> {
    await page.keyboard.press("Control+C");
    await line(followSize.end);
  }

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
    expect(await readFile(join(all.host.home, "written.txt"), "utf8")).toBe("漢字 in vim\n");
    await page.setViewportSize({ width: 1280, height: 800 });
  });

  test.skipIf(!hasProgram("htop"))("runs htop, which draws the whole screen again and again, and gives it back", async () => {
    await line("clear; echo be''fore; LC_ALL=C.UTF-8 TERM=xterm-256color htop -d 5; echo htop-has-en''ded");
    await expect.poll(shown).toMatch(/F1Help.*F10Quit/);
    const uptime = async (): Promise<string> => /Uptime: (\S+)/.exec(await shown())?.[1] ?? "";
    const first = await uptime();
    expect(first).not.toBe("");
    await expect.poll(uptime).not.toBe(first);
    await page.keyboard.press("F10");
    await expect.poll(shown).toContain("htop-has-ended");
    expect(await shown()).toContain("before");
    expect(await shown()).not.toContain("F10Quit");
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
    expect(hash(await readFile(join(all.host.home, "pasted")))).toBe(hash(pasted));
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
    await page.getByRole("heading", { level: 1, name: `${all.login}@web-1` }).waitFor();
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

  test.skipIf(!long)(
    "a flood in the background leaves the memory of page and proxy as it was, and the page takes it up again",
    async () => {
      const session = await all.context.newCDPSession(page);
      await line("clear; yes 'a line of output that a program writes without end'");
      await expect.poll(shown).toContain("without end");
      const [heapBefore, proxyBefore] = [await screen.heap(), process.memoryUsage().rss];
      // Playwright's pages think that they are in front.
      await session.send("Emulation.setFocusEmulationEnabled", { enabled: false });
      const other = await all.context.newPage();
      await other.bringToFront();
      await expect.poll(async () => await page.evaluate("document.visibilityState")).toBe("hidden");
      for (let round = 0; round < 12; round += 1) {
        await delay(10_000);
        expect((await screen.heap()) - heapBefore).toBeLessThan(16_777_216);
        expect(process.memoryUsage().rss - proxyBefore).toBeLessThan(134_217_728);
      }
      await other.close();
      await page.bringToFront();
      await session.send("Emulation.setFocusEmulationEnabled", { enabled: true });
      await session.detach();
      await page.keyboard.press("Control+C");
      await line("clear; echo in-fr''ont");
      await expect.poll(shown, { timeout: 60_000 }).toContain("in-front");
    },
    300_000,
  );

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

  test("shows the status at its end, and opens another session", async () => {
    await line("exit 7");
    await page.getByText("The session ended with status 7.").waitFor();
    await page.getByRole("button", { name: "Open a new session" }).click();
    await expect.poll(shown, { timeout: 15_000 }).toMatch(/[#$]$/m);
  });

  test("a lock ends it within seconds, and says why", async () => {
    const lock = { kind: "lock", version: "v2", metadata: { name: "alice" }, spec: { target: { user: "alice" }, message: "lost laptop" } };
    await all.cluster.admin.putResource({ json: JSON.stringify(lock) });
    await page.getByRole("button", { name: "Open a new session" }).waitFor({ timeout: 5_000 });
    expect(await page.locator("main").textContent()).toContain("lost laptop");
  });

  test("no page has broken its policy, or failed", () => {
    expect(all.ui.troubles).toEqual([]);
  });
});
