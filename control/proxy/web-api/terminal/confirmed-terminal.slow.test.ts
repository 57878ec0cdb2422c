import { readFile, writeFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { AuthClient } from "../../../../core/api/auth-client.ts";
import { type CodedBrowser, openCodedBrowser, stillTime } from "../../../../test/inside/coded-browser.ts";
import { startTestCluster, type TestCluster } from "../../../../test/inside/open-cluster.ts";
import { type SshHost, startSshHost } from "../../../../test/inside/ssh-host.ts";
import { openWebTerminal, type WebTerminal } from "../../../../test/inside/web-terminal.ts";
import { openUpload } from "../../../../test/inside/web-upload.ts";
import { sendAll } from "./testing/files-world.ts";

const login = userInfo().username;
const size = { cols: 80, rows: 24 };
const shells = {
  allow: { logins: [login], node_labels: { "*": "*" }, join_sessions: [{ name: "all", roles: ["*"], kinds: ["*"], modes: ["*"] }] },
};
const careful = { ...shells, options: { require_session_mfa: true } };

/** Of the cluster, which stands still, so that codes are those of known steps. */
const now = stillTime();
let cluster: TestCluster;
let host: SshHost;

beforeAll(async () => {
  cluster = await startTestCluster({ now: () => now });
  await cluster.putRole("shells", shells);
  await cluster.putRole("careful", careful);
  await cluster.putRole("careful-there", shells);
  host = await startSshHost({ ...cluster, admin: knowingMore(cluster.admin) }, "web-1");
});
afterAll(async () => {
  await host[Symbol.asyncDispose]();
  await cluster[Symbol.asyncDispose]();
});

/** What the agent knows: the role `careful-there` has the option already. */
function knowingMore(admin: AuthClient): AuthClient {
  return Object.assign(Object.create(admin) as AuthClient, {
    getAccess: async (...args: Parameters<AuthClient["getAccess"]>) => {
      const access = await admin.getAccess(...args);
      const json = JSON.stringify({ kind: "role", version: "v7", metadata: { name: "careful-there" }, spec: careful });
      return { ...access, rolesJson: access.rolesJson.map((one) => (one.includes('"careful-there"') ? json : one)) };
    },
  });
}

const person = async (roles = ["careful"]): Promise<CodedBrowser> => await openCodedBrowser(cluster, now, roles);

const terminalAsk = (more: object = {}) => ({ type: "open", node: host.agent.id, login, ...size, ...more });
const filesAt = () => ({ node: host.agent.id, login });

async function refusalOf(terminal: WebTerminal): Promise<unknown> {
  return (await terminal.closed)?.error;
}

const starts = () => host.events.filter(({ event }) => event === "session.start");
const needsCode = {
  code: "mfa_required",
  message: "host web-1 needs a one-time code for each session (role careful, require_session_mfa)",
};

describe("where a role demands a code for each session", () => {
  test("a terminal opens with a code alone, the agent records what confirmed it, and the next one needs another", async () => {
    const alice = await person();
    expect(await refusalOf(await openWebTerminal(cluster, alice.browser, terminalAsk()))).toMatchObject(needsCode);
    const { confirmation } = await alice.confirm({ type: "terminal", ...filesAt() });
    const terminal = await openWebTerminal(cluster, alice.browser, terminalAsk({ confirmation }));
    terminal.type("exec sh\nPS1=''; stty -echo; echo re''ady\n");
    await expect.poll(terminal.output, { timeout: 10_000 }).toContain("ready");
    await expect.poll(starts).toContainEqual(expect.objectContaining({ user: "user-1", with_mfa: "otp" }));
    expect(await refusalOf(await openWebTerminal(cluster, alice.browser, terminalAsk({ confirmation })))).toMatchObject(needsCode);
    terminal.type("exit 3\n");
    expect(await terminal.closed).toEqual({ type: "ended", status: 3 });
  });

  test("a host that cannot be reached leaves the code as good as it was", async () => {
    const ida = await person();
    const away = { kind: "node", sub_kind: "openssh", version: "v2", metadata: { name: "away" }, spec: { hostname: "away", addr: "127.0.0.1:1" } };
    await cluster.admin.putResource({ json: JSON.stringify(away) });
    const { confirmation } = await ida.confirm({ type: "terminal", node: "away", login });
    const ask = { type: "open", node: "away", login, ...size, confirmation };
    for (const attempt of [1, 2]) {
      expect(await refusalOf(await openWebTerminal(cluster, ida.browser, ask)), `attempt ${attempt}`).toMatchObject({ code: "unavailable" });
    }
  });

  test("a wrong code is denied, and leaves the browser logged in", async () => {
    const gil = await person();
    const { browser, code } = gil;
    const wrong = await gil.confirm({ type: "terminal", ...filesAt() }, code === "000000" ? "000001" : "000000");
    expect(wrong).toMatchObject({ status: 403, body: { error: { code: "denied", message: "wrong one-time code, or one that was used before" } } });
    expect((await browser("/session")).status).toBe(200);
    expect((await gil.confirm({ type: "terminal", ...filesAt() })).status).toBe(200);
  });

  test("a code goes to no route by its address, and without the page's token it is not looked at", async () => {
    const { browser, code } = await person();
    const body = { for: { type: "files", ...filesAt() }, code };
    expect((await browser(`/confirmations?code=${code}`)).status).toBe(405);
    expect((await browser("/confirmations", { method: "POST", body, headers: { authorization: "" } })).status).toBe(403);
    expect((await browser("/confirmations", { method: "POST", body, headers: { origin: "https://app.localhost" } })).status).toBe(403);
    expect((await browser("/confirmations", { method: "POST", body: { ...body, more: 1 } })).status).toBe(400);
    expect((await browser("/confirmations", { method: "POST", body })).status).toBe(200);
  });

  test("one code opens the files of the host: a listing, a download and an upload, but no terminal, and not for another browser", async () => {
    const [bob, carol] = [await person(), await person()];
    const query = new URLSearchParams({ ...filesAt(), path: join(host.home, "a.txt") }).toString();
    const facts = async ({ browser }: CodedBrowser, confirmation = "") =>
      await browser(`/files?${query}`, { headers: { "platform-confirmation": confirmation } });
    await writeFile(join(host.home, "a.txt"), "12345");
    expect(await facts(bob)).toMatchObject({ status: 403, body: { error: needsCode } });
    const { confirmation } = await bob.confirm({ type: "files", ...filesAt() });
    for (let request = 0; request < 3; request += 1) expect((await facts(bob, confirmation)).body).toMatchObject({ size: 5 });
    const folder = new URLSearchParams(filesAt()).toString();
    expect((await bob.browser(`/files/folder?${folder}`, { headers: { "platform-confirmation": confirmation } })).status).toBe(200);
    // No address holds what was confirmed: it would be in logs and histories.
    expect((await bob.browser(`/files/folder?${folder}&confirmation=${confirmation}`)).status).toBe(400);
    const [cookie = ""] = (await facts(bob, confirmation)).headers["set-cookie"] ?? [];
    expect(cookie).toMatch(/^__Host-platform_file_[0-9a-f]{16}=.*; Secure; HttpOnly; SameSite=Strict; Max-Age=60$/);
    const link = async (file: string, { cookie: sent = "" } = {}) =>
      await bob.browser(`/files/content?${file}`, { headers: { cookie: `${bob.browser.cookie}; ${sent}` } });
    const [given = ""] = cookie.split(";", 1);
    expect((await link(query)).status).toBe(403);
    expect((await link(folder, { cookie: given })).status).toBe(403);
    const saved = await link(query, { cookie: given });
    expect([saved.status, saved.headers["set-cookie"]?.[0]]).toEqual([200, expect.stringMatching(/; Max-Age=0$/)]);
    const ask = { ...filesAt(), folder: "", name: "b.txt", size: 4, replace: false };
    const upload = async (more: object) =>
      await (await openUpload(cluster, bob.browser, { ask: { ...ask, ...more }, ready: sendAll(Buffer.from("data")) })).closed;
    expect(await upload({})).toMatchObject({ type: "error", error: needsCode });
    expect(await upload({ confirmation })).toMatchObject({ type: "stored" });
    expect(await readFile(join(host.home, "b.txt"), "utf8")).toBe("data");
    expect(await facts(carol, confirmation)).toMatchObject({ status: 403, body: { error: needsCode } });
    expect(await refusalOf(await openWebTerminal(cluster, bob.browser, terminalAsk({ confirmation })))).toMatchObject(needsCode);
  });

  test("a session is joined with a code for it, again after the connection was lost, and not with one for a terminal or another session", async () => {
    const other = await person(["shells"]);
    const owner = await openWebTerminal(cluster, other.browser, terminalAsk());
    owner.type("exec sh\nPS1=''; stty -echo; echo re''ady\n");
    await expect.poll(owner.output, { timeout: 10_000 }).toContain("ready");
    const [dave, erin] = [await person(), await person()];
    const sidOf = async (): Promise<string> => {
      const { sessions } = (await dave.browser("/running-sessions")).body as { sessions: readonly { sid: string; user: string }[] };
      return sessions.find(({ user }) => user === other.name)?.sid ?? "";
    };
    await expect.poll(sidOf, { timeout: 10_000 }).not.toBe("");
    const session = await sidOf();
    const join = (mode: string, more: object = {}) => ({ type: "join", session, mode, ...size, ...more });
    const refused = {
      code: "mfa_required",
      message: "joining this session needs a one-time code for each session (role careful, require_session_mfa)",
    };
    expect(await refusalOf(await openWebTerminal(cluster, dave.browser, join("observer")))).toMatchObject(refused);
    expect((await erin.confirm({ type: "join", session: crypto.randomUUID() })).status).toBe(404);
    const elsewhere = await erin.confirm({ type: "files", ...filesAt() });
    const foreign = { code: expect.stringMatching(/^(?:mfa_required|denied)$/) };
    expect(await refusalOf(await openWebTerminal(cluster, erin.browser, join("peer", { confirmation: elsewhere.confirmation })))).toMatchObject(
      foreign,
    );
    const { confirmation } = await dave.confirm({ type: "join", session });
    for (const mode of ["observer", "peer", "peer"]) {
      const seat = await openWebTerminal(cluster, dave.browser, join(mode, { confirmation }));
      await expect.poll(() => seat.notices.length, { timeout: 10_000 }).toBe(1);
      expect(seat.notices[0]).toMatchObject({ type: "opened", host: "web-1" });
      seat.socket.terminate();
    }
    owner.type("exit\n");
    await owner.closed;
  });

  test("the agent refuses what auth service and proxy would allow", async () => {
    const fay = await person(["careful-there"]);
    const refused = await openWebTerminal(cluster, fay.browser, terminalAsk());
    expect(await refusalOf(refused)).toMatchObject({ code: "mfa_required", message: "host web-1 needs a one-time code for each session" });
    expect(refused.received()).toBe(0);
    await expect
      .poll(() => host.events)
      .toContainEqual(expect.objectContaining({ event: "auth", error: expect.stringContaining("needs a one-time code for each session") }));
    const { confirmation } = await fay.confirm({ type: "terminal", ...filesAt() });
    const opened = await openWebTerminal(cluster, fay.browser, terminalAsk({ confirmation }));
    await expect.poll(() => opened.notices, { timeout: 10_000 }).toMatchObject([{ type: "opened", host: "web-1" }]);
    opened.socket.terminate();
  });

  test("a role that gains the option lets an open terminal go on, and refuses what its page opens next", async () => {
    await cluster.putRole("changing", shells);
    const { browser } = await person(["changing"]);
    const terminal = await openWebTerminal(cluster, browser, terminalAsk());
    terminal.type("exec sh\nPS1=''; stty -echo; echo re''ady\n");
    await expect.poll(terminal.output, { timeout: 10_000 }).toContain("ready");
    await cluster.putRole("changing", careful);
    const query = new URLSearchParams({ ...filesAt(), path: "~" }).toString();
    expect(await browser(`/files?${query}`)).toMatchObject({ status: 403, body: { error: { code: "mfa_required" } } });
    terminal.type("echo still''here\n");
    await expect.poll(terminal.output).toContain("stillhere");
    terminal.socket.terminate();
  });
});
