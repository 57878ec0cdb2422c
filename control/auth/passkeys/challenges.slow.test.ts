import { randomBytes } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { PlatformError } from "../../../core/errors/platform-error.ts";
import { browserAddress, by, from } from "../../../test/inside/auth-with-browser.ts";
import { type AuthWithPasskeys, authWithPasskeys, browser, challengeOf, origin, rpId, site } from "../../../test/inside/auth-with-passkeys.ts";
import { addUser } from "../../../test/inside/open-auth.ts";
import { softwareAuthenticator } from "../../../test/inside/software-authenticator.ts";

let world: AuthWithPasskeys;
let t: AuthWithPasskeys["t"];
let proxy: AuthWithPasskeys["proxy"];
let alice: AuthWithPasskeys["alice"];
let logIn: AuthWithPasskeys["logIn"];
let withPasskey: AuthWithPasskeys["withPasskey"];
let startLogin: AuthWithPasskeys["startLogin"];
let send: AuthWithPasskeys["send"];

beforeEach(async () => {
  world = await authWithPasskeys();
  ({ t, proxy, alice, logIn, withPasskey, startLogin, send } = world);
});
afterEach(() => world[Symbol.asyncDispose]());

test("a challenge is used once; an answer that comes again does not count as a sign of a copy, and locks nobody", async () => {
  const { authenticator } = await withPasskey({ counts: true });
  const challenge = await startLogin();
  const assertion = authenticator.assert({ challenge, origin, rpId });
  await send(assertion);
  for (let again = 0; again < 6; again += 1) await expect(send(assertion)).rejects.toMatchObject({ code: "denied" });
  expect([await t.events("mfa.possible_copy"), await t.events("user.locked")]).toEqual([[], []]);
  await logIn(authenticator);
});

test("of several answers to a challenge at once one counts", async () => {
  const { authenticator } = await withPasskey();
  const assertion = authenticator.assert({ challenge: await startLogin(), origin, rpId });
  const all = await Promise.allSettled(Array.from({ length: 4 }, () => send(assertion)));
  expect(all.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
});

test("a challenge is used up by a right answer alone", async () => {
  const { authenticator } = await withPasskey();
  const challenge = await startLogin();
  await expect(logIn(authenticator, { challenge, isVerified: false })).rejects.toMatchObject({ code: "unauthenticated" });
  await logIn(authenticator, { challenge });
});

test("a challenge is good for five minutes", async () => {
  const { authenticator } = await withPasskey();
  const [early, late] = [await startLogin(), await startLogin()];
  t.forward(299_000);
  await logIn(authenticator, { challenge: early });
  t.forward(1000);
  await expect(logIn(authenticator, { challenge: late })).rejects.toMatchObject({ code: "denied" });
  expect(await t.events("user.locked")).toEqual([]);
});

test("a challenge is good in the browser and at the site for which it was made", async () => {
  const { authenticator } = await withPasskey();
  const assertion = authenticator.assert({ challenge: await startLogin(), origin, rpId });
  await expect(send(assertion, { of: "c".repeat(43) })).rejects.toMatchObject({ code: "denied" });
  await expect(send(assertion, { at: { ...site, port: 443 } })).rejects.toMatchObject({ code: "denied" });
  await send(assertion);
});

test.for([
  ["made by somebody else", (challenge: Buffer) => Buffer.concat([challenge.subarray(0, 40), Buffer.alloc(32)])],
  ["made to last longer", (challenge: Buffer) => Buffer.concat([challenge.subarray(0, 36), Buffer.from("ffffffff", "hex"), challenge.subarray(40)])],
  ["cut", (challenge: Buffer) => challenge.subarray(0, 32)],
  ["empty", () => Buffer.alloc(0)],
] as const)("a challenge that was %s is refused", async ([, change]) => {
  const { authenticator } = await withPasskey();
  await expect(logIn(authenticator, { challenge: change(Buffer.from(await startLogin())) })).rejects.toMatchObject({ code: "denied" });
});

test("a challenge for one purpose is refused for every other", async () => {
  const { mine, authenticator } = await withPasskey();
  const { passkeys } = await proxy.listPasskeys({}, mine);
  const id = passkeys[0]?.id ?? "";
  const login = await startLogin();
  const removal = challengeOf({ challenge: await proxy.startPasskeyRemoval({ site, id }, mine) });
  const adding = challengeOf(await proxy.startPasskey({ site, name: "second", password: alice.password, code: world.code() }, mine));
  const remove = async (challenge: Uint8Array) =>
    await proxy.removePasskey({ id, passkey: { assertion: authenticator.assert({ challenge, origin, rpId }), site } }, mine);
  for (const challenge of [removal, adding]) await expect(logIn(authenticator, { challenge })).rejects.toMatchObject({ code: "denied" });
  for (const challenge of [login, adding]) await expect(remove(challenge)).rejects.toMatchObject({ code: "denied" });
  for (const challenge of [login, removal]) {
    const made = softwareAuthenticator().make({ challenge, origin, rpId });
    const ask = { site, name: "second", userHandle: authenticator.userHandle, ...made };
    await expect(proxy.addPasskey(ask, mine)).rejects.toMatchObject({ code: "denied" });
  }
  expect((await proxy.listPasskeys({}, mine)).passkeys).toHaveLength(1);
});

test("a challenge for a new passkey is for its session, its name and its user", async () => {
  const [mine, other] = [by(await world.open()), by(await world.open())];
  const bob = await addUser(t, "bob", { roles: ["access"] });
  const bobs = by(await world.open(bob));
  const started = await proxy.startPasskey({ site, name: "phone", password: alice.password, code: world.code() }, mine);
  const { userHandle } = started;
  const ask = { site, name: "phone", userHandle, ...softwareAuthenticator().make({ challenge: challengeOf(started), origin, rpId }) };
  for (const foreign of [other, bobs]) await expect(proxy.addPasskey(ask, foreign)).rejects.toMatchObject({ code: "denied" });
  for (const changed of [{ name: "laptop" }, { userHandle: Buffer.alloc(32) }, { site: { ...site, host: "evil.test" } }])
    await expect(proxy.addPasskey({ ...ask, ...changed }, mine)).rejects.toMatchObject({ code: "denied" });
  await proxy.addPasskey(ask, mine);
  await expect(proxy.addPasskey(ask, mine)).rejects.toMatchObject({ code: "denied" });
});

test("a challenge costs nothing to make: strangers store nothing", async () => {
  await startLogin();
  const before = storedKeys().length;
  for (let asks = 0; asks < 20; asks += 1) await startLogin();
  expect(storedKeys()).toHaveLength(before);
});

test("made-up handles from one address store what one of them does, and keep nobody there from logging in", async () => {
  const { authenticator } = await withPasskey();
  const address = "203.0.113.9:1";
  const challenge = await startLogin(address);
  const before = storedKeys().length;
  const answers: unknown[] = [];
  for (let tries = 0; tries < 6; tries += 1) {
    const stranger = softwareAuthenticator();
    stranger.userHandle = randomBytes(32);
    answers.push(await logIn(stranger, { challenge }, { address }).catch(({ code }: PlatformError) => code));
  }
  expect(answers).toEqual([...Array.from({ length: 5 }, () => "unauthenticated"), "limit"]);
  // The count for the address, and that for the name.
  expect(storedKeys()).toHaveLength(before + 2);
  await logIn(authenticator, {}, { address });
});

test.for([
  ["an IP address", { site: { host: "203.0.113.9", port: 443 }, browser }, "unsupported"],
  ["something else than a host name", { site: { host: "a b", port: 443 }, browser }, "invalid"],
  ["no browser", { site, browser: "" }, "invalid"],
] as const)("a challenge is not made for %s", async ([, ask, code]) => {
  await expect(proxy.startPasskeyLogin(ask, from(browserAddress))).rejects.toMatchObject({ code });
});

/** Keys in the storage. */
function storedKeys(): readonly string[] {
  using database = new DatabaseSync(`${t.dataDir}/auth/state.sqlite`, { readOnly: true });
  return database
    .prepare("SELECT key FROM entries")
    .all()
    .map(({ key }) => String(key));
}
