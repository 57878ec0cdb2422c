import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Locator, Page, Route } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { audited } from "../world/audited.ts";
import { type Cluster, startCluster } from "../world/cluster.ts";
import type { Agent } from "../world/cluster-agent.ts";
import type { User } from "../world/cluster-user.ts";
import { hasProgram } from "../world/has-program.ts";
import { output } from "../world/program.ts";
import { putRole } from "../world/put-role.ts";
import { type SilentRelay, startSilentRelay } from "../world/silent-relay.ts";
import { openAsked, type TerminalScreen, terminalScreen } from "../world/terminal-page.ts";
import { openUiPage, type UiPage } from "../world/ui-page.ts";

const patient = { timeout: 60_000 };
const megabyte = 1_000_000;

/** What the page shows when its network, the host's agent or the proxy fails in the middle. */
describe.skipIf(!hasProgram("chromium"))("a terminal's page that is cut off", () => {
  let cluster: Cluster;
  let agent: Agent;
  let user: User;
  let relay: SilentRelay;
  let ui: UiPage;
  let page: Page;
  let screen: TerminalScreen;
  let dialog: Locator;
  let node: string;
  let folder: string;
  /** A disk of 4 MB. */
  let small: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "platform-cut-"));
    small = join(folder, "small");
    await mkdir(small);
    // Before the agent starts, which has mounts of its own.
    await output("mount", ["-t", "tmpfs", "-o", "size=4m", "none", small]);
    cluster = await startCluster();
    await putRole(cluster, "shells", { allow: { logins: ["root"], node_labels: { "*": "*" } } });
    agent = await cluster.agent({ name: "web-1" });
    user = await cluster.user("alice", { roles: "shells", noLogin: true });
    const nodes = JSON.parse(await cluster.admin("get", "node", "--format=json")) as { metadata: { name: string } }[];
    node = nodes[0]?.metadata.name ?? "";
    relay = await startSilentRelay(cluster.ports.web);
    ui = await openUiPage();
    ({ page } = ui);
    page.on("dialog", (question) => void question.accept());
    screen = terminalScreen(page, ui.context);
    dialog = page.getByRole("dialog");
    // Time can jump, as it does for a laptop that sleeps.
    await page.clock.install();
    const login = { user: user.name, password: user.password, code: await user.code() };
    await ui.logIn(`https://127.0.0.1:${relay.port}/web/hosts`, login, "Hosts");
  });
  afterAll(async () => {
    await ui?.[Symbol.asyncDispose]();
    await relay?.[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
    await output("umount", [small]);
    await rm(folder, { recursive: true, force: true });
  });
  beforeEach(({ onTestFailed }) => {
    onTestFailed(async () => void process.stderr.write(`the page ${page.url()} shows: ${await page.locator("body").textContent()}\n`));
  });

  const heading = async (): Promise<void> => await ui.heading("root@web-1").waitFor(patient);
  const alert = async (text: string | RegExp): Promise<void> => await page.getByRole("alert").getByText(text).waitFor(patient);
  /** Unless it is there already. */
  async function openShell(): Promise<void> {
    if (await ui.heading("root@web-1").isVisible()) return;
    await page.goto(`https://127.0.0.1:${relay.port}/web/terminal?node=${node}&login=root`);
    await openAsked(page);
    await heading();
  }
  async function answers(mark: string): Promise<void> {
    await screen.line(`echo ${mark}''-here`);
    await expect.poll(() => screen.shown(), patient).toContain(`${mark}-here`);
  }
  /** Begins to send zeros to a folder. */
  async function beginUpload(into: string, megabytes: number): Promise<void> {
    await openShell();
    await page.getByRole("button", { name: "Files…" }).click();
    await dialog.getByLabel("Folder, or a file to fetch").fill(into);
    await dialog.getByRole("button", { name: "Open", exact: true }).click();
    await dialog.getByRole("list", { name: `Files in ${into}` }).waitFor(patient);
    await page.evaluate(`{
      const chosen = new DataTransfer();
      chosen.items.add(new File([new Uint8Array(${megabytes * megabyte})], "zeros.bin"));
      document.querySelector("dialog input[type=file]").files = chosen.files;
    }`);
    await dialog.getByRole("button", { name: "Send", exact: true }).click();
  }
  const isUnderWay = async (): Promise<void> =>
    await expect.poll(async () => Number(await dialog.getByRole("progressbar").getAttribute("value")), patient).toBeGreaterThan(megabyte);

  test("has its session as it was after a laptop's sleep, as long as the network kept the connection", async () => {
    await openShell();
    await answers("before");
    await page.clock.fastForward("02:00:00");
    await answers("after");
  });

  test("says within a minute that a network which drops silently is gone, and opens another session once it is back", async () => {
    await answers("still");
    relay.silence();
    // Each jump fires what was due by then: one question, or the end.
    for (let jump = 0; jump < 4; jump += 1) await page.clock.fastForward(20_000);
    await alert("The connection to the proxy was lost.");
    relay.recover();
    await audited(cluster, "session.end", (event) => event.user === "alice");
    await page.getByRole("button", { name: "Open a new session" }).click();
    await heading();
    await answers("again");
  });

  test("keeps what the user writes while a folder's listing is on its way", async () => {
    const slow = Promise.withResolvers<void>();
    const late = async (route: Route): Promise<void> => await slow.promise.then(() => route.continue());
    await page.route("**/files/folder?*", late, { times: 1 });
    await openShell();
    await page.getByRole("button", { name: "Files…" }).click();
    const path = dialog.getByLabel("Folder, or a file to fetch");
    await path.fill(small);
    slow.resolve();
    await dialog.getByRole("list", { name: /^Files in / }).waitFor(patient);
    expect(await path.inputValue()).toBe(small);
    await path.press("Enter");
    await dialog.getByRole("list", { name: `Files in ${small}` }).waitFor(patient);
    expect(await path.inputValue()).toBe(small);
    await dialog.getByRole("button", { name: "Close" }).click();
  });

  test("says that the host's disk is full, and leaves nothing there", async () => {
    await beginUpload(small, 20);
    await dialog.getByRole("alert").getByText("Could not store zeros.bin on web-1: No space left on device.").waitFor(patient);
    expect(await readdir(small)).toEqual([]);
    await dialog.getByRole("button", { name: "Close" }).click();
  });

  test("says that the host was lost when its agent is killed, and never shows a part of the file by its name", async () => {
    await beginUpload(folder, 400);
    await isUnderWay();
    await agent.service.kill();
    await dialog.getByRole("alert").getByText("The connection to web-1 was lost.").waitFor(patient);
    expect(await readdir(folder)).not.toContain("zeros.bin");
    await dialog.getByRole("button", { name: "Close" }).click();
    await alert("The connection to web-1 was lost.");
    agent.start();
    await agent.connected();
    await page.getByRole("button", { name: "Open a new session" }).click();
    await heading();
    await answers("back");
  });

  test("says that the proxy was lost when control is killed, and goes on without another login when it is back", async () => {
    await beginUpload(folder, 400);
    await isUnderWay();
    await cluster.control.kill();
    await dialog.getByRole("alert").getByText("The connection was lost: the file was not stored").waitFor(patient);
    await alert("The connection to the proxy was lost.");
    expect(await readdir(folder)).not.toContain("zeros.bin");
    await dialog.getByRole("button", { name: "Close" }).click();
    await cluster.restart();
    await agent.connected();
    await page.getByRole("button", { name: "Open a new session" }).click();
    await heading();
    await beginUpload(folder, 3);
    await dialog.getByText(`${join(folder, "zeros.bin")} is stored.`).waitFor(patient);
  });

  test("has broken no policy, and no script has failed", () => {
    expect(ui.troubles).toEqual([]);
  });
});
