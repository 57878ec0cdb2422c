import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import puppeteer, { type Browser } from "puppeteer-core";
import { startChromium } from "./chromium/chromium.ts";

/** Names of the browsers, which are also their programs. */
export type BrowserName = "firefox-esr" | "chromium";

/** Maximum time until the browser answers, and for each of its answers, ms. */
const limitMs = 60_000;

export interface EitherBrowser extends AsyncDisposable {
  readonly browser: Browser;
}

/** Debian's Firefox or Chromium without a screen. Every host name leads to this machine, any certificate is taken, and third parties get no cookies. */
export async function openEitherBrowser(name: BrowserName): Promise<EitherBrowser> {
  return name === "firefox-esr" ? await openFirefox() : await connectChromium();
}

/** By WebDriver BiDi, the only protocol that Debian's Firefox has. */
async function openFirefox(): Promise<EitherBrowser> {
  const home = await mkdtemp(join(tmpdir(), "platform-firefox-"));
  const remove = async (): Promise<void> => await rm(home, { recursive: true, force: true, maxRetries: 5 });
  try {
    const browser = await puppeteer.launch({
      browser: "firefox",
      executablePath: "/usr/bin/firefox-esr",
      acceptInsecureCerts: true,
      timeout: limitMs,
      protocolTimeout: limitMs,
      env: { PATH: process.env.PATH, HOME: home, LANG: "C.UTF-8", TZ: "Europe/Berlin" },
      extraPrefsFirefox: { "network.dns.native-is-localhost": true, "network.cookie.cookieBehavior": 1 },
    });
    return {
      browser,
      [Symbol.asyncDispose]: async () => {
        await browser.close();
        await remove();
      },
    };
  } catch (thrown) {
    await remove();
    throw thrown;
  }
}

async function connectChromium(): Promise<EitherBrowser> {
  const started = await startChromium(["--host-resolver-rules=MAP * 127.0.0.1"]);
  try {
    const browser = await puppeteer.connect({ browserWSEndpoint: started.address, acceptInsecureCerts: true, protocolTimeout: limitMs });
    return {
      browser,
      [Symbol.asyncDispose]: async () => {
        await browser.disconnect();
        await started[Symbol.asyncDispose]();
      },
    };
  } catch (thrown) {
    await started[Symbol.asyncDispose]();
    throw thrown;
  }
}
