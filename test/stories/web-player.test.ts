import { userInfo } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { encodeBegin, encodeStatementsHeader } from "../../core/recording/statements.ts";
import { enrolUser } from "../inside/enrol-user.ts";
import { castHeader, longRecording, shows } from "../inside/long-recording.ts";
import { memberFile } from "../inside/member-file.ts";
import { startTestCluster, type TestCluster } from "../inside/open-cluster.ts";
import { recordSession } from "../inside/record-session.ts";
import { type SshHost, startSshHost } from "../inside/ssh-host.ts";
import { openBrowser } from "../inside/web-browser.ts";
import { openWebTerminal, type WebTerminal } from "../inside/web-terminal.ts";
import { hasProgram } from "../world/has-program.ts";
import { codeAt } from "../world/one-time-code.ts";
import { long } from "../world/rounds.ts";
import { faultsOf, openUiPage, type UiPage } from "../world/ui-page.ts";

const mib = 1024 * 1024;
const login = userInfo().username;

describe.skipIf(!hasProgram("chromium"))("the player in Chromium", () => {
  let cluster: TestCluster;
  let host: SshHost;
  let ui: UiPage;
  let page: Page;
  let site: string;

  beforeAll(async () => {
    cluster = await startTestCluster();
    await cluster.putRole("shells", {
      allow: { logins: [login], node_labels: { "*": "*" }, join_sessions: [{ name: "all", roles: ["*"], kinds: ["*"], modes: ["*"] }] },
    });
    host = await startSshHost(cluster, "web-1");
    const wish = { name: "eve", roles: ["auditor", "shells"], logins: [login] };
    const { password, otpauthUri } = await enrolUser({ admin: cluster.admin, client: cluster.admin }, wish, new Date());
    site = `https://localhost:${cluster.proxy.addresses.web.port}`;
    ui = await openUiPage();
    ({ page } = ui);
    await page.setViewportSize({ width: 1280, height: 900 });
    const code = codeAt(otpauthUri, new Date(Date.now() + 30_000));
    await ui.logIn(`${site}/web/recordings`, { user: "eve", password, code }, "Recordings");
  });
  afterAll(async () => {
    await ui[Symbol.asyncDispose]();
    await host[Symbol.asyncDispose]();
    await cluster[Symbol.asyncDispose]();
  });

  const screen = async (): Promise<string> => String(await page.locator(".xterm-rows").textContent());
  const position = async (): Promise<string> => String(await page.getByRole("slider", { name: "Position" }).getAttribute("aria-valuetext"));
  /** Moves the slider to a moment. */
  const jump = async (seconds: number): Promise<void> => {
    await page.getByRole("slider", { name: "Position" }).fill(String(Math.round(seconds * 10) / 10));
  };
  /** Memory of the page after a collection, MiB: objects, and bytes outside of the heap. */
  async function pageMemory(): Promise<number> {
    const session = await ui.context.newCDPSession(page);
    await session.send("HeapProfiler.collectGarbage");
    const { usedSize, backingStorageSize = 0 } = (await session.send("Runtime.getHeapUsage")) as { usedSize: number; backingStorageSize?: number };
    await session.detach();
    return (usedSize + backingStorageSize) / mib;
  }
  async function picture(name: string): Promise<void> {
    const folder = process.env.UI_PICTURES;
    if (folder !== undefined) await page.screenshot({ path: join(folder, `player-${name}.png`), fullPage: true });
  }

  test("a recording of any length begins within a second, and goes anywhere within two, in bounded memory", async () => {
    const { file, seconds, times } = await longRecording((long ? 500 : 24) * mib);
    expect(file.length).toBeLessThan(64 * mib);
    const sid = await recordSession(cluster, { user: "alice", seconds, texts: file });
    await page.getByRole("navigation").getByRole("link", { name: "Sessions" }).click();
    await page.getByRole("navigation").getByRole("link", { name: "Recordings" }).click();
    await page.getByRole("button", { name: "root@web-1" }).click();
    const link = page.getByRole("link", { name: "Play here" });
    await link.waitFor();
    const before = process.memoryUsage().rss;
    let largest = 0;
    const watch = setInterval(() => (largest = Math.max(largest, process.memoryUsage().rss)), 50);
    const took: Record<string, number> = {};
    const measure = async (what: string, act: () => Promise<void>, pattern: RegExp): Promise<void> => {
      const begin = performance.now();
      await act();
      await expect.poll(screen, { interval: 20, timeout: 15_000 }).toMatch(pattern);
      took[what] = Math.round(performance.now() - begin);
    };
    await measure("begin", () => link.click(), /api\[4211\]/);
    await page.getByRole("button", { name: "Pause" }).click();
    const shares = [0.9, 0.2, 0.55, 0.99, 0.05];
    for (const share of shares) {
      const part = Math.floor(times.length * share);
      await measure(String(share), () => jump(((times[part] ?? 0) + (times[part + 1] ?? seconds)) / 2), new RegExp(`part ${part}\\.`));
    }
    clearInterval(watch);
    expect(page.url()).toContain(sid);
    const memory = { page: Math.round(await pageMemory()), proxy: Math.round((largest - before) / mib) };
    process.stdout.write(
      `a recording of ${long ? 500 : 24} MiB, ${Math.round(file.length / mib)} compressed: ms ${JSON.stringify(took)}; MiB ${JSON.stringify(memory)}\n`,
    );
    const { begin = 0, ...jumps } = took;
    // Beside other stories, a single one of them may wait for the processor.
    expect(begin).toBeLessThan(long ? 1_000 : 3_000);
    const sorted = Object.values(jumps).toSorted((a, b) => a - b);
    expect(sorted.at(long ? -1 : 2)).toBeLessThan(2_000);
    expect(memory.page).toBeLessThan(128);
    expect(memory.proxy).toBeLessThan(192);
  }, 600_000);

  test("every control works by keyboard, and the search goes to what it found", async () => {
    const texts = [castHeader, shows(1, "one\r\n"), shows(20, "two\r\n"), shows(200, "three\r\n"), shows(201, "the needle\r\n")];
    const sid = await recordSession(cluster, { user: "alice", seconds: 240, texts });
    await page.goto(`${site}/web/recordings/${sid}`);
    await expect.poll(screen).toContain("one");
    await page.keyboard.press("Space");
    await page.getByRole("button", { name: "Play", exact: true }).waitFor();
    await page.keyboard.press("End");
    await expect.poll(position).toBe("4:00 of 4:00");
    await expect.poll(screen).toContain("needle");
    await page.keyboard.press("Home");
    await expect.poll(position).toBe("0:00 of 4:00");
    for (let count = 0; count < 3; count += 1) await page.keyboard.press("ArrowRight");
    await expect.poll(position).toMatch(/^0:[123]0 of 4:00$/);
    await page.keyboard.press("ArrowUp");
    expect(await page.getByLabel("Speed").inputValue()).toBe("2");
    // By the tabulator from the heading on: each control, in this order.
    await page.getByRole("heading", { level: 1 }).focus();
    const names: string[] = [];
    for (let count = 0; count < 6; count += 1) {
      await page.keyboard.press("Tab");
      names.push(
        String(
          await page.evaluate(
            "document.activeElement.ariaLabel || document.activeElement.labels?.[0]?.textContent || document.activeElement.textContent",
          ),
        ),
      );
    }
    expect(names).toEqual(["Play", "Position", "Speed", "Skip idle time", "Screen reader mode", "Text that the terminal showed"]);
    await page.keyboard.type("needle");
    await page.getByText("1 line has this text.").waitFor();
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await expect.poll(position).toBe("3:21 of 4:00");
    await expect.poll(screen).toContain("the needle");
    // Without skipping, nothing comes for minutes; with it, the next line comes at once.
    await page.getByLabel("Skip idle time").uncheck();
    await page.getByRole("heading", { level: 1 }).focus();
    await page.keyboard.press("Home");
    await page.getByRole("button", { name: "Play", exact: true }).click();
    await expect.poll(screen).toContain("one");
    expect(await screen()).not.toContain("two");
    await page.getByLabel("Skip idle time").check();
    await expect.poll(screen, { timeout: 15_000 }).toContain("needle");
  });

  test("in screen reader mode, what the terminal showed is text in the page, also on the next visit", async () => {
    const sid = await recordSession(cluster, { user: "alice", texts: [castHeader, shows(0.1, "readable words\r\n")] });
    await page.goto(`${site}/web/recordings/${sid}`);
    await expect.poll(screen).toContain("readable words");
    const readable = page.getByRole("listitem").filter({ hasText: "readable words" });
    expect(await readable.count()).toBe(0);
    await page.getByLabel("Screen reader mode").check();
    await readable.waitFor();
    await page.reload();
    await readable.waitFor();
    for (const colorScheme of ["light", "dark"] as const) {
      for (const width of [1280, 320]) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize({ width, height: 900 });
        expect({ colorScheme, width, faults: await faultsOf(page) }).toEqual({ colorScheme, width, faults: [] });
        expect(await page.evaluate("Math.max(0, document.documentElement.scrollWidth - document.documentElement.clientWidth)")).toBe(0);
        await picture(`player-${colorScheme}-${width}`);
      }
    }
    await page.emulateMedia({ colorScheme: null });
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.getByLabel("Screen reader mode").uncheck();
  });

  test("running sessions come and end in the list; the one that is looked at stays in its place; its recording is followed", async () => {
    const alice = await openBrowser(cluster, "alice", ["shells"]);
    const open = (): Promise<WebTerminal> => openWebTerminal(cluster, alice, { type: "open", node: host.agent.id, login, cols: 80, rows: 24 });
    await page.goto(`${site}/web/sessions`);
    await page.getByText("No session is running").waitFor();
    const first = await open();
    const rows = page.getByRole("button", { name: `${login}@web-1` });
    await expect.poll(() => rows.count()).toBe(1);
    const place = async () => (await rows.first().boundingBox())?.y;
    const before = await place();
    await rows.first().hover();
    const second = await open();
    await page.getByText("1 new. The list updates when you leave it.").waitFor();
    expect([await rows.count(), await place()]).toEqual([1, before]);
    await picture("sessions-held");
    await page.getByRole("heading", { level: 1 }).hover();
    await expect.poll(() => rows.count()).toBe(2);
    await picture("sessions");
    await rows.last().click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Watch in the browser" }).waitFor();
    const sid = String(await dialog.locator("code").first().textContent());
    await picture("session-dialog");
    // The host of this story records nothing: this is the recording that one would send.
    const texts = [castHeader, shows(1, "before\r\n"), shows(3, "at the end\r\n")];
    await recordSession(cluster, { user: "alice", sid, isRunning: true, texts });
    await dialog.getByRole("link", { name: "Follow the recording" }).click();
    await expect.poll(screen).toContain("at the end");
    expect(await page.getByRole("button", { name: "Follow" }).getAttribute("aria-pressed")).toBe("true");
    await page.getByText("its end is shown as it comes").waitFor();
    await picture("follow");
    await page.route("**/content?*", async (route) => {
      const body = memberFile([...texts, shows(3000, "and more\r\n")]).subarray(Number(new URL(route.request().url()).searchParams.get("offset")));
      await route.fulfill({ body, headers: { "Platform-Recording-State": "complete" } });
    });
    await expect.poll(screen).toContain("and more");
    await expect.poll(() => page.getByRole("button", { name: "Follow" }).count()).toBe(0);
    await page.unroute("**/content?*");
    await page.goto(`${site}/web/sessions`);
    await rows.first().click();
    first.socket.terminate();
    second.socket.terminate();
    await dialog.getByText("This session has ended.").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("heading", { level: 1 }).hover();
    await page.getByText("No session is running").waitFor();
  });

  test("statements of a session that goes on appear as they are recorded", async () => {
    const started = new Date().toISOString();
    const begin = (number: number): string => encodeBegin({ number, time: number, kind: "query", text: `select ${number}` });
    const texts = [encodeStatementsHeader({ started, protocol: "postgres", database: "orders", account: "reader", name: "shop" }), begin(1)];
    const sid = await recordSession(cluster, { user: "alice", format: "statements", isRunning: true, texts });
    await page.goto(`${site}/web/recordings/${sid}`);
    await page.getByRole("button", { name: "select 1" }).waitFor();
    await page.getByText("the session goes on").waitFor();
    await picture("statements");
    await page.route("**/content?*", async (route) => {
      const body = memberFile([...texts, begin(2)]).subarray(Number(new URL(route.request().url()).searchParams.get("offset")));
      await route.fulfill({ body, headers: { "Platform-Recording-State": "complete" } });
    });
    await page.getByRole("button", { name: "select 2" }).waitFor();
    await page.unroute("**/content?*");
  });

  test("no page has broken its policy, or failed", () => {
    expect(ui.troubles).toEqual([]);
  });
});
