import { randomBytes } from "node:crypto";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { encodeCastEvent, encodeCastHeader } from "../../core/recording/cast.ts";
import { encodeRequest, encodeRequestsHeader } from "../../core/recording/requests.ts";
import { encodeBegin, encodeEnd, encodeStatementsHeader } from "../../core/recording/statements.ts";
import { enrolUser } from "../inside/enrol-user.ts";
import { memberFile } from "../inside/member-file.ts";
import { startTestCluster, type TestCluster } from "../inside/open-cluster.ts";
import { recordSession } from "../inside/record-session.ts";
import { hasProgram } from "../world/has-program.ts";
import { codeAt } from "../world/one-time-code.ts";
import { faultsEverywhere, faultsOf, openUiPage, type UiPage } from "../world/ui-page.ts";

const header = encodeCastHeader({ width: 80, height: 24, timestamp: 0, term: "xterm" });
const shows = (time: number, data: string): string => encodeCastEvent({ time, kind: "o", data });

describe.skipIf(!hasProgram("chromium"))("recordings in Chromium", () => {
  let cluster: TestCluster;
  let ui: UiPage;
  let page: Page;
  let site: string;

  beforeAll(async () => {
    cluster = await startTestCluster();
    const clients = { admin: cluster.admin, client: cluster.admin };
    const { password, otpauthUri } = await enrolUser(clients, { name: "eve", roles: ["auditor"], logins: [] }, new Date());
    site = `https://localhost:${cluster.proxy.addresses.web.port}`;
    ui = await openUiPage();
    ({ page } = ui);
    const code = codeAt(otpauthUri, new Date(Date.now() + 30_000));
    await ui.logIn(`${site}/web/recordings`, { user: "eve", password, code }, "Recordings");
  });
  afterAll(async () => {
    await ui[Symbol.asyncDispose]();
    await cluster[Symbol.asyncDispose]();
  });

  const screen = async (): Promise<string> => String(await page.locator(".xterm-rows").textContent());
  /** Moves the slider to a moment. */
  const jump = async (seconds: number): Promise<void> => {
    await page.getByRole("slider", { name: "Position" }).evaluate((element, value) => {
      const slider = element as { value: string; dispatchEvent(event: Event): void };
      slider.value = String(value);
      slider.dispatchEvent(new Event("input", { bubbles: true }));
    }, seconds);
  };

  test("a terminal is played from the list, goes anywhere, and a text in it is found", async () => {
    const hostile = "\u001b]52;c;aGk=\u0007\u001b]0;<b>title</b>\u0007\u001b]8;;javascript:document.title=1\u0007link\u001b]8;;\u0007";
    const sid = await recordSession(cluster, {
      user: "alice",
      seconds: 600,
      texts: [header + shows(0.1, "first words\r\n"), shows(300, `\u001b[2J\u001b[Hin the middle ${hostile}\r\n`) + shows(599, "the needle\r\n")],
    });
    await page.goto(`${site}/web/recordings`);
    await page.getByRole("button", { name: "root@web-1" }).click();
    await page.getByRole("link", { name: "Play here" }).click();
    await page.getByRole("heading", { level: 1, name: "Recording of root@web-1" }).waitFor();
    await expect.poll(screen).toContain("first words");
    // Idle time is skipped: five minutes pass in a second.
    await expect.poll(screen, { timeout: 10_000 }).toContain("in the middle");
    await page.keyboard.press("Home");
    await expect.poll(screen).toContain("first words");
    await page.keyboard.press("Space");
    await page.getByRole("button", { name: "Play", exact: true }).waitFor();
    await jump(400);
    await expect.poll(screen).toContain("in the middle link");
    expect(await screen()).not.toContain("first words");
    expect(await page.getByRole("slider", { name: "Position" }).getAttribute("aria-valuetext")).toBe("6:40 of 10:00");
    await page.getByRole("searchbox", { name: "Text that the terminal showed" }).fill("NEEDLE");
    await page.getByText("1 line has this text.").waitFor();
    await page.getByRole("button", { name: "9:59" }).click();
    await expect.poll(screen).toContain("the needle");
    expect(await page.title()).toBe("Recording of root@web-1 · platform");
    expect(await cluster.events("session.recording.access")).toContainEqual(expect.objectContaining({ user: "eve", name: "alice", sid }));
    expect(await faultsEverywhere(page)).toEqual([]);
  });

  test("a running session is followed", async () => {
    const sid = await recordSession(cluster, { user: "alice", isRunning: true, texts: [header + shows(0.1, "still here\r\n")] });
    await page.goto(`${site}/web/recordings/${sid}`);
    await page.getByText("the session goes on").waitFor();
    await expect.poll(screen).toContain("still here");
    // The proxy's answers as the session goes on, and ends.
    const file = memberFile([header + shows(0.1, "still here\r\n"), shows(0.2, "and more\r\n")]);
    await page.route("**/content?*", async (route) => {
      const offset = Number(new URL(route.request().url()).searchParams.get("offset"));
      await route.fulfill({ body: file.subarray(offset), headers: { "Platform-Recording-State": "complete" } });
    });
    await expect.poll(screen, { timeout: 10_000 }).toContain("and more");
    await page.unroute("**/content?*");
  });

  test("in a long recording, any moment is there within two seconds", async () => {
    const part = (number: number): string =>
      Array.from({ length: 8 }, (_, at) => shows(number + at / 10, `${randomBytes(2_000).toString("base64").repeat(20)}\r\n`)).join("") +
      shows(number + 0.8, `moment ${number}.\r\n`);
    const count = 120;
    const sid = await recordSession(cluster, {
      user: "alice",
      seconds: count,
      texts: [header, ...Array.from({ length: count }, (_, at) => part(at))],
    });
    await page.goto(`${site}/web/recordings/${sid}`);
    await page.getByRole("button", { name: "Pause" }).click();
    for (const second of [110, 20, 75]) {
      const begin = performance.now();
      await jump(second + 0.9);
      await expect.poll(screen, { interval: 20, timeout: 10_000 }).toContain(`moment ${second}.`);
      expect(performance.now() - begin).toBeLessThan(2_000);
    }
  });

  test("statements of a database are listed with their results, and searched", async () => {
    const started = new Date().toISOString();
    const text =
      encodeStatementsHeader({ started, protocol: "postgres", database: "orders", account: "reader", name: "shop" }) +
      encodeBegin({ number: 1, time: 1, kind: "query", text: "select 1" }) +
      encodeEnd({ number: 1, time: 1.1, outcome: "ok", rows: 1 }) +
      encodeBegin({ number: 2, time: 2, kind: "query", text: "drop <b>table</b>" }) +
      encodeEnd({ number: 2, time: 2.1, outcome: "failed", code: "42501", message: "permission denied" });
    const sid = await recordSession(cluster, { user: "alice", format: "statements", texts: [text] });
    await page.goto(`${site}/web/recordings/${sid}`);
    await page.getByRole("cell", { name: "1 returned" }).waitFor();
    await page.getByRole("searchbox", { name: "Search statements" }).fill("drop");
    await page.getByText("1 of 2 statements").waitFor();
    expect(await faultsOf(page)).toEqual([]);
    await page.getByRole("button", { name: "drop <b>table</b>" }).click();
    await page.getByRole("dialog").getByText("failed: 42501 permission denied").waitFor();
  });

  test("requests to an application are listed with their answers", async () => {
    const started = new Date().toISOString();
    const request = encodeRequest({ time: 1, method: "GET", path: "/api", query: "q=cpu", status: 502 });
    const sid = await recordSession(cluster, {
      user: "alice",
      format: "requests",
      texts: [encodeRequestsHeader({ started, app: "grafana", session: "s" }) + request],
    });
    await page.goto(`${site}/web/recordings/${sid}`);
    await page.getByRole("button", { name: "GET /api?q=cpu" }).waitFor();
    await page.getByRole("cell", { name: "502" }).waitFor();
  });

  test("no page has broken its policy, or failed", () => {
    expect(ui.troubles).toEqual([]);
  });
});
