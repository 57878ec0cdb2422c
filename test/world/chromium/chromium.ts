import { spawn } from "node:child_process";
import { once } from "node:events";
import { chown, copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium } from "playwright-core";
import { compileOnce } from "../compile-once.ts";
import { reportViolations } from "../report-violations.ts";

/** The user as whom a browser runs when the tests run as root: it would raise its own priority, and its sandbox is off. */
const nobody = 65_534;
/** Maximum time until the browser answers, ms. */
const startMs = 60_000;

export interface Chromium extends AsyncDisposable {
  readonly browser: Browser;
  /** Violations of the policies of pages, in all contexts: the address, the directive and what was blocked. Every story expects none. */
  readonly violations: readonly string[];
  /** Opens a private window, which takes any certificate. */
  newContext(options?: BrowserContextOptions): Promise<BrowserContext>;
}

/** The process, and the address of its debugger. */
export interface StartedChromium extends AsyncDisposable {
  readonly address: string;
}

/** Debian's Chromium, driven by playwright. `more`: further options. */
export async function openChromium(more: readonly string[] = []): Promise<Chromium> {
  const started = await startChromium(more);
  try {
    const browser = await chromium.connectOverCDP(started.address, { timeout: startMs });
    const violations: string[] = [];
    return {
      browser,
      violations,
      newContext: async (options) => await openContext(browser, { ignoreHTTPSErrors: true, ...options }, violations),
      [Symbol.asyncDispose]: async () => {
        await browser.close().catch(() => {});
        await started[Symbol.asyncDispose]();
      },
    };
  } catch (thrown) {
    await started[Symbol.asyncDispose]();
    throw thrown;
  }
}

async function openContext(browser: Browser, options: BrowserContextOptions, violations: string[]): Promise<BrowserContext> {
  const context = await browser.newContext(options);
  await context.exposeBinding(reportViolations.binding, (_source, text: string) => reportViolations.keep(violations, text));
  await context.addInitScript(reportViolations.script);
  return context;
}

/** Debian's Chromium without a screen, as an unprivileged user, with a profile of its own. It takes any certificate. */
export async function startChromium(more: readonly string[] = []): Promise<StartedChromium> {
  const profile = await mkdtemp(join(tmpdir(), "platform-chromium-"));
  const isRoot = process.getuid?.() === 0;
  // A copy: the browser's user may not be able to read this checkout.
  const preloaded = join(profile, "no-netlink.so");
  await copyFile(compileOnce(import.meta.dirname, ["no-netlink.c"], ["-shared", "-fPIC"]), preloaded);
  if (isRoot) await chown(profile, nobody, nobody);
  const options = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--ignore-certificate-errors",
    "--remote-debugging-port=0",
    `--user-data-dir=${profile}`,
    ...more,
    "about:blank",
  ];
  const asNobody = isRoot ? ["setpriv", `--reuid=${nobody}`, `--regid=${nobody}`, "--clear-groups"] : [];
  const [program = "", ...args] = [...asNobody, "chromium", ...options];
  const env = { PATH: process.env.PATH, HOME: profile, LANG: "C.UTF-8", TZ: "Europe/Berlin", LD_PRELOAD: preloaded };
  const child = spawn(program, args, { cwd: profile, env, stdio: ["ignore", "ignore", "pipe"] });
  const gone = once(child, "exit");
  const end = async (): Promise<void> => {
    child.kill("SIGKILL");
    await gone;
    await rm(profile, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    return { address: await addressOf(child.stderr), [Symbol.asyncDispose]: end };
  } catch (thrown) {
    await end();
    throw thrown;
  }
}

/** The address that the browser prints once it listens. Throws Error with what it printed instead. */
async function addressOf(stderr: NodeJS.ReadableStream): Promise<string> {
  let printed = "";
  const limit = AbortSignal.timeout(startMs);
  const found = Promise.withResolvers<string>();
  limit.addEventListener("abort", () => found.reject(new Error(`Chromium did not start: ${printed}`)));
  stderr.on("end", () => found.reject(new Error(`Chromium did not start: ${printed}`)));
  stderr.on("data", (chunk: Buffer) => {
    printed = `${printed}${chunk.toString()}`.slice(-10_000);
    const address = /DevTools listening on (ws:\S+)/.exec(printed)?.[1];
    if (address !== undefined) found.resolve(address);
  });
  return await found.promise;
}
