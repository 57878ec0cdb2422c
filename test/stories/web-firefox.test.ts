import { createHash, randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import type { BrowserContext, Page } from "puppeteer-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { WebUpstream } from "../../agent/app/testing/web-upstream.ts";
import { audited } from "../world/audited.ts";
import { type Cluster, startCluster } from "../world/cluster.ts";
import type { User } from "../world/cluster-user.ts";
import { type BrowserName, type EitherBrowser, openEitherBrowser } from "../world/either-browser.ts";
import { hasProgram } from "../world/has-program.ts";
import { putRole } from "../world/put-role.ts";
import { reportViolations } from "../world/report-violations.ts";
import { long } from "../world/rounds.ts";
import { appAddresses, echoedOver, events, eventsScript, openShownApp, type ShownRequest, shownUser, uploadScript } from "../world/shown-app.ts";
import { followSize, openAsked } from "../world/terminal-page.ts";
import { until } from "../world/until.ts";

const proxyHost = "access.test";
const login = userInfo().username;
const pollMs = { timeout: 15_000 };
/** Chromium has stories of its own. */
const browsers: readonly BrowserName[] = long ? ["firefox-esr", "chromium"] : ["firefox-esr"];

/** What another engine may do differently: the sign-in to applications, WebSockets, and the terminal. One cluster serves all. */
describe.skipIf(!browsers.some(hasProgram))("the Web UI and web applications in another browser", () => {
  let cluster: Cluster;
  let upstream: WebUpstream;
  let node: string;

  const at = appAddresses(proxyHost, () => cluster.ports.web);

  beforeAll(async () => {
    upstream = await openShownApp();
    cluster = await startCluster({ publicHost: proxyHost });
    await putRole(cluster, "all", { allow: { app_labels: { "*": "*" }, node_labels: { "*": "*" }, logins: [login] } });
    const app = (name: string, more = ""): string => `    - { name: ${name}, uri: "${upstream.uri}"${more} }\n`;
    const services = `ssh_service:
  enabled: yes
app_service:
  enabled: yes
  apps:
${app("wiki")}${app("shop")}${app("desk", ", public_addr: desk.other.test")}${app("open", `, cors: { allowed_origins: ["${at("wiki").slice(0, -1)}"] }`)}`;
    await cluster.agent({ name: "web-1", token: await cluster.token("--type=node,app"), services });
    [node = ""] = (JSON.parse(await cluster.admin("get", "node", "--format=json")) as { metadata: { name: string } }[]).map(
      ({ metadata }) => metadata.name,
    );
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
    await upstream?.[Symbol.asyncDispose]();
  });

  for (const name of browsers) {
    describe.skipIf(!hasProgram(name))(`in ${name}`, () => {
      let driven: EitherBrowser;
      let context: BrowserContext;
      let page: Page;
      let user: User;
      const violations: string[] = [];

      beforeAll(async () => {
        user = await cluster.user(`user-of-${name}`, { roles: "all", logins: login, noLogin: true });
        driven = await openEitherBrowser(name);
        context = await driven.browser.createBrowserContext();
        page = await newPage();
      });
      afterAll(async () => await driven?.[Symbol.asyncDispose]());

      async function newPage(): Promise<Page> {
        const made = await context.newPage();
        await made.setViewport({ width: 1280, height: 800 });
        made.on("dialog", (dialog) => void dialog.accept().catch(() => {}));
        await made.exposeFunction(reportViolations.binding, (text: string) => reportViolations.keep(violations, text));
        await made.evaluateOnNewDocument(reportViolations.script);
        return made;
      }

      const textOf = async (selector: string, of = page): Promise<string> =>
        String(await of.evaluate(`document.querySelector(${JSON.stringify(selector)})?.textContent ?? ""`));
      /** The request that the application shows. */
      const shown = async (of = page): Promise<ShownRequest> => JSON.parse(await textOf("pre", of)) as ShownRequest;
      const arrives = async (url: string, of = page): Promise<void> => await expect.poll(() => of.url(), pollMs).toBe(url);

      async function fill(fields: Readonly<Record<string, string>>): Promise<void> {
        for (const [field, text] of Object.entries(fields)) await page.locator(`input[name=${field}]`).fill(text);
        await page.keyboard.press("Enter");
      }

      test("an unknown visitor logs in, and ends on the path, the query and the fragment that were asked for", async () => {
        await page.goto(at("wiki", "/a?x=1#y"));
        await fill({ user: user.name, password: user.password, code: await user.code() });
        await arrives(at("wiki", "/a?x=1#y"));
        const got = await shown();
        expect(got.url).toBe("/a?x=1");
        expect(got.raw.join("\n")).not.toMatch(/__Host-|platform_/);
        expect(shownUser(got)).toBe(user.name);
      });

      test("two tabs sign in to two applications at once, one of them under another site, although that gets no cookies in a frame", async () => {
        const [one, two] = [await newPage(), await newPage()];
        await Promise.all([one.goto(at("shop", "/s")), two.goto(at("desk.other.test", "/d"))]);
        await Promise.all([arrives(at("shop", "/s"), one), arrives(at("desk.other.test", "/d"), two)]);
        expect([(await shown(one)).url, (await shown(two)).url]).toEqual(["/s", "/d"]);
        const framed = one.waitForResponse(at("desk.other.test", "/framed"));
        await one.goto(at("shop", `/?frame=${encodeURIComponent(at("desk.other.test", "/framed"))}`));
        expect((await framed).status()).toBe(401);
        await Promise.all([one.close(), two.close()]);
      });

      test("a page opens WebSockets to its own application and to one that lists it, and none to another", async () => {
        for (const app of ["open", "wiki"]) {
          await page.goto(at(app));
          await arrives(at(app));
        }
        const echoed = async (app: string): Promise<unknown> => await page.evaluate(echoedOver(at(app, "/ws")));
        expect([await echoed("wiki"), await echoed("open")]).toEqual(["ping", "ping"]);
        upstream.seen.splice(0);
        expect(await echoed("shop")).toBe("refused");
        expect(upstream.seen).toEqual([]);
      });

      test("a page gets each event of a stream when it is sent, and uploads megabytes as they are", async () => {
        await page.goto(at("wiki"));
        expect(await page.evaluate(eventsScript)).toEqual(events);
        expect(await page.evaluate(uploadScript)).toBe(true);
      });

      describe("a terminal", () => {
        const screen = async (): Promise<string> =>
          String(
            await page.evaluate(
              `[...document.querySelectorAll(".xterm-rows > div")].map((row) => row.textContent.replaceAll("\\u00a0", " ").trimEnd()).join("\\n")`,
            ),
          );
        const focus = async (): Promise<unknown> => await page.evaluate("document.activeElement?.className");
        async function line(text: string): Promise<void> {
          await page.keyboard.type(text);
          await page.keyboard.press("Enter");
        }
        async function chord(...keys: readonly ("Control" | "Shift" | "KeyC" | "KeyV")[]): Promise<void> {
          for (const key of keys) await page.keyboard.down(key);
          for (const key of keys.toReversed()) await page.keyboard.up(key);
        }
        /** A shell without a prompt of its own. */
        async function plainShell(): Promise<void> {
          await until("the terminal has the focus", async () => (await focus()) === "xterm-helper-textarea");
          await until("the session is open", async () => (await textOf("h1")) === `${login}@web-1`);
          await line("exec sh");
          await line("PS1='' PS2=''; stty -echo; clear; echo re''ady");
          await until("the shell answers", async () => (await screen()).startsWith("ready"));
        }

        beforeAll(async () => {
          await page.goto(at(proxyHost, `/web/terminal?node=${node}&login=${login}`));
          await openAsked(page);
          await plainShell();
        });

        test("has the focus, shows any script in the right colours, and follows the size of the window", async () => {
          await line("echo grüß 漢字; printf '\\033[31mred\\033[0m\\n'");
          await expect.poll(screen, pollMs).toContain("grüß 漢字");
          const red = "getComputedStyle([...document.querySelectorAll('.xterm-rows span')].find((span) => span.textContent === 'red')).color";
          expect(await page.evaluate(red)).toBe("rgb(204, 0, 0)");
          await line(followSize.begin);
          await expect.poll(screen, pollMs).toMatch(/^\d+ \d+$/m);
          await page.setViewport({ width: 2300, height: 1400 });
          await expect.poll(screen, pollMs).toMatch(/^[67]\d 2\d\d$/m);
          await chord("Control", "KeyC");
          await line(followSize.end);
        });

        test("has programs that take the whole screen, and gives it back; Ctrl-C interrupts", async () => {
          await line("clear; echo be''fore; top -d 1; echo top-has-en''ded");
          const time = async () => /top - (\S+)/.exec(await screen())?.[1] ?? "";
          await expect.poll(time, pollMs).not.toBe("");
          expect(await screen()).toContain("PID");
          // It drops what is typed before its first look at the keys, which is before its second screen.
          const first = await time();
          await expect.poll(time, pollMs).not.toBe(first);
          await page.keyboard.press("q");
          await expect.poll(screen, pollMs).toContain("top-has-ended");
          await line("clear; echo wai''ting; cat");
          await expect.poll(screen, pollMs).toMatch(/^waiting/);
          await chord("Control", "KeyC");
          await line("echo interrup''ted");
          await expect.poll(screen, pollMs).toContain("interrupted");
        });

        test("copies what is selected and pastes it, and takes a megabyte as it is", async () => {
          await line("clear; stty -echo; echo cop''ied-here");
          await expect.poll(screen, pollMs).toMatch(/^copied-here/);
          const corner = "(({ x, y }) => [x, y])(document.querySelector('.xterm-rows > div').getBoundingClientRect())";
          const [x = 0, y = 0] = (await page.evaluate(corner)) as number[];
          await page.mouse.click(x + 20, y + 8, { count: 2 });
          await chord("Control", "Shift", "KeyC");
          await line('clear; read -r word; echo "got <$word>"');
          await chord("Control", "Shift", "KeyV");
          await page.keyboard.press("Enter");
          await expect.poll(screen, pollMs).toContain("got <copied-here>");
          const folder = await mkdtemp(join(tmpdir(), "pasted-"));
          const file = join(folder, "pasted");
          const pasted = randomBytes(768 * 1024).toString("base64");
          await line(`clear; stty raw; echo g''o; head -c 1048576 > ${file}; stty sane -echo; echo do''ne`);
          await expect.poll(screen, pollMs).toContain("go");
          // A page may write to the clipboard while somebody uses it.
          await page.evaluate(`document.addEventListener("click", () => navigator.clipboard.writeText("${pasted}"), { once: true, capture: true })`);
          await page.mouse.click(x + 20, y + 8);
          await chord("Control", "Shift", "KeyV");
          await expect.poll(screen, { timeout: 60_000 }).toContain("done");
          const hash = (bytes: string | Buffer) => createHash("sha256").update(bytes).digest("hex");
          expect(hash(await readFile(file))).toBe(hash(pasted));
          await rm(folder, { recursive: true });
        });

        test("ends when its page is loaded again, which opens a new one, after a question, with the focus in it", async () => {
          await page.reload();
          await openAsked(page);
          await audited(cluster, "session.end", (event) => event.user === user.name);
          await plainShell();
          await line("exit 7");
          await expect.poll(() => textOf("[role=alert]"), pollMs).toContain("The session ended with status 7.");
        });
      });

      test("no page of the proxy has broken its policy; one that does is noticed", async () => {
        expect(violations).toEqual([]);
        await page.evaluate(reportViolations.breakPolicy);
        await expect.poll(() => violations).toEqual([expect.stringContaining("img-src https://evil.test/picture.png")]);
      });
    });
  }
});
