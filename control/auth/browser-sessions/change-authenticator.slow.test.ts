import { afterEach, beforeEach, expect, test } from "vitest";
import { type AuthWithBrowser, authWithBrowser, browserAddress, by } from "../../../test/inside/auth-with-browser.ts";
import { addUser, loggedIn } from "../../../test/inside/open-auth.ts";
import { codeAt } from "../../../test/world/one-time-code.ts";

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

type Session = ReturnType<typeof by>;

/** The address of a new authenticator, which does not count yet. */
async function started(mine: Session): Promise<{ readonly otpauthUri: string }> {
  return await proxy.startAuthenticator({ password: alice.password, code: code() }, mine);
}

const confirm = async (otpauthUri: string, mine: Session) => await proxy.confirmAuthenticator({ code: codeAt(otpauthUri, t.now()) }, mine);
const outcomes = async (event: string) => (await t.events(event)).map(({ user, success }) => [user, success]);

test("the new authenticator counts after a code of it, and the old one no longer; this session stays, all others have ended", async () => {
  const [mine, other] = [by(await open()), await open()];
  const { otpauthUri } = await started(mine);
  expect(otpauthUri).toMatch(/^otpauth:\/\/totp\/.*alice.*secret=[A-Z2-7]{32}/);
  expect(await confirm(otpauthUri, mine)).toMatchObject({ ended: 1 });
  expect(await proxy.getBrowserSession({}, mine)).toMatchObject({ user: "alice" });
  await expect(proxy.getBrowserSession({}, by(other))).rejects.toMatchObject({ code: "unauthenticated" });
  await expect(open()).rejects.toMatchObject({ code: "unauthenticated" });
  expect(await proxy.getBrowserSession({}, by(await open({ ...alice, otpauthUri })))).toMatchObject({ user: "alice" });
  expect(await t.events("user.authenticator_start")).toMatchObject([{ success: true, user: "alice", "addr.remote": browserAddress, code: "T1017I" }]);
  expect(await t.events("user.authenticator_change")).toMatchObject([
    { success: true, user: "alice", "addr.remote": browserAddress, code: "T1018I" },
  ]);
  expect(await t.events("browser_session.end")).toMatchObject([{ user: "alice", sid: other.id }]);
  const secret = new URL(otpauthUri).searchParams.get("secret") ?? "";
  expect(t.logLines.join("")).not.toContain(secret);
});

test.for([
  ["a wrong password", { password: "wrong wrong wrong" }],
  ["a wrong code", { code: "000000" }],
] as const)("%s gives no new authenticator, and nothing ends", async ([, changed]) => {
  const mine = by(await open());
  await expect(proxy.startAuthenticator({ password: alice.password, code: code(), ...changed }, mine)).rejects.toMatchObject({ code: "denied" });
  await expect(proxy.confirmAuthenticator({ code: code() }, mine)).rejects.toMatchObject({ code: "not_found" });
  expect(await proxy.getBrowserSession({}, by(await open()))).toMatchObject({ user: "alice" });
  expect(await t.events("user.authenticator_start")).toMatchObject([{ success: false, user: "alice", code: "T1017W" }]);
  expect(await t.events("access.denied")).toEqual([]);
});

test("codes are valid once: that of the old authenticator, and that which confirms the new one", async () => {
  const mine = by(await open());
  const spent = code();
  const { otpauthUri } = await proxy.startAuthenticator({ password: alice.password, code: spent }, mine);
  await expect(proxy.startAuthenticator({ password: alice.password, code: spent }, mine)).rejects.toMatchObject({ code: "denied" });
  const confirming = codeAt(otpauthUri, t.now());
  await proxy.confirmAuthenticator({ code: confirming }, mine);
  await expect(proxy.confirmAuthenticator({ code: confirming }, mine)).rejects.toMatchObject({ code: "not_found" });
  await expect(proxy.startAuthenticator({ password: alice.password, code: confirming }, mine)).rejects.toMatchObject({ code: "denied" });
});

test("a change that ends in the middle leaves the old authenticator valid, also after a wrong code of the new one", async () => {
  const mine = by(await open());
  const { otpauthUri } = await started(mine);
  await expect(proxy.confirmAuthenticator({ code: "000000" }, mine)).rejects.toMatchObject({ code: "denied" });
  expect(await t.events("user.authenticator_change")).toMatchObject([{ success: false, user: "alice", code: "T1018W" }]);
  await expect(open({ ...alice, otpauthUri })).rejects.toMatchObject({ code: "unauthenticated" });
  await open();
});

test("it is confirmed within ten minutes, and the last one that was started alone", async () => {
  const mine = by(await open());
  const [first, second] = [await started(mine), await started(mine)];
  await expect(confirm(first.otpauthUri, mine)).rejects.toMatchObject({ code: "denied" });
  t.forward(600_000);
  await expect(confirm(second.otpauthUri, mine)).rejects.toMatchObject({ code: "not_found" });
  await open();
});

test("nobody else confirms it: another session of the user, another user", async () => {
  const [mine, other] = [by(await open()), by(await open())];
  const bob = await addUser(t, "bob", { roles: ["editor"] });
  const bobs = by(await open(bob));
  const { otpauthUri } = await started(mine);
  for (const foreign of [other, bobs]) await expect(confirm(otpauthUri, foreign)).rejects.toMatchObject({ code: "not_found" });
  expect(await outcomes("user.authenticator_change")).toEqual([
    ["alice", false],
    ["bob", false],
  ]);
  await open();
  await open(bob);
});

test("a reset by an admin in between makes it void", async () => {
  const mine = by(await open());
  const { otpauthUri } = await started(mine);
  await t.admin.createInvite({ user: "alice" });
  await expect(confirm(otpauthUri, mine)).rejects.toMatchObject({ code: "unauthenticated" });
  await expect(open({ ...alice, otpauthUri })).rejects.toMatchObject({ code: "unauthenticated" });
});

test.for(["start", "confirm"] as const)("tries to %s are throttled together with logins", async (what) => {
  const mine = by(await open());
  const { otpauthUri } = await started(mine);
  const guess = async () =>
    what === "start"
      ? await proxy.startAuthenticator({ password: "wrong wrong wrong", code: "000000" }, mine)
      : await proxy.confirmAuthenticator({ code: "000000" }, mine);
  for (let tries = 0; tries < 5; tries += 1) await expect(guess()).rejects.toMatchObject({ code: "denied" });
  expect(await t.events("user.locked")).toMatchObject([{ user: "alice" }]);
  await expect(confirm(otpauthUri, mine)).rejects.toMatchObject({ code: "limit" });
  await expect(started(mine)).rejects.toMatchObject({ code: "limit" });
  await expect(open()).rejects.toMatchObject({ code: "limit" });
});

test("of several confirmations at once one counts", async () => {
  const mine = by(await open());
  const { otpauthUri } = await started(mine);
  const all = await Promise.allSettled(Array.from({ length: 4 }, () => confirm(otpauthUri, mine)));
  expect(all.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  expect((await outcomes("user.authenticator_change")).filter(([, success]) => success === true)).toHaveLength(1);
});

test("only a browser's session may ask; the refusals are recorded", async () => {
  const bob = await loggedIn(t, await addUser(t, "bob", { roles: ["editor"] }));
  const ask = { password: alice.password, code: code() };
  for (const client of [proxy, bob, t.admin]) {
    await expect(client.startAuthenticator(ask)).rejects.toMatchObject({ code: "denied" });
    await expect(client.confirmAuthenticator(ask)).rejects.toMatchObject({ code: "denied" });
  }
  await expect(t.connect().startAuthenticator(ask)).rejects.toMatchObject({ code: "unauthenticated" });
  expect((await t.events("access.denied")).map(({ method }) => method)).toEqual(
    Array.from({ length: 3 }, () => ["startAuthenticator", "confirmAuthenticator"]).flat(),
  );
  expect(await t.events("user.authenticator_start")).toEqual([]);
});
