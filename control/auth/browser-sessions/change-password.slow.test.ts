import { afterEach, beforeEach, expect, test } from "vitest";
import { browserSessionHeader, clientAddressHeader } from "../../../core/api/auth-call.ts";
import type { AuthClient } from "../../../core/api/auth-client.ts";
import type { TestUser } from "../../../test/inside/enrol-user.ts";
import { addUser, joinHost, loggedIn, openTestAuth, type TestAuth } from "../../../test/inside/open-auth.ts";
import { codeAt } from "../../../test/world/one-time-code.ts";

const address = "198.51.100.4:5000";
const newPassword = "a wholly different one";

let t: TestAuth;
let proxy: AuthClient;
let alice: TestUser;

beforeEach(async () => {
  t = await openTestAuth();
  proxy = (await joinHost(t, "proxy1", { role: "proxy" })).client;
  alice = await addUser(t, "alice", { roles: ["access"] });
});
afterEach(() => t[Symbol.asyncDispose]());

const freshCode = (): string => {
  t.forward(60_000);
  return codeAt(alice.otpauthUri, t.now());
};

/** Options of calls in a new session of the user. */
async function open(password = alice.password): Promise<{ readonly headers: Record<string, string>; readonly id: string }> {
  const ask = { user: "alice", password, code: freshCode(), userAgent: "Browser/1" };
  const { session, secret } = await proxy.createBrowserSession(ask, { headers: { [clientAddressHeader]: address } });
  const id = session?.id ?? "";
  return { id, headers: { [browserSessionHeader]: `${id}.${secret}`, [clientAddressHeader]: address } };
}

test("the new password is good and the old one is not; this session stays, all others have ended", async () => {
  const [mine, other] = [await open(), await open()];
  const code = freshCode();
  expect(await proxy.changePassword({ password: alice.password, code, newPassword }, mine)).toMatchObject({ ended: 1 });
  expect(await proxy.getBrowserSession({}, mine)).toMatchObject({ user: "alice" });
  await expect(proxy.getBrowserSession({}, other)).rejects.toMatchObject({ code: "unauthenticated" });
  await expect(open()).rejects.toMatchObject({ code: "unauthenticated" });
  expect(await proxy.getBrowserSession({}, await open(newPassword))).toMatchObject({ user: "alice" });
  expect(await t.events("user.password_change")).toMatchObject([{ success: true, user: "alice", "addr.remote": address, code: "T1014I" }]);
  expect(await t.events("browser_session.end")).toMatchObject([{ user: "alice", sid: other.id }]);
  expect(t.logLines.join("")).not.toContain(newPassword);
});

test.for([
  ["a wrong old password", { password: "wrong wrong wrong" }, "denied"],
  ["a wrong code", { code: "000000" }, "denied"],
  ["a new password that is too short", { newPassword: "short" }, "invalid"],
  ["the old password again", { newPassword: "" }, "invalid"],
] as const)("%s is refused, and nothing ends or changes", async ([, changed, code]) => {
  const [mine, other] = [await open(), await open()];
  const ask = { password: alice.password, code: freshCode(), newPassword, ...changed };
  const again = ask.newPassword === "" ? { ...ask, newPassword: alice.password } : ask;
  await expect(proxy.changePassword(again, mine)).rejects.toMatchObject({ code });
  expect(await proxy.getBrowserSession({}, other)).toMatchObject({ user: "alice" });
  expect(await proxy.getBrowserSession({}, await open())).toMatchObject({ user: "alice" });
  const refused = code === "denied" ? [{ success: false, user: "alice", code: "T1014W" }] : [];
  expect(await t.events("user.password_change")).toMatchObject(refused);
  expect(await t.events("access.denied")).toEqual([]);
});

test("a code is spent by the change", async () => {
  const mine = await open();
  const code = freshCode();
  await proxy.changePassword({ password: alice.password, code, newPassword }, mine);
  await expect(proxy.changePassword({ password: newPassword, code, newPassword: alice.password }, mine)).rejects.toMatchObject({ code: "denied" });
});

test("tries are throttled together with logins", async () => {
  const mine = await open();
  const guess = () => proxy.changePassword({ password: "wrong wrong wrong", code: "000000", newPassword }, mine);
  for (let tries = 0; tries < 5; tries += 1) await expect(guess()).rejects.toMatchObject({ code: "denied" });
  await expect(proxy.changePassword({ password: alice.password, code: freshCode(), newPassword }, mine)).rejects.toMatchObject({ code: "limit" });
  await expect(open()).rejects.toMatchObject({ code: "limit" });
});

test("only a browser's session may ask, and only a proxy may open one; the refusals are recorded", async () => {
  const ask = { password: alice.password, code: freshCode(), newPassword };
  const bob = await loggedIn(t, await addUser(t, "bob", { roles: ["editor"] }));
  for (const client of [proxy, bob, t.admin]) await expect(client.changePassword(ask)).rejects.toMatchObject({ code: "denied" });
  await expect(t.connect().changePassword(ask)).rejects.toMatchObject({ code: "unauthenticated" });
  await expect(bob.createBrowserSession({ user: "alice", password: alice.password, code: freshCode() })).rejects.toMatchObject({ code: "denied" });
  const refused = (await t.events("access.denied")).map(({ user, method }) => [String(user).replace(/:.*/, ""), method]);
  expect(refused).toEqual([...["proxy", "bob", "auth"].map((user) => [user, "changePassword"]), ["bob", "createBrowserSession"]]);
  expect(await t.events("user.password_change")).toEqual([]);
});
