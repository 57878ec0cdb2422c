import { mkdir, writeFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";
import type { Page, Route } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { qrPath } from "../../control/proxy/web-api/authenticator-picture.ts";
import { type DemoCluster, startDemoCluster } from "../inside/demo-cluster.ts";
import { enrolUser } from "../inside/enrol-user.ts";
import { startTestCluster, type TestCluster } from "../inside/open-cluster.ts";
import { type SshHost, startSshHost } from "../inside/ssh-host.ts";
import { type Chromium, openChromium } from "../world/chromium/chromium.ts";
import { hasProgram } from "../world/has-program.ts";
import { codeAt } from "../world/one-time-code.ts";
import { long } from "../world/rounds.ts";
import { smallPng } from "../world/small-png.ts";
import { openAsked } from "../world/terminal-page.ts";
import { faultsOf } from "../world/ui-page.ts";

/** Where the pictures of the scenes go; left out: none are made, and each scene is opened once for all its looks. */
const pictures = process.env.UI_PICTURES;
/** Names of the only scenes that are opened; left out: all are. */
const only = process.env.UI_ONLY?.split(",");

const login = userInfo().username;
type Look = readonly [colorScheme: "light" | "dark", width: 1280 | 320];
const desk: readonly Look[] = [
  ["light", 1280],
  ["dark", 1280],
];
const narrow: readonly Look[] = [
  ["light", 320],
  ["dark", 320],
];
const allLooks: readonly Look[] = [...desk, ...narrow];
/** Each theme and each width once shows nearly all; pictures and the long run have the others, too. */
const everywhere: readonly Look[] =
  pictures !== undefined || long
    ? allLooks
    : [
        ["light", 1280],
        ["dark", 320],
      ];
/** Scenes of what the demo's agents have reported, which the cluster forgets within minutes: a busy machine may come too late for them. */
const fleeting = ["palette", "app", "database", "own-access", "kube-cluster", "session"];

const maintenance =
  "kind: cluster_maintenance_config\nversion: v1\nmetadata:\n  name: cluster-maintenance-config\nspec:\n  agent_upgrades:\n    utc_start_hour: 21\n";

/** What is opened, and done there. */
interface Scene {
  readonly name: string;
  readonly path: string;
  readonly looks?: readonly Look[];
  readonly act?: (page: Page) => Promise<unknown>;
}

/** The demo's agents have no API server behind them: pods, and a namespace that the user may not see, as one would answer. */
async function demoPods(route: Route): Promise<void> {
  const url = new URL(route.request().url());
  const namespaces = ["kube-system", "monitoring", "shop"];
  if (url.pathname.endsWith("/kube-namespaces")) return await route.fulfill({ json: { namespaces, has_more: false } });
  if (!url.pathname.endsWith("/kube-pods")) return await route.continue();
  if (url.searchParams.get("namespace") === "secret") {
    const message = 'access denied: no role allows list of pods in the namespace "secret"';
    return await route.fulfill({ status: 403, json: { error: { code: "denied", message } } });
  }
  const pod = (namespace: string, name: string, state: string, containers: readonly string[]) => ({
    ...{ namespace, name, state, node: `node-${(name.length % 3) + 1}.fra`, created: "2026-11-19T08:30:00Z" },
    containers: containers.map((one) => ({ name: one, image: `registry.example.com/${one}:4.2`, is_running: state === "Running" })),
  });
  const pods = [
    pod("shop", "checkout-7c9f6d5b8-x2l4q", "Running", ["checkout", "envoy"]),
    pod("shop", "checkout-7c9f6d5b8-zq8vd", "Running", ["checkout", "envoy"]),
    pod("shop", "catalogue-5b7d9c4f6-mm2kd", "CrashLoopBackOff", ["catalogue"]),
    pod("shop", "invoices-28412340-7xq2p", "Completed", ["invoices"]),
    pod("monitoring", "prometheus-0", "Running", ["prometheus", "reloader"]),
    pod("kube-system", "coredns-558bd4d5db-k9r7n", "Running", ["coredns"]),
    pod("kube-system", "metrics-server-6d8c4b7f9-hj5tw", "Pending", ["metrics-server"]),
  ];
  await route.fulfill({ json: { pods, has_more: false } });
}

/** A new authenticator without a code of the old one: the demo's user has used up those of this minute. */
async function demoAuthenticator(route: Route): Promise<void> {
  const secret = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP";
  const uri = `otpauth://totp/main:ann?issuer=main&secret=${secret}&algorithm=SHA1&digits=6&period=30`;
  await route.fulfill({ json: { uri, secret: secret.replaceAll(/(.{4})(?=.)/g, "$1 "), picture: qrPath(uri) } });
}

const button = (name: string) => async (page: Page) => await page.getByRole("button", { name, exact: true }).first().click();

describe.skipIf(!hasProgram("chromium"))("the pages of the Web UI, for readers without a mouse, a screen or good eyes", () => {
  const all = new AsyncDisposableStack();
  let demo: DemoCluster;
  let empty: TestCluster;
  let host: SshHost;
  let chromium: Chromium;
  let page: Page;
  let lonely: Page;
  let stranger: Page;
  let site: string;

  beforeAll(async () => {
    if (pictures !== undefined) await mkdir(pictures, { recursive: true });
    demo = all.use(await startDemoCluster());
    host = all.use(await startSshHost(demo.cluster, "shell-1.ber"));
    empty = all.use(await startTestCluster({ proxy: { publicAddr: { host: "access.example.com", port: 443 } } }));
    const first = await enrolUser(
      { admin: empty.admin, client: empty.admin },
      { name: "ann", roles: ["access", "editor", "auditor"], logins: [] },
      new Date(),
    );
    chromium = all.use(await openChromium());
    const open = async (): Promise<Page> => {
      const opened = await (await chromium.newContext()).newPage();
      // Other stories run beside this one.
      opened.setDefaultTimeout(60_000);
      opened.on("dialog", (dialog) => void dialog.accept());
      return opened;
    };
    [page, lonely, stranger] = [await open(), await open(), await open()];
    site = siteOf(demo.cluster);
    await page.route("**/webapi/v1/kube-*", demoPods);
    await page.route("**/webapi/v1/authenticator", demoAuthenticator);
    await logIn(page, site, demo.boss);
    await logIn(lonely, siteOf(empty), first);
  });
  afterAll(async () => {
    await all.disposeAsync();
  });

  const siteOf = ({ proxy }: TestCluster): string => `https://localhost:${proxy.addresses.web.port}`;

  async function logIn(of: Page, at: string, { password, otpauthUri }: DemoCluster["boss"]): Promise<void> {
    await of.goto(`${at}/web/hosts`);
    await of.getByLabel("User").fill("ann");
    await of.getByLabel("Password").fill(password);
    await of.getByLabel("Code").fill(codeAt(otpauthUri, new Date(Date.now() + 30_000)));
    await of.keyboard.press("Enter");
    await of.getByRole("heading", { level: 1, name: "Hosts" }).waitFor();
  }

  async function openScene(of: Page, address: string, act: Scene["act"]): Promise<void> {
    await of.goto(address);
    await of.getByRole("heading", { level: 1 }).waitFor();
    await of.waitForLoadState("networkidle");
    if (act === undefined) return;
    await act(of);
    await of.waitForLoadState("networkidle");
  }

  /** What axe finds in a scene in each of its looks, and overflows; makes the pictures. */
  async function faultsAt(of: Page, at: string, { name, path, looks = desk, act }: Scene): Promise<readonly object[]> {
    const found: object[] = [];
    let isOpen = false;
    for (const [colorScheme, width] of only === undefined || only.includes(name) ? looks : []) {
      await of.emulateMedia({ colorScheme });
      await of.setViewportSize({ width, height: width === 320 ? 640 : 800 });
      if (!isOpen || pictures !== undefined) await openScene(of, `${at}${path}`, act);
      isOpen = true;
      if (pictures !== undefined) await writeFile(join(pictures, `${name}-${colorScheme}-${width}.png`), smallPng(await of.screenshot()));
      const faults = await faultsOf(of);
      const overflow = await of.evaluate<number>("Math.max(0, document.documentElement.scrollWidth - document.documentElement.clientWidth)");
      if (faults.length > 0 || overflow > 0) found.push({ name, colorScheme, width, faults, overflow });
    }
    return found;
  }

  const scenes = (): readonly Scene[] => [
    { name: "audit", path: "/web/audit", looks: everywhere },
    { name: "hosts", path: "/web/hosts", looks: everywhere },
    { name: "host", path: "/web/hosts", looks: everywhere, act: button("web-1.fra") },
    { name: "menu", path: "/web/hosts", looks: [["light", 320]], act: button("Menu") },
    { name: "palette", path: "/web/hosts", act: palette },
    { name: "apps", path: "/web/apps", looks: everywhere },
    { name: "app", path: "/web/apps", act: button("invoices") },
    { name: "databases", path: "/web/databases", looks: everywhere },
    { name: "database", path: "/web/databases", act: button("orders") },
    { name: "own-access", path: "/web/databases", looks: everywhere, act: ownAccess },
    { name: "kubernetes", path: "/web/kubernetes", looks: everywhere },
    { name: "kube-cluster", path: "/web/kubernetes", act: button("prod-eu") },
    { name: "pods", path: "/web/kubernetes/prod-eu", looks: everywhere },
    { name: "pod", path: "/web/kubernetes/prod-eu", looks: everywhere, act: button("checkout-7c9f6d5b8-x2l4q") },
    { name: "unlisted-pods", path: "/web/kubernetes/prod-eu?namespace=secret", looks: everywhere },
    { name: "terminal-question", path: `/web/terminal?node=${host.agent.id}&login=${login}`, looks: everywhere },
    { name: "terminal", path: `/web/terminal?node=${host.agent.id}&login=${login}`, looks: [...desk, ["dark", 320]], act: shell },
    { name: "files", path: `/web/terminal?node=${host.agent.id}&login=${login}`, looks: everywhere, act: files },
    { name: "sessions", path: "/web/sessions", looks: everywhere },
    { name: "session", path: "/web/sessions", act: button("root@web-1.fra") },
    { name: "recordings", path: "/web/recordings", looks: everywhere },
    { name: "player", path: `/web/recordings/${demo.terminal}`, looks: everywhere, act: played },
    { name: "statements", path: `/web/recordings/${demo.statements}`, looks: everywhere },
    { name: "requests", path: `/web/recordings/${demo.requests}` },
    { name: "event", path: "/web/audit?search=lost-laptop", act: button("lock.created") },
    { name: "inventory", path: "/web/inventory", looks: everywhere },
    { name: "instance", path: "/web/inventory", looks: everywhere, act: button("api-2.ams") },
    { name: "updates", path: "/web/updates?zone=Asia%2FTokyo", looks: everywhere },
    { name: "host-plan", path: "/web/updates", looks: narrow, act: button("api-2.ams") },
    { name: "maintenance", path: "/web/updates", looks: everywhere, act: windows },
    { name: "freezes", path: "/web/updates", looks: everywhere, act: freezes },
    { name: "users", path: "/web/users", looks: everywhere },
    { name: "user", path: "/web/users", looks: everywhere, act: user },
    { name: "invite-link", path: "/web/users", act: button("Invite or reset… ben") },
    { name: "roles", path: "/web/roles", looks: everywhere },
    { name: "role", path: "/web/roles", looks: everywhere, act: role },
    { name: "tokens", path: "/web/tokens", looks: everywhere },
    { name: "token", path: "/web/tokens", act: token },
    { name: "locks", path: "/web/locks", looks: everywhere },
    { name: "editor", path: "/web/locks", act: button("New lock") },
    { name: "explained", path: "/web/explain", looks: everywhere, act: explained },
    { name: "account", path: "/web/account", looks: everywhere },
    { name: "password", path: "/web/account", act: button("Change password…") },
    { name: "authenticator", path: "/web/account", looks: everywhere, act: authenticator },
  ];

  async function palette(of: Page): Promise<void> {
    await of.keyboard.press("Control+k");
    await of.getByRole("combobox").fill("or");
    await of.getByRole("option", { name: "orders database", exact: true }).waitFor();
  }

  async function shell(of: Page): Promise<void> {
    await openAsked(of);
    await of.getByRole("heading", { level: 1, name: `${login}@shell-1.ber` }).waitFor();
    const rows = of.locator(".xterm-rows");
    await expect.poll(async () => (await rows.textContent()) ?? "", { timeout: 30_000 }).toMatch(/[#$]/);
    await of.keyboard.type("ls -l /usr | tail -n 8; uname -sm");
    await of.keyboard.press("Enter");
    await expect.poll(async () => (await rows.textContent()) ?? "", { timeout: 30_000 }).toContain("Linux x86");
  }

  async function files(of: Page): Promise<void> {
    await openAsked(of);
    await of.getByRole("heading", { level: 1, name: `${login}@shell-1.ber` }).waitFor();
    await button("Files…")(of);
    const dialog = of.getByRole("dialog");
    await dialog.getByLabel("Folder, or a file to fetch").fill("/etc");
    await dialog.getByLabel("Folder, or a file to fetch").press("Enter");
    await dialog.getByRole("button", { name: "hostname", exact: true }).waitFor();
  }

  async function played(of: Page): Promise<void> {
    await expect.poll(async () => String(await of.locator(".xterm-rows").textContent()), { timeout: 30_000 }).toContain("POST /orders");
    await of.getByRole("searchbox", { name: "Text that the terminal showed" }).fill("nginx -t");
    await of.getByText("1 line has this text.").waitFor();
  }

  async function role(of: Page): Promise<void> {
    await button("web-admins")(of);
    const logins = of.getByLabel("Logins on hosts");
    await logins.fill("root\ndeploy\npostgres");
    await logins.blur();
    await of.getByText("host web-1.fra as postgres").waitFor();
  }

  async function user(of: Page): Promise<void> {
    await button("ben")(of);
    const roles = of.getByRole("group", { name: "Roles" });
    await roles.getByRole("checkbox", { name: /^auditor / }).check();
    await of.getByText("ben gains").first().waitFor();
  }

  async function windows(of: Page): Promise<void> {
    await button("Maintenance window…")(of);
    await of.getByLabel("Document in YAML").fill(`${maintenance}    weekdays: [Wed]\n`);
    await of.getByRole("dialog").getByText(/^Wed /).first().waitFor();
    await of.getByLabel("Document in YAML").fill(`${maintenance}    weekdays: [Wednsday]\n`);
    await of.getByRole("dialog").getByText("is not a weekday").waitFor();
    await of.getByLabel("Document in YAML").fill(`${maintenance}    weekdays: [Wed]\n`);
    await of.getByRole("dialog").getByText("is not a weekday").waitFor({ state: "detached" });
  }

  async function freezes(of: Page): Promise<void> {
    await button("Roll-out…")(of);
    await button("Add a freeze")(of);
    const freeze = of.getByRole("group", { name: /^Freeze / }).last();
    await freeze.getByLabel("To").fill("2100-01-02");
    await freeze.getByLabel("Reason").fill("inventory");
    await of.getByRole("dialog").getByText("inventory", { exact: true }).first().waitFor({ state: "attached" });
  }

  async function ownAccess(of: Page): Promise<void> {
    await button("Check access…")(of);
    await of.getByLabel("Database", { exact: true }).fill("orders");
    await of.getByLabel("Account").fill("root");
    await of.keyboard.press("Enter");
    await of.getByRole("list", { name: "What each role says" }).waitFor();
  }

  async function authenticator(of: Page): Promise<void> {
    await button("Replace authenticator…")(of);
    await of.getByLabel("Password").fill("a password");
    await of.getByLabel("Code").fill("123456");
    await of.keyboard.press("Enter");
    await of.getByRole("img", { name: "QR code of the new authenticator" }).waitFor();
  }

  async function token(of: Page): Promise<void> {
    await button("New token")(of);
    await button("Make the token")(of);
    await of.getByText("On the host, as root:").waitFor();
  }

  async function explained(of: Page): Promise<void> {
    await of.getByLabel("User").fill("emil");
    await of.getByLabel("Name").fill("api-1.fra");
    await of.getByLabel("Login").fill("root");
    await of.keyboard.press("Enter");
    await of.getByText("emil may log in as root").waitFor();
  }

  test("each page of a filled cluster has no fault", async () => {
    const found: object[] = [];
    for (const scene of scenes().filter(({ name }) => pictures !== undefined || !fleeting.includes(name)))
      found.push(...(await faultsAt(page, site, scene).catch((thrown: unknown) => [{ name: scene.name, failed: String(thrown) }])));
    expect(found).toEqual([]);
  }, 1_200_000);

  test("nor has a page on which there is nothing yet", async () => {
    const found: object[] = [];
    for (const name of ["hosts", "apps", "databases", "kubernetes", "sessions", "recordings", "updates", "tokens", "locks", "terminal"]) {
      found.push(...(await faultsAt(lonely, siteOf(empty), { name: `empty-${name}`, path: `/web/${name}` })));
    }
    expect(found).toEqual([]);
  }, 300_000);

  test("nor have the pages before a login", async () => {
    const { token: invite } = await demo.cluster.admin.createInvite({ user: "farida" });
    const before: readonly Scene[] = [
      { name: "home", path: "/" },
      { name: "login", path: "/web/hosts" },
      { name: "invite", path: `/web/invite/${invite}` },
      { name: "refused-invite", path: "/web/invite/unknown" },
      { name: "launch", path: "/web/launch/grafana.access.example.com", act: (of) => of.getByLabel("User").waitFor() },
    ];
    const found: object[] = [];
    for (const scene of before) found.push(...(await faultsAt(stranger, site, { ...scene, looks: everywhere })));
    expect(found).toEqual([]);
  }, 300_000);

  test("no page has broken its policy", () => {
    expect(chromium.violations).toEqual([]);
  });
});
