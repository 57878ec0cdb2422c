import { readdirSync, readFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { unusedSessionHeader } from "../../../core/api/auth-call.ts";
import { type AuthWithBrowser, authWithBrowser, browserAddress, by, from } from "../../../test/inside/auth-with-browser.ts";
import { addUser, joinHost, loggedIn } from "../../../test/inside/open-auth.ts";
import { codeAt } from "../../../test/world/one-time-code.ts";

let world: AuthWithBrowser;
let t: AuthWithBrowser["t"];
let proxy: AuthWithBrowser["proxy"];
let alice: AuthWithBrowser["alice"];
let open: AuthWithBrowser["open"];

beforeEach(async () => {
  world = await authWithBrowser();
  ({ t, proxy, alice, open } = world);
});
afterEach(() => world[Symbol.asyncDispose]());

const minute = 60_000;

describe("a session of a browser", () => {
  test("is opened by password and code, once by each code, and calls are then the user's", async () => {
    const code = codeAt(alice.otpauthUri, t.now());
    const ask = { user: "alice", password: alice.password, code, userAgent: "x".repeat(500) };
    const { session, secret } = await proxy.createBrowserSession(ask, from(browserAddress));
    expect(session).toMatchObject({ user: "alice", address: "198.51.100.4", userAgent: "x".repeat(256), current: true });
    await expect(proxy.createBrowserSession(ask, from(browserAddress))).rejects.toMatchObject({ code: "unauthenticated" });
    const call = by({ id: session?.id ?? "", secret }, "198.51.100.4:5001");
    expect(await proxy.getBrowserSession({}, call)).toMatchObject({ id: session?.id, user: "alice", roles: ["access"] });
    await expect(proxy.listResources({ kind: "role" }, call)).rejects.toMatchObject({ code: "denied" });
    expect(await t.events("access.denied")).toMatchObject([{ user: "alice", method: "listResources", "addr.remote": "198.51.100.4:5001" }]);
    expect(await t.events("user.login")).toMatchObject([
      { success: true, user: "alice", method: "browser", sid: session?.id, "addr.remote": browserAddress },
      { success: false, user: "alice", method: "browser" },
    ]);
  });

  test("may do what the roles that the user has now allow", async () => {
    const session = await open();
    const role = (roles: string[]) =>
      t.admin.putResource({ json: JSON.stringify({ kind: "user", version: "v2", metadata: { name: "alice" }, spec: { roles } }), overwrite: true });
    await role(["editor"]);
    expect((await proxy.listResources({ kind: "role" }, by(session))).resources.length).toBeGreaterThan(0);
    await role(["access"]);
    await expect(proxy.listResources({ kind: "role" }, by(session))).rejects.toMatchObject({ code: "denied" });
  });

  test("needs its own secret", async () => {
    const [one, two] = [await open(), await open()];
    for (const wrong of [
      { ...one, secret: two.secret },
      { ...one, id: two.id },
      { id: one.id, secret: "" },
      { id: "../user", secret: one.secret },
    ]) {
      await expect(proxy.getBrowserSession({}, by(wrong))).rejects.toMatchObject({ code: "unauthenticated" });
    }
  });

  test("is not stored with its secret", async () => {
    const { id, secret } = await open();
    const files = readdirSync(t.dataDir, { recursive: true, encoding: "utf8" }).filter((name) => name.includes("sqlite"));
    const texts = files.map((name) => readFileSync(`${t.dataDir}/${name}`, "latin1")).join("");
    expect(texts).toContain(id);
    expect(texts).not.toContain(secret);
    expect(t.logLines.join("")).not.toContain(secret);
  });

  test("is only taken from a proxy", async () => {
    const session = await open();
    const node = (await joinHost(t, "node1")).client;
    const bob = await loggedIn(t, await addUser(t, "bob", { roles: ["editor"] }));
    for (const client of [node, bob, t.connect(), t.admin]) {
      await expect(client.getBrowserSession({}, by(session))).rejects.toMatchObject({ code: "denied" });
    }
    const call = { user: "alice", password: alice.password, code: codeAt(alice.otpauthUri, t.now()) };
    for (const client of [node, bob]) await expect(client.createBrowserSession(call)).rejects.toMatchObject({ code: "denied" });
    await expect(t.connect().createBrowserSession(call)).rejects.toMatchObject({ code: "unauthenticated" });
    await expect(bob.getBrowserSession({})).rejects.toMatchObject({ code: "denied" });
  });

  test("ends at 12 hours although it was used, and after an hour without use", async () => {
    const [used, unused] = [await open(), await open()];
    for (let step = 0; step < 14; step += 1) {
      t.forward(50 * minute);
      expect(await proxy.getBrowserSession({}, by(used))).toMatchObject({ id: used.id });
    }
    await expect(proxy.getBrowserSession({}, by(unused))).rejects.toMatchObject({ code: "unauthenticated" });
    t.forward(new Date(used.expires).getTime() - t.now().getTime() - 1);
    expect(await proxy.getBrowserSession({}, by(used))).toMatchObject({ id: used.id });
    t.forward(1);
    await expect(proxy.getBrowserSession({}, by(used))).rejects.toMatchObject({ code: "unauthenticated" });
  });

  test("is not used by the calls of a page that refreshes itself", async () => {
    const session = await open();
    const { headers } = by(session);
    const refresh = async () => await proxy.getBrowserSession({}, { headers: { ...headers, [unusedSessionHeader]: "1" } });
    t.forward(30 * minute);
    expect(await refresh()).toMatchObject({ id: session.id });
    t.forward(20 * minute);
    expect(await proxy.getBrowserSession({}, by(session))).toMatchObject({ id: session.id });
    t.forward(50 * minute);
    expect(await refresh()).toMatchObject({ id: session.id });
    t.forward(20 * minute);
    await expect(refresh()).rejects.toMatchObject({ code: "unauthenticated" });
    await expect(proxy.getBrowserSession({}, by(session))).rejects.toMatchObject({ code: "unauthenticated" });
  });

  test("ends as early as the role with the least time", async () => {
    const spec = { options: { max_session_ttl: "30m" }, allow: {} };
    await t.admin.putResource({ json: JSON.stringify({ kind: "role", version: "v7", metadata: { name: "short" }, spec }) });
    const carol = await addUser(t, "carol", { roles: ["access", "short"] });
    const now = t.now();
    expect(new Date((await open(carol)).expires).getTime() - now.getTime()).toBe(30 * minute);
  });

  test("of another user cannot be ended; an own one, and all of them, can", async () => {
    const [one, two, three] = [await open(), await open(), await open()];
    const bob = await open(await addUser(t, "bob", { roles: ["access"] }));
    await expect(proxy.endBrowserSession({ id: one.id }, by(bob))).rejects.toMatchObject({ code: "not_found" });
    expect((await proxy.listBrowserSessions({}, by(two))).sessions).toMatchObject([
      { id: three.id, current: false },
      { id: two.id, current: true },
      { id: one.id, current: false },
    ]);
    await proxy.endBrowserSession({ id: one.id }, by(two));
    await expect(proxy.getBrowserSession({}, by(one))).rejects.toMatchObject({ code: "unauthenticated" });
    await proxy.endBrowserSession({}, by(two));
    await expect(proxy.getBrowserSession({}, by(two))).rejects.toMatchObject({ code: "unauthenticated" });
    expect(await proxy.endBrowserSession({ all: true }, by(three))).toMatchObject({ ended: 1 });
    expect(await proxy.getBrowserSession({}, by(bob))).toMatchObject({ user: "bob" });
    expect(await t.events("browser_session.end")).toMatchObject([one, two, three].map(({ id }) => ({ user: "alice", name: "alice", sid: id })));
  });

  test("ends with a lock, with the password, and with its user, even if another one has the name", async () => {
    const locked = await open();
    const lock = { kind: "lock", version: "v2", metadata: { name: "l" }, spec: { target: { user: "alice" } } };
    await t.admin.putResource({ json: JSON.stringify(lock) });
    await expect(proxy.getBrowserSession({}, by(locked))).rejects.toMatchObject({ code: "denied" });
    await t.admin.deleteResource({ kind: "lock", name: "l" });
    expect(await proxy.getBrowserSession({}, by(locked))).toMatchObject({ user: "alice" });
    await t.admin.createInvite({ user: "alice" });
    await expect(proxy.getBrowserSession({}, by(locked))).rejects.toMatchObject({ code: "unauthenticated" });
    const bob = await open(await addUser(t, "bob", { roles: ["access"] }));
    await t.admin.deleteResource({ kind: "user", name: "bob" });
    await expect(proxy.getBrowserSession({}, by(bob))).rejects.toMatchObject({ code: "unauthenticated" });
    await addUser(t, "bob", { roles: ["access"] });
    await expect(proxy.getBrowserSession({}, by(bob))).rejects.toMatchObject({ code: "unauthenticated" });
  });

  test("is throttled as other logins are, by the browser's address", async () => {
    const attempt = (address: string) => proxy.createBrowserSession({ user: "alice", password: "wrong", code: "000000" }, from(address));
    for (let tries = 0; tries < 5; tries += 1) await expect(attempt("198.51.100.9:1")).rejects.toMatchObject({ code: "unauthenticated" });
    await expect(attempt("198.51.100.9:2")).rejects.toMatchObject({ code: "limit" });
    expect((await open()).id).toHaveLength(36);
  });
});
