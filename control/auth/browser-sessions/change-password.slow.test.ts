import { afterEach, beforeEach, expect, test } from "vitest";
import { type AuthWithBrowser, authWithBrowser, browserAddress, by } from "../../../test/inside/auth-with-browser.ts";
import { addUser, loggedIn } from "../../../test/inside/open-auth.ts";

const newPassword = "a wholly different one";

let world: AuthWithBrowser;
let t: AuthWithBrowser["t"];
let proxy: AuthWithBrowser["proxy"];
let alice: AuthWithBrowser["alice"];
let code: AuthWithBrowser["code"];
let open: AuthWithBrowser["open"];

beforeEach(async () => {
  world = await authWithBrowser();
  ({ t, proxy, alice, code, open } = world);
});
afterEach(() => world[Symbol.asyncDispose]());

test("the new password is good and the old one is not; this session stays, all others have ended", async () => {
  const [mine, other] = [by(await open()), await open()];
  expect(await proxy.changePassword({ password: alice.password, code: code(), newPassword }, mine)).toMatchObject({ ended: 1 });
  expect(await proxy.getBrowserSession({}, mine)).toMatchObject({ user: "alice" });
  await expect(proxy.getBrowserSession({}, by(other))).rejects.toMatchObject({ code: "unauthenticated" });
  await expect(open()).rejects.toMatchObject({ code: "unauthenticated" });
  expect(await proxy.getBrowserSession({}, by(await open({ ...alice, password: newPassword })))).toMatchObject({ user: "alice" });
  expect(await t.events("user.password_change")).toMatchObject([{ success: true, user: "alice", "addr.remote": browserAddress, code: "T1014I" }]);
  expect(await t.events("browser_session.end")).toMatchObject([{ user: "alice", sid: other.id }]);
  expect(t.logLines.join("")).not.toContain(newPassword);
});

test.for([
  ["a wrong old password", { password: "wrong wrong wrong" }, "denied"],
  ["a wrong code", { code: "000000" }, "denied"],
  ["a new password that is too short", { newPassword: "short" }, "invalid"],
  ["the old password again", { newPassword: "" }, "invalid"],
] as const)("%s is refused, and nothing ends or changes", async ([, changed, refusal]) => {
  const [mine, other] = [by(await open()), await open()];
  const ask = { password: alice.password, code: code(), newPassword, ...changed };
  const again = ask.newPassword === "" ? { ...ask, newPassword: alice.password } : ask;
  await expect(proxy.changePassword(again, mine)).rejects.toMatchObject({ code: refusal });
  expect(await proxy.getBrowserSession({}, by(other))).toMatchObject({ user: "alice" });
  expect(await proxy.getBrowserSession({}, by(await open()))).toMatchObject({ user: "alice" });
  const refused = refusal === "denied" ? [{ success: false, user: "alice", code: "T1014W" }] : [];
  expect(await t.events("user.password_change")).toMatchObject(refused);
  expect(await t.events("access.denied")).toEqual([]);
});

test("a code is spent by the change", async () => {
  const mine = by(await open());
  const spent = code();
  await proxy.changePassword({ password: alice.password, code: spent, newPassword }, mine);
  await expect(proxy.changePassword({ password: newPassword, code: spent, newPassword: alice.password }, mine)).rejects.toMatchObject({
    code: "denied",
  });
});

test("tries are throttled together with logins", async () => {
  const mine = by(await open());
  const guess = () => proxy.changePassword({ password: "wrong wrong wrong", code: "000000", newPassword }, mine);
  for (let tries = 0; tries < 5; tries += 1) await expect(guess()).rejects.toMatchObject({ code: "denied" });
  await expect(proxy.changePassword({ password: alice.password, code: code(), newPassword }, mine)).rejects.toMatchObject({ code: "limit" });
  await expect(open()).rejects.toMatchObject({ code: "limit" });
});

test("only a browser's session may ask, and only a proxy may open one; the refusals are recorded", async () => {
  const ask = { password: alice.password, code: code(), newPassword };
  const bob = await loggedIn(t, await addUser(t, "bob", { roles: ["editor"] }));
  for (const client of [proxy, bob, t.admin]) await expect(client.changePassword(ask)).rejects.toMatchObject({ code: "denied" });
  await expect(t.connect().changePassword(ask)).rejects.toMatchObject({ code: "unauthenticated" });
  await expect(bob.createBrowserSession({ user: "alice", password: alice.password, code: code() })).rejects.toMatchObject({ code: "denied" });
  const refused = (await t.events("access.denied")).map(({ user, method }) => [String(user).replace(/:.*/, ""), method]);
  expect(refused).toEqual([...["proxy", "bob", "auth"].map((user) => [user, "changePassword"]), ["bob", "createBrowserSession"]]);
  expect(await t.events("user.password_change")).toEqual([]);
});
