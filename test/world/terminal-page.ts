import { setTimeout as delay } from "node:timers/promises";
import type { BrowserContext, Page } from "playwright-core";
import { until } from "./until.ts";

/** The terminal of the Web UI, as a person uses it. */
export interface TerminalScreen {
  /** The text of the screen. */
  shown(): Promise<string>;
  /** Clicks on a text: the screen takes the mouse for all that is on it. */
  press(text: string): Promise<void>;
  line(text: string): Promise<void>;
  clipboard(): Promise<string>;
  /** Time from a paste of these characters until the page shows their echo, ms. */
  echo(mark: string): Promise<number>;
  /** Bytes in use by the page's scripts, without garbage. */
  heap(): Promise<number>;
}

export function terminalScreen(page: Page, context: BrowserContext): TerminalScreen {
  return {
    shown: async () => (await page.locator(".xterm-rows > div").allTextContents()).map((row) => row.replaceAll("\u00a0", " ").trimEnd()).join("\n"),
    press: async (text) => {
      const found = page.locator(".xterm-rows").getByText(text);
      await found.hover({ force: true });
      await found.click({ force: true });
    },
    line: async (text) => {
      await page.keyboard.type(text);
      await page.keyboard.press("Enter");
    },
    clipboard: async () => await page.evaluate<string>("navigator.clipboard.readText()"),
    echo: async (mark) => {
      const limit = new AbortController();
      const late = delay(10_000, undefined, { signal: limit.signal }).then(() => Promise.reject(new Error(`no echo of ${mark} within 10 s`)));
      late.catch(() => {});
      try {
        return await Promise.race([page.evaluate<number>(echoScript(mark)), late]);
      } finally {
        limit.abort();
      }
    },
    heap: async () => {
      const session = await context.newCDPSession(page);
      await session.send("Performance.enable");
      await session.send("HeapProfiler.collectGarbage");
      const { metrics } = await session.send("Performance.getMetrics");
      await session.detach();
      return metrics.find(({ name }) => name === "JSHeapUsedSize")?.value ?? Number.NaN;
    },
  };
}

/** The page that asks before a terminal opens: its heading, and the time for which it must have been in front before an answer counts, ms, with some more. */
export const terminalQuestion = { title: "Open this terminal?", seenMs: 600 };

const openButton = `[...document.querySelectorAll("main .buttons button")].find((one) => one.textContent === "Open")`;

/** Answers that page, in any browser: presses its button, again if that was too early. */
export async function openAsked(page: { evaluate(script: string): Promise<unknown> }): Promise<void> {
  await until("the page asks whether to open its terminal", async () => (await page.evaluate(`${openButton} !== undefined`)) === true);
  await until("the answer counts", async () => {
    await delay(terminalQuestion.seenMs);
    // The page is drawn after the click, as soon as its script rests.
    return (await page.evaluate(`(async () => { ${openButton}?.click(); await null; return ${openButton} === undefined; })()`)) === true;
  });
}

/** Lines for a shell: from `begin` on it prints the terminal's rows and columns, at once and after each change, until Ctrl-C and `end`. */
export const followSize = {
  begin: "clear; trap 'stty size' WINCH; sleep infinity & stty size; while kill -0 $!; do wait $!; done",
  end: "kill $!; wait; trap - WINCH; clear",
};

/** Pastes, as that is one event, and measures in the page itself. */
function echoScript(mark: string): string {
  return `new Promise((resolve) => {
    const rows = document.querySelector(".xterm-rows");
    const data = new DataTransfer();
    data.setData("text/plain", "${mark}");
    const began = performance.now();
    const observer = new MutationObserver(() => {
      if (!rows.textContent.includes("${mark}")) return;
      observer.disconnect();
      resolve(performance.now() - began);
    });
    observer.observe(rows, { subtree: true, childList: true, characterData: true });
    document.activeElement.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
  })`;
}
