import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestCluster, type TestCluster } from "../../../../test/inside/open-cluster.ts";
import { type SshHost, startSshHost } from "../../../../test/inside/ssh-host.ts";
import { openBrowser, type WebBrowser } from "../../../../test/inside/web-browser.ts";
import { dialTerminal, openWebTerminal, type WebTerminal } from "../../../../test/inside/web-terminal.ts";

const login = userInfo().username;
const size = { cols: 80, rows: 24 };

let cluster: TestCluster;
let host: SshHost;
let alice: WebBrowser;
let site: string;

beforeAll(async () => {
  cluster = await startTestCluster();
  await cluster.putRole("shells", {
    allow: { logins: [login], node_labels: { "*": "*" }, join_sessions: [{ name: "all", roles: ["*"], kinds: ["*"], modes: ["*"] }] },
  });
  await cluster.putRole("nobody", {});
  host = await startSshHost(cluster, "web-1");
  alice = await openBrowser(cluster, "alice", ["shells"]);
  site = `https://localhost:${cluster.proxy.addresses.web.port}`;
});
afterAll(async () => {
  await host[Symbol.asyncDispose]();
  await cluster[Symbol.asyncDispose]();
});

const ask = () => ({ type: "open", node: host.agent.id, login, ...size });
const open = (browser: WebBrowser = alice, wish: object = ask()): Promise<WebTerminal> => openWebTerminal(cluster, browser, wish);

/** A shell without a prompt of its own. */
async function openPlain(browser: WebBrowser = alice): Promise<WebTerminal> {
  const terminal = await open(browser);
  terminal.type("exec sh\nPS1='' PS2=''; stty -echo; echo re''ady\n");
  await expect.poll(terminal.output, { timeout: 10_000 }).toContain("ready");
  return terminal;
}

describe("a terminal", () => {
  test("is a shell in the user's name: bytes, size, and the status at its end", async () => {
    const terminal = await openPlain();
    expect(terminal.notices[0]).toEqual({ type: "opened", host: "web-1", login });
    terminal.type("echo grüß; stty size\n");
    await expect.poll(terminal.output).toMatch(/grüß\r\n24 80/);
    terminal.send({ type: "resize", cols: 200, rows: 60 });
    terminal.type("stty size\n");
    await expect.poll(terminal.output).toContain("60 200");
    terminal.type("exit 7\n");
    expect(await terminal.closed).toEqual({ type: "ended", status: 7 });
    await expect.poll(() => host.events.map(({ event }) => event)).toContain("session.end");
    expect(host.events.find(({ event }) => event === "session.start")).toMatchObject({ user: "alice", login });
  });

  test("takes a megabyte at once as it is, while the program reads it", async () => {
    const terminal = await openPlain();
    const pasted = Buffer.from(randomBytes(768 * 1024).toString("base64"));
    terminal.type("stty raw; echo g''o; head -c 1048576 > pasted; stty cooked; echo do''ne\n");
    await expect.poll(terminal.output).toContain("go\n");
    for (let at = 0; at < pasted.length; at += 16_384) terminal.type(pasted.subarray(at, at + 16_384));
    await expect.poll(terminal.output, { timeout: 30_000 }).toContain("done");
    const hash = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");
    expect(hash(await readFile(join(host.home, "pasted")))).toBe(hash(pasted));
    terminal.send({ type: "end" });
    expect(await terminal.closed).toMatchObject({ type: "ended" });
  });

  test("answers a page that asks whether the proxy is there", async () => {
    const terminal = await openPlain();
    for (const count of [1, 2]) {
      terminal.send({ type: "read", bytes: 0 });
      await expect.poll(() => terminal.notices.filter(({ type }) => type === "alive").length).toBe(count);
    }
    terminal.send({ type: "end" });
    expect(await terminal.closed).toMatchObject({ type: "ended" });
  });

  test("whose page shows nothing gets no more than a window", async () => {
    const terminal = await openPlain();
    terminal.shows(false);
    terminal.type("head -c 8000000 /dev/zero | tr '\\0' x; echo the''end\n");
    await expect.poll(terminal.received, { timeout: 20_000 }).toBeGreaterThan(500_000);
    const before = terminal.received();
    terminal.type("x");
    // Whatever comes until the proxy has answered a ping came before it.
    terminal.socket.ping();
    await new Promise((resolve) => terminal.socket.once("pong", resolve));
    expect(terminal.received() - before).toBeLessThan(700_000);
    expect(terminal.received()).toBeLessThan(1_300_000);
    terminal.shows(true);
    await expect.poll(() => terminal.output().includes("theend"), { timeout: 60_000 }).toBe(true);
    terminal.socket.close();
  }, 90_000);

  test("ends on the host when its page is closed", async () => {
    const terminal = await openPlain();
    const ended = host.events.filter(({ event }) => event === "session.end").length;
    terminal.socket.terminate();
    await expect.poll(() => host.events.filter(({ event }) => event === "session.end").length, { timeout: 10_000 }).toBe(ended + 1);
  });

  test("of another user is joined, to watch or to take part", async () => {
    const bob = await openBrowser(cluster, "bob", ["shells"]);
    const owner = await openPlain(await openBrowser(cluster, "owner", ["shells"]));
    const sidOf = async (): Promise<string> => {
      const { sessions } = (await bob("/running-sessions")).body as { sessions: readonly { sid: string; user: string }[] };
      return sessions.find(({ user }) => user === "owner")?.sid ?? "";
    };
    await expect.poll(sidOf, { timeout: 10_000 }).not.toBe("");
    const sid = await sidOf();
    const watching = await open(bob, { type: "join", session: sid, mode: "observer", ...size });
    await expect.poll(() => watching.notices).toEqual([{ type: "opened", host: "web-1", login: "" }]);
    const partner = await open(bob, { type: "join", session: sid, mode: "peer", ...size });
    await expect.poll(() => partner.notices.length).toBe(1);
    watching.type("echo from-observer\n");
    partner.type("echo from-pe''er\n");
    await expect.poll(owner.output, { timeout: 10_000 }).toContain("from-peer");
    await expect.poll(watching.output).toContain("from-peer");
    expect(owner.output()).not.toContain("from-observer");
    owner.type("exit\n");
    await Promise.all([owner.closed, watching.closed, partner.closed]);
  });
});

describe("within five seconds it ends", () => {
  test("by a lock of the user, with the reason", async () => {
    const carol = await openBrowser(cluster, "carol", ["shells"]);
    const terminal = await openPlain(carol);
    const lock = { kind: "lock", version: "v2", metadata: { name: "carol" }, spec: { target: { user: "carol" }, message: "lost laptop" } };
    await cluster.admin.putResource({ json: JSON.stringify(lock) });
    const begin = performance.now();
    await terminal.closed;
    expect(performance.now() - begin).toBeLessThan(5_000);
    expect(terminal.output()).toContain("lost laptop");
    expect((await dialTerminal(cluster, { cookie: carol.cookie, origin: site })) as number).toBe(403);
  });

  test("by a log-out in another tab, at once", async () => {
    const dora = await openBrowser(cluster, "dora", ["shells"]);
    const terminal = await openPlain(dora);
    expect((await dora("/session", { method: "DELETE" })).status).toBe(204);
    const begin = performance.now();
    expect(await terminal.closed).toMatchObject({ type: "error", error: { code: "unauthenticated" } });
    expect(performance.now() - begin).toBeLessThan(5_000);
  });
});

describe("before the upgrade", () => {
  const cookie = () => alice.cookie;
  test.for([
    ["without a cookie", () => ({ origin: site }), 401],
    ["with a cookie that is not one", () => ({ origin: site, cookie: "__Host-platform_session=admin" }), 401],
    ["with a session that there is not", () => ({ origin: site, cookie: `__Host-platform_session=${crypto.randomUUID()}.${"A".repeat(43)}` }), 401],
    ["with two cookies", () => ({ origin: site, cookie: `${cookie()}; ${cookie()}` }), 401],
    ["from another site", () => ({ origin: "https://evil.test", cookie: cookie() }), 403],
    ["from the page of an application", () => ({ origin: site.replace("localhost", "app.localhost"), cookie: cookie() }), 403],
    ["from a page without TLS", () => ({ origin: site.replace("https", "http"), cookie: cookie() }), 403],
    ["without an origin", () => ({ cookie: cookie() }), 403],
  ] as const)("a request %s is refused", async ([, facts, status]) => {
    expect(await dialTerminal(cluster, facts())).toBe(status);
  });

  test("a plain request is not a terminal, and another path not a WebSocket", async () => {
    expect((await alice("/terminal")).status).toBe(400);
    const headers = { connection: "Upgrade", upgrade: "websocket", "sec-websocket-version": "13", "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==" };
    expect((await alice("/me", { headers })).status).toBe(200);
  });

  test("the twenty-first of a session is refused, and the next one after an end is not", async () => {
    const eve = await openBrowser(cluster, "eve", ["shells"]);
    const dial = () => dialTerminal(cluster, { cookie: eve.cookie, origin: site });
    const all = await Promise.all(Array.from({ length: 20 }, dial));
    expect(await dial()).toBe(429);
    for (const one of all) if (typeof one !== "number") one.terminate();
    await expect.poll(async () => typeof (await dial()), { timeout: 5_000 }).toBe("object");
  });
});

describe("after the upgrade", () => {
  test.for([
    ["the token of another session", async () => ({ token: (await openBrowser(cluster, "mallory", ["shells"])).token })],
    ["the cookie's value", async () => ({ token: alice.cookie.split("=")[1] })],
    ["no token", async () => ({})],
    ["a token that is not a text", async () => ({ token: 1 })],
    ["more than the token", async () => ({ token: alice.token, node: "x" })],
  ] as const)("a first message with %s ends it", async ([, first]) => {
    const socket = await dialTerminal(cluster, { cookie: alice.cookie, origin: site });
    if (typeof socket === "number") throw new Error("refused");
    const streams = host.agent.requests.length;
    const told = new Promise<string>((resolve) => socket.once("message", (data: Buffer) => resolve(data.toString())));
    const closed = new Promise<number>((resolve) => socket.once("close", resolve));
    socket.send(JSON.stringify(await first()));
    socket.send(JSON.stringify(ask()));
    expect(JSON.parse(await told)).toMatchObject({ type: "error", error: { code: "denied" } });
    expect([await closed, host.agent.requests.length]).toEqual([1008, streams]);
  });

  test("without a first message it ends after four seconds", async () => {
    const socket = await dialTerminal(cluster, { cookie: alice.cookie, origin: site });
    if (typeof socket === "number") throw new Error("refused");
    const told = new Promise<string>((resolve) => socket.once("message", (data: Buffer) => resolve(data.toString())));
    expect(JSON.parse(await told)).toMatchObject({ type: "error", error: { code: "timeout" } });
  });

  test.for([
    ["a login that the roles do not allow", () => ({ ...ask(), login: "postgres-x" }), "denied"],
    ["a host that there is not", () => ({ ...ask(), node: crypto.randomUUID() }), "denied"],
    ["a login with an option in it", () => ({ ...ask(), login: "-oProxyCommand=x" }), "invalid"],
    ["the login of those who join", () => ({ ...ask(), login: "-join-" }), "invalid"],
    ["a size of nothing", () => ({ ...ask(), cols: 0 }), "invalid"],
    ["a size of everything", () => ({ ...ask(), rows: 100_000 }), "invalid"],
    ["a field that is not known", () => ({ ...ask(), env: { LD_PRELOAD: "x" } }), "invalid"],
    ["a session that does not run", () => ({ type: "join", session: crypto.randomUUID(), mode: "peer", ...size }), "not_found"],
    ["a mode that is not one", () => ({ type: "join", session: crypto.randomUUID(), mode: "owner", ...size }), "invalid"],
    ["a type that is not known", () => ({ type: "exec", command: "id" }), "invalid"],
  ] as const)("%s is refused", async ([, wish, code]) => {
    const terminal = await open(alice, wish());
    expect(await terminal.closed).toMatchObject({ type: "error", error: { code } });
  });

  test("somebody without a role that allows it reaches no host, and that is recorded", async () => {
    const guest = await openBrowser(cluster, "guest", ["nobody"]);
    const streams = host.agent.requests.length;
    expect(await (await open(guest)).closed).toMatchObject({ type: "error", error: { code: "denied" } });
    expect(host.agent.requests.length).toBe(streams);
    expect(await cluster.events("access.denied")).toContainEqual(expect.objectContaining({ user: "guest", method: "signBrowserSsh" }));
  });

  test.for(["observer", "peer"])("a session of another user is closed to one who may log in to its host but not join it, as %s", async (mode) => {
    await cluster.putRole("loners", { allow: { logins: [login], node_labels: { "*": "*" } } });
    const loner = await openBrowser(cluster, `lone-${mode}`, ["loners"]);
    const owner = await openPlain();
    const sidsOf = async (browser: WebBrowser): Promise<readonly string[]> =>
      ((await browser("/running-sessions")).body as { sessions: readonly { sid: string; user: string }[] }).sessions
        .filter(({ user }) => user === "alice")
        .map(({ sid }) => sid);
    await expect.poll(() => sidsOf(alice), { timeout: 10_000 }).not.toEqual([]);
    const [streams, sids] = [host.agent.requests.length, await sidsOf(alice)];
    expect(await sidsOf(loner)).toEqual([]);
    for (const session of sids) {
      const refused = await open(loner, { type: "join", session, mode, ...size });
      expect(await refused.closed).toMatchObject({ type: "error", error: { code: "not_found" } });
      expect(refused.received()).toBe(0);
    }
    expect(host.agent.requests.length).toBe(streams);
    // The event has the reason, which the user does not learn.
    const denied = {
      user: `lone-${mode}`,
      method: "signBrowserSsh",
      error: expect.stringContaining(`may not join sessions of alice on web-1 as ${mode}`),
    };
    await expect.poll(() => cluster.events("access.denied")).toContainEqual(expect.objectContaining(denied));
    owner.send({ type: "end" });
    await owner.closed;
  });

  test.for([
    ["not JSON", Buffer.from("{"), "invalid"],
    ["a control that is not known", Buffer.from('{"type":"exec"}'), "invalid"],
    ["a negative count", Buffer.from('{"type":"read","bytes":-1}'), "invalid"],
    ["more shown than was sent", Buffer.from('{"type":"read","bytes":67108864}'), "invalid"],
  ] as const)("%s ends an open terminal", async ([, text, code]) => {
    const terminal = await openPlain();
    const status = once(terminal.socket, "close");
    terminal.socket.send(text.toString());
    expect(await terminal.closed).toMatchObject({ type: "error", error: { code } });
    expect((await status)[0]).toBe(1008);
  });

  test("a message beyond the bound ends an open terminal", async () => {
    const terminal = await openPlain();
    terminal.type(Buffer.alloc(65_537));
    await terminal.closed;
    expect(terminal.socket.readyState).toBe(terminal.socket.CLOSED);
  });
});
