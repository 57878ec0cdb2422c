import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { TestCluster } from "../inside/open-cluster.ts";
import { desk, openUiWorld, phone, type UiWorld } from "../inside/ui-world.ts";
import { hasProgram } from "../world/has-program.ts";
import { codeAt } from "../world/one-time-code.ts";
import { takeDownloads } from "../world/take-downloads.ts";
import { faultsOf, type UiPage } from "../world/ui-page.ts";

const rollout = {
  kind: "upgrade_rollout",
  version: "v1",
  metadata: { name: "default" },
  spec: {
    groups: [
      { name: "test", labels: { env: "test" } },
      { name: "prod", labels: { env: "prod" } },
    ],
  },
};

describe.skipIf(!hasProgram("chromium"))("updates and the audit log in the Web UI in Chromium", () => {
  let world: UiWorld;
  let cluster: TestCluster;
  let site: string;
  let ui: UiPage;
  let page: Page;
  let picture: UiWorld["picture"];

  beforeAll(async () => {
    world = await openUiWorld();
    ({ cluster, ui, page, site, picture } = world);
    const { password, otpauthUri } = world.boss;
    await ui.logIn(`${site}/web/hosts`, { user: "boss", password, code: codeAt(otpauthUri, new Date()) }, "Hosts");
  });
  afterAll(async () => await world?.[Symbol.asyncDispose]());

  test("the next maintenance windows are shown in the zone of the reader, and in another one", async () => {
    const document = { kind: "cluster_maintenance_config", spec: { agent_upgrades: { utc_start_hour: 3 } } };
    await cluster.admin.putResource({ json: JSON.stringify({ ...document, metadata: { name: "cluster-maintenance-config" } }), overwrite: true });
    await expect
      .poll(async () => {
        await page.goto(`${site}/web/updates`);
        await ui.heading("Updates").waitFor();
        await page.waitForLoadState("networkidle");
        return await page.getByLabel("Also in the zone").count();
      })
      .toBe(1);
    await page.getByLabel("Also in the zone").selectOption("Asia/Tokyo");
    await page
      .getByText(/12:00–13:00/)
      .first()
      .waitFor();
    expect(page.url()).toContain("zone=Asia%2FTokyo");
    expect(await faultsOf(page)).toEqual([]);
    await picture("windows");
  });

  test("a change of the maintenance window in the page is what tctl gets", async () => {
    await page.goto(`${site}/web/updates`);
    await page.getByRole("button", { name: "Maintenance window…" }).click();
    await page.getByRole("dialog", { name: "Maintenance window", exact: true }).waitFor();
    const text = page.getByLabel("Document in YAML");
    const next = page.getByRole("region", { name: "The next windows, once this is saved" });
    await page.getByLabel("Begins at").selectOption("20");
    await expect.poll(() => text.inputValue()).toContain("utc_start_hour: 20");
    for (const day of ["Mon", "Wed", "Fri", "Sat", "Sun"]) await page.getByRole("checkbox", { name: day }).press("Space");
    await expect.poll(() => text.inputValue()).toMatch(/weekdays:\n +- Tue\n +- Thu\n/);
    await next
      .getByText(/^(Tue|Thu) .*20:00–21:00/)
      .first()
      .waitFor();
    expect(await faultsOf(page)).toEqual([]);
    await picture("window-fields");
    const comments = page.getByText("Comments (#) are not stored");
    expect(await comments.count()).toBe(0);
    await text.fill(`# the window of all\n${await text.inputValue()}`);
    await comments.waitFor();
    await text.fill((await text.inputValue()).replace("utc_start_hour: 20", "utc_start_hour: 21"));
    await expect.poll(() => page.getByLabel("Begins at").inputValue()).toBe("21");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("cluster-maintenance-config has been saved.").waitFor();
    const { json } = await cluster.admin.getResource({ kind: "cluster_maintenance_config", name: "cluster-maintenance-config" });
    expect(JSON.parse(json)).toMatchObject({ spec: { agent_upgrades: { utc_start_hour: 21, weekdays: ["Tue", "Thu"] } } });
  });

  test("freezes are added, changed and removed in fields, beside the windows that they freeze", async () => {
    await cluster.admin.putResource({ json: JSON.stringify(rollout) });
    await page.goto(`${site}/web/updates`);
    const [text, next] = [page.getByLabel("Document in YAML"), page.getByRole("region", { name: "The next windows, once this is saved" })];
    const stored = async (): Promise<unknown> => JSON.parse((await cluster.admin.getResource({ kind: "upgrade_rollout", name: "default" })).json);
    const open = async (): Promise<void> => {
      await page.getByRole("button", { name: "Roll-out…" }).click();
      await page.getByRole("button", { name: "Add a freeze" }).waitFor();
    };
    await open();
    await page.getByRole("button", { name: "Add a freeze" }).press("Enter");
    const freeze = page.getByRole("group", { name: "Freeze 1" });
    await freeze.getByLabel("To").fill("2100-01-02");
    await freeze.getByLabel("Reason").fill("end of the year");
    await next.getByText("end of the year").first().waitFor();
    await freeze.getByLabel("From").fill("2100-01-03");
    await page.getByText("ends before it begins").waitFor();
    expect(await page.getByRole("button", { name: "Save" }).isDisabled()).toBe(true);
    await freeze.getByLabel("From").fill("2026-01-01");
    await expect.poll(() => text.inputValue()).toContain("from: 2026-01-01");
    expect(await faultsOf(page)).toEqual([]);
    await picture("freezes");
    const wide = page.viewportSize() ?? { width: 1280, height: 800 };
    await page.setViewportSize({ width: 320, height: 640 });
    await next.getByRole("columnheader", { name: "Freeze" }).waitFor();
    await next.getByText("end of the year").first().scrollIntoViewIfNeeded();
    expect(await faultsOf(page)).toEqual([]);
    await picture("freezes-narrow");
    await page.setViewportSize(wide);
    await page.getByRole("button", { name: "Save" }).press("Enter");
    await page.getByText("default has been saved.").waitFor();
    expect(await stored()).toMatchObject({ spec: { freezes: [{ from: "2026-01-01", to: "2100-01-02", reason: "end of the year" }] } });
    await open();
    await page.getByRole("button", { name: "Remove freeze 1" }).press("Enter");
    await page.getByText("There are no freezes.").waitFor();
    await expect.poll(() => text.inputValue()).toContain("freezes: []");
    await page.getByRole("button", { name: "Save" }).click();
    await expect.poll(stored).toMatchObject({ spec: { freezes: [] } });
    await cluster.admin.deleteResource({ kind: "upgrade_rollout", name: "default" });
  });

  test("a roll-out is paused, resumed and promoted after a question, as it is by tctl", async () => {
    await cluster.admin.putResource({ json: JSON.stringify(rollout) });
    const card = page.getByRole("region", { name: "Channel default" });
    await expect
      .poll(async () => {
        await page.goto(`${site}/web/updates`);
        await card.waitFor();
        return await card.getByRole("button", { name: "Pause" }).isVisible();
      })
      .toBe(true);
    const change = async (verb: string): Promise<void> => {
      await card.getByRole("button", { name: verb }).click();
      await page.getByRole("dialog").getByRole("button", { name: verb, exact: true }).click();
      await page.getByRole("dialog").waitFor({ state: "detached" });
    };
    await change("Pause");
    await card.getByText("paused by boss").waitFor();
    const plan = async (): Promise<unknown> => JSON.parse((await cluster.admin.getUpgradePlan({ channel: "default" })).json);
    expect(await plan()).toMatchObject({ channels: [{ channel: "default", paused: { by: "boss" } }] });
    expect(await faultsOf(page)).toEqual([]);
    await change("Resume");
    await card.getByRole("button", { name: "Promote" }).waitFor();
    expect(await plan()).not.toHaveProperty("channels.0.paused");
    await change("Promote");
    for (const event of ["rollout.paused", "rollout.resumed", "rollout.promoted"]) {
      await expect.poll(() => cluster.events(event)).toContainEqual(expect.objectContaining({ user: "boss" }));
    }
  });

  test("the audit log is filtered, follows what happens, and is exported as it is shown", async () => {
    await page.goto(`${site}/web/audit`);
    await ui.heading("Audit log").waitFor();
    await page.getByLabel("Event", { exact: true }).fill("role.created");
    await page.keyboard.press("Tab");
    await page.getByRole("button", { name: "role.created" }).first().waitFor();
    const rows = page.locator("tbody tr");
    await expect.poll(async () => new Set(await rows.getByRole("button").allTextContents())).toEqual(new Set(["role.created"]));
    expect(page.url()).toContain("event=role.created");
    const before = await rows.count();
    await page.getByLabel("Live").check();
    await cluster.putRole("made-meanwhile", {});
    await rows.getByText("made-meanwhile").waitFor();
    expect(await rows.count()).toBe(before + 1);
    await cluster.admin.createToken({ roles: ["node"], ttlSeconds: 60, uses: 1, secret: "" });
    const folder = await mkdtemp(join(tmpdir(), "platform-audit-"));
    try {
      await takeDownloads(page, ui.chromium, folder);
      await page.getByRole("button", { name: "Export" }).click();
      await expect.poll(async () => await readdir(folder)).toEqual(["audit.csv"]);
      const lines = (await readFile(join(folder, "audit.csv"), "utf8")).split("\r\n");
      expect(lines[0]).toBe("time,event,code,user,details");
      expect(lines.slice(1).every((line) => line.includes(",role.created,"))).toBe(true);
      expect(lines).toHaveLength(before + 2);
      expect(lines.at(-1)).toContain("name=made-meanwhile");
    } finally {
      await rm(folder, { recursive: true });
    }
    await page.getByLabel("User", { exact: true }).fill("nobody-at-all");
    await page.keyboard.press("Tab");
    await page.getByText("No event matches").waitFor();
  });

  test("why a host waits, and what to do about it, is shown at 320 px", async () => {
    const labels = { env: "prod", team: "web" };
    world.agents[0]?.send({ type: "status", status: { upgrader: "unit", reason: "no_space", detail: "3 MB are free", sessions: 0 }, labels });
    await page.setViewportSize(phone);
    await expect
      .poll(async () => {
        await page.goto(`${site}/web/inventory`);
        await page.getByRole("button", { name: "web-1" }).waitFor();
        return await page.getByText("disk is full").count();
      })
      .toBe(1);
    await page.getByRole("button", { name: "web-1" }).click();
    await page.getByText("What to do").waitFor();
    await page.getByText("Free space on the file system that the detail names.").waitFor();
    expect(await faultsOf(page)).toEqual([]);
    await page.goto(`${site}/web/updates`);
    await page.getByRole("button", { name: "web-1" }).click();
    const dialog = page.getByRole("dialog", { name: "web-1" });
    await dialog.getByText("Why").waitFor();
    await dialog.getByText("Channel").waitFor();
    expect(await faultsOf(page)).toEqual([]);
    await picture("plan-320");
    await page.setViewportSize(desk);
  });

  test("an open dialog shows what its host reports meanwhile", async () => {
    for (const [at, name] of ["inventory", "updates"].entries()) {
      const other = await ui.context.newPage();
      ui.watch(other);
      // Its timers, so that the page is loaded again now.
      await other.clock.install();
      await other.goto(`${site}/web/${name}`);
      await other.getByRole("button", { name: "web-1" }).click();
      const dialog = other.getByRole("dialog", { name: "web-1" });
      await dialog.getByRole("heading").hover();
      const count = dialog.locator(".facts > div").filter({ hasText: "Open sessions" }).locator("dd");
      await count.waitFor();
      world.agents[0]?.send({ type: "status", status: { upgrader: "unit", reason: "no_space", sessions: at + 3 } });
      const refreshed = async (): Promise<string | null> => {
        await other.clock.fastForward(61_000);
        return await count.textContent();
      };
      await expect.poll(refreshed, { interval: 500 }).toBe(String(at + 3));
      await other.close();
    }
  });

  test("no page has broken its policy, or failed", () => {
    expect(ui.troubles).toEqual([]);
  });
});
