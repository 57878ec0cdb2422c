import { once } from "node:events";
import { copyFile, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebUpstream } from "../../agent/app/testing/web-upstream.ts";
import { cookiesOf } from "../world/app-browser.ts";
import { ask, beginRequest } from "../world/app-client.ts";
import { addAuthenticator } from "../world/chromium/virtual-authenticator.ts";
import { type Cluster, startCluster } from "../world/cluster.ts";
import type { User } from "../world/cluster-user.ts";
import { fillHosts } from "../world/fill-hosts.ts";
import { hasProgram } from "../world/has-program.ts";
import { output, program } from "../world/program.ts";
import { putRole } from "../world/put-role.ts";
import { openUiPage, type UiPage } from "../world/ui-page.ts";

const proxyHost = "access.test";
const hosts = 10_000;
/** What an empty cache fetches for the hosts, without their list: bytes on the wire. */
const firstLoadBytes = 60_000;
const checkout = resolve(import.meta.dirname, "../..");
const isRoot = process.getuid?.() === 0;

/** The executable as the only file of a folder; for root what starts it there, in a process that finds the checkout empty. */
async function aloneIn(folder: string): Promise<string> {
  const [copy, starter] = [join(folder, "platform"), join(folder, "start")];
  await copyFile(program("platform"), copy);
  if (!isRoot) return copy;
  const inside = `mount -t tmpfs none "$1" && shift && exec "$@"`;
  await writeFile(starter, `#!/bin/sh\nexec unshare --mount sh -c '${inside}' sh "${checkout}" "${copy}" "$@"\n`, { mode: 0o755 });
  return starter;
}

describe.skipIf(!hasProgram("chromium"))(`the Web UI of the executable with ${hosts} hosts`, () => {
  let cluster: Cluster;
  let upstream: WebUpstream;
  let ann: User;
  let ui: UiPage;
  let site: string;
  /** The executable's own. */
  let folder: string;
  /** Hosts that the browser asked for anything. */
  const asked = new Set<string>();

  beforeAll(async () => {
    upstream = await WebUpstream.open((_request, response) => void response.setHeader("content-type", "text/html").end("<pre>the wiki</pre>"));
    folder = await mkdtemp(join(tmpdir(), "platform-alone-"));
    cluster = await startCluster({ publicHost: proxyHost, platform: await aloneIn(folder) });
    await putRole(cluster, "all", { allow: { app_labels: { "*": "*" }, node_labels: { "*": "*" }, logins: ["root"] } });
    ann = await cluster.user("ann", { roles: "all", noLogin: true });
    await fillHosts(cluster, hosts);
    const services = `app_service:\n  enabled: yes\n  apps: [{ name: wiki, uri: "${upstream.uri}" }]\n`;
    await cluster.agent({ name: "apps-1", token: await cluster.token("--type=app"), services });
    site = `https://${proxyHost}:${cluster.ports.web}`;
    ui = await openUiPage([`--host-resolver-rules=MAP ${proxyHost} 127.0.0.1, MAP *.${proxyHost} 127.0.0.1, MAP * ~NOTFOUND`]);
    ui.context.on("request", (request) => void asked.add(new URL(request.url()).hostname));
  });
  afterAll(async () => {
    await ui?.[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
    await upstream?.[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  interface Got {
    readonly status: number;
    readonly headers: IncomingMessage["headers"];
    readonly body: Buffer;
  }

  test("alone on its disk it has all of it inside, compressed as the browser takes it, and does not send again what is the same", async () => {
    if (isRoot) expect(await output("nsenter", ["-t", String(cluster.control.pid), "-m", "ls", "-A", checkout])).toBe("");
    const ca = await cluster.admin("auth", "export", "--type=tls-host");
    const get = async (path: string, headers: Record<string, string> = {}): Promise<Got> => {
      const sent = await beginRequest({ address: "127.0.0.1", port: cluster.ports.web, host: proxyHost, ca }, { path, headers });
      sent.end();
      const [response] = (await once(sent, "response")) as [IncomingMessage];
      return { status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat((await response.toArray()) as Buffer[]) };
    };
    const named = [...(await get("/web/hosts")).body.toString().matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path = ""]) => path);
    expect(named).toHaveLength(3);
    for (const path of ["/web/hosts", ...named]) {
      const [plain, br, gzip] = await Promise.all(
        ["identity", "gzip, deflate, br", "gzip, br;q=0"].map((coding) => get(path, { "accept-encoding": coding })),
      );
      const codings = [plain, br, gzip].map((one) => [one?.status, one?.headers["content-encoding"], one?.headers.vary]);
      expect([path, ...codings]).toEqual([
        path,
        [200, undefined, "Accept-Encoding"],
        [200, "br", "Accept-Encoding"],
        [200, "gzip", "Accept-Encoding"],
      ]);
      expect(brotliDecompressSync(br?.body ?? "").equals(plain?.body ?? Buffer.of(0))).toBe(true);
      expect(gunzipSync(gzip?.body ?? "").equals(plain?.body ?? Buffer.of(0))).toBe(true);
      const again = await get(path, { "accept-encoding": "br", "if-none-match": br?.headers.etag ?? "" });
      expect([path, again.status, again.body.length, again.headers.etag]).toEqual([path, 304, 0, br?.headers.etag]);
    }
    expect((await readdir(folder)).toSorted()).toEqual(isRoot ? ["platform", "start"] : ["platform"]);
  });

  test("a login leads to the list, which has all of them", async () => {
    await ui.logIn(`${site}/web/hosts`, { user: "ann", password: ann.password, code: await ann.code() }, "Hosts");
    // The agent of the application is a host too.
    await ui.page.getByText("10,001 hosts", { exact: true }).waitFor();
  });

  test("the first load takes at most 60 KB, and the page takes input within 500 ms", async () => {
    const loads: { readonly bytes: number; readonly interactiveMs: number }[] = [];
    // Others use the machine: the quickest is what it takes.
    for (let turn = 0; turn < 3; turn += 1) {
      const page = await ui.context.newPage();
      const debug = await ui.context.newCDPSession(page);
      await debug.send("Network.enable");
      await debug.send("Network.setCacheDisabled", { cacheDisabled: true });
      const assets = new Set<string>();
      let bytes = 0;
      debug.on("Network.requestWillBeSent", ({ requestId, request }) => {
        if (!new URL(request.url).pathname.startsWith("/webapi/")) assets.add(requestId);
      });
      debug.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => {
        if (assets.has(requestId)) bytes += encodedDataLength;
      });
      await page.addInitScript(`new MutationObserver((_changes, observer) => {
        if (document.querySelector("main input[type=search]") === null) return;
        globalThis.interactiveMs = performance.now();
        observer.disconnect();
      }).observe(document, { childList: true, subtree: true })`);
      await page.goto(`${site}/web/hosts`);
      await page.getByText("10,001 hosts", { exact: true }).waitFor();
      loads.push({ bytes, interactiveMs: await page.evaluate<number>("interactiveMs") });
      await page.close();
    }
    process.stdout.write(`first loads of the hosts: ${JSON.stringify(loads)}\n`);
    expect(Math.min(...loads.map(({ bytes }) => bytes))).toBeGreaterThan(10_000);
    expect(Math.max(...loads.map(({ bytes }) => bytes))).toBeLessThanOrEqual(firstLoadBytes);
    expect(Math.min(...loads.map(({ interactiveMs }) => interactiveMs))).toBeLessThan(500);
  });

  test("they are searched and sorted within 300 ms, and a few rows are all that the page holds", async () => {
    const { page } = ui;
    /** Time from an act in the page to the second picture after it, ms. */
    const took = async (act: string): Promise<number> =>
      await page.evaluate<number>(`(async () => {
        const begin = performance.now();
        ${act};
        await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
        return performance.now() - begin;
      })()`);
    const typed = (text: string): string =>
      `const field = document.querySelector("input[type=search]"); field.value = ${JSON.stringify(text)}; field.dispatchEvent(new Event("input", { bubbles: true }))`;
    const sorted = (column: number): string => `document.querySelector("thead th:nth-child(${column}) button").click()`;
    // The least of five: other stories run beside this one.
    const [searches, sorts]: [number[], number[]] = [[], []];
    for (let turn = 0; turn < 5; turn++) {
      searches.push(await took(typed("region-3. prod")));
      await page.getByText("197 of 10,001 hosts").waitFor();
      await took(typed(""));
      sorts.push(await took(sorted(2)), await took(sorted(1)));
    }
    process.stdout.write(`searches ${searches.map(Math.round).join(", ")} ms, sorts ${sorts.map(Math.round).join(", ")} ms\n`);
    expect(Math.min(...searches)).toBeLessThan(300);
    expect(Math.min(...sorts)).toBeLessThan(300);
    expect(await page.locator("tbody tr").count()).toBeLessThan(60);
    await page.evaluate("scrollTo(0, document.body.scrollHeight)");
    await page.getByText("web-9999.", { exact: false }).waitFor();
  });

  test("a passkey logs in; what a page of an application below the proxy's name gets for it, does not", async () => {
    const { page } = ui;
    const device = await addAuthenticator(page);
    await page.goto(`${site}/web/account`);
    await page.getByRole("button", { name: "Add a passkey…" }).click();
    await page.getByRole("dialog").getByLabel("Password").fill(ann.password);
    await page
      .getByRole("dialog")
      .getByLabel("Code")
      .fill(await ann.code());
    await page.getByRole("dialog").getByRole("button", { name: "Continue" }).click();
    await page.getByText("has been added").waitFor();
    expect(await device.credentials()).toMatchObject([{ rpId: proxyHost }]);
    await page.getByRole("button", { name: "Log out", exact: true }).click();
    await page.getByRole("button", { name: "Log in with a passkey" }).click();
    await ui.heading("Your account").waitFor();

    const ca = await cluster.admin("auth", "export", "--type=tls-host");
    const visitor = { address: "127.0.0.1", port: cluster.ports.web, host: proxyHost, ca };
    const post = async (path: string, body: object, cookie = "") =>
      await ask(
        { ...visitor, cookie },
        { method: "POST", path: `/webapi/v1${path}`, headers: { "content-type": "application/json" }, body: JSON.stringify(body) },
      );
    const started = await post("/passkey-logins", {});
    const get = `navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(${started.text}) }).then((made) => made.toJSON())`;
    await page.goto(`https://wiki.${proxyHost}:${cluster.ports.web}/`);
    await page.getByText("the wiki").waitFor();
    const stolen = await page.evaluate<object>(get);
    const refused = await post("/sessions", { passkey: stolen }, cookiesOf(started));
    expect([refused.status, refused.text]).toEqual([401, expect.stringContaining("could not log in with this passkey")]);
    // The same challenge and browser, in a page of the proxy.
    await page.goto(`${site}/web/hosts`);
    expect((await post("/sessions", { passkey: await page.evaluate<object>(get) }, cookiesOf(started))).status).toBe(200);
  });

  test("an application opens from its list, and a log-out ends it too", async () => {
    const { page, context } = ui;
    await page.goto(`${site}/web/apps`);
    const [opened] = await Promise.all([context.waitForEvent("page"), page.getByRole("link", { name: "Open wiki in a new tab" }).click()]);
    await opened.getByText("the wiki").waitFor();
    expect(opened.url()).toBe(`https://wiki.${proxyHost}:${cluster.ports.web}/`);
    await page.getByRole("link", { name: "ann" }).click();
    await page.getByRole("button", { name: "Log out", exact: true }).click();
    await ui.heading("Log in").waitFor();
    await opened.reload();
    await opened.waitForURL(/\/web\/launch\//);
    await opened.getByLabel("Password").waitFor();
  });

  test("all of it came from the proxy, and no page has broken its policy, or failed", () => {
    expect([...asked].toSorted()).toEqual([proxyHost, `wiki.${proxyHost}`]);
    expect(ui.troubles).toEqual([]);
  });
});
