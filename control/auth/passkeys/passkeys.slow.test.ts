import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { User } from "../../../core/resources/user.ts";
import { someRuns } from "../../../test/fuzz/some-runs.ts";
import { browserAddress, by } from "../../../test/inside/auth-with-browser.ts";
import { type AuthWithPasskeys, authWithPasskeys, browser, challengeOf, origin, rpId, site } from "../../../test/inside/auth-with-passkeys.ts";
import { addUser, loggedIn } from "../../../test/inside/open-auth.ts";
import { type AuthenticatorAsk, certifiedAttestation, softwareAuthenticator } from "../../../test/inside/software-authenticator.ts";
import { codeAt } from "../../../test/world/one-time-code.ts";

let world: AuthWithPasskeys;
let t: AuthWithPasskeys["t"];
let proxy: AuthWithPasskeys["proxy"];
let alice: AuthWithPasskeys["alice"];
let add: AuthWithPasskeys["add"];
let logIn: AuthWithPasskeys["logIn"];
let withPasskey: AuthWithPasskeys["withPasskey"];
let startLogin: AuthWithPasskeys["startLogin"];
let send: AuthWithPasskeys["send"];

beforeEach(async () => {
  world = await authWithPasskeys();
  ({ t, proxy, alice, add, logIn, withPasskey, startLogin, send } = world);
});
afterEach(() => world[Symbol.asyncDispose]());

test("a passkey is password and code in one: added, listed, used, recorded", async () => {
  const { mine, authenticator } = await withPasskey({ counts: true });
  expect((await proxy.listPasskeys({}, mine)).passkeys).toMatchObject([{ name: "phone", host: rpId, created: t.now().toISOString(), lastUsed: "" }]);
  t.forward(5000);
  const session = await logIn(authenticator);
  expect(await proxy.getBrowserSession({}, by(session))).toMatchObject({ user: "alice", roles: ["access"] });
  expect((await proxy.listPasskeys({}, mine)).passkeys).toMatchObject([{ lastUsed: t.now().toISOString() }]);
  expect(await t.events("mfa.add")).toMatchObject([
    { success: true, user: "alice", mfa_device: "passkey phone", code: "T1006I", "addr.remote": browserAddress },
  ]);
  expect((await t.events("user.login")).at(-1)).toMatchObject({
    success: true,
    user: "alice",
    method: "passkey",
    mfa_device: "passkey phone",
    sid: session.id,
  });
  // For `tctl users ls`; the document is one that the version before can read.
  const { resources, passkeys } = await t.admin.listResources({ kind: "user" });
  expect([resources.map(({ json }) => (JSON.parse(json) as User).status), passkeys]).toEqual([[{ state: "active" }], { alice: 1 }]);
});

const refused: readonly (readonly [string, Partial<AuthenticatorAsk>])[] = [
  ["a page of another site", { origin: "https://evil.test" }],
  ["a page of an application below the proxy's name", { origin: "https://wiki.access.example.com:3080" }],
  ["a page at another port", { origin: "https://access.example.com" }],
  ["a page without TLS", { origin: "http://access.example.com:3080" }],
  ["a page in a frame of another site", { crossOrigin: true }],
  ["another relying party", { rpId: "example.com" }],
  ["an authenticator that has not verified its user", { isVerified: false }],
  ["an authenticator that nobody touched", { isPresent: false }],
];

test.for([...refused, ["an answer of the other kind", { type: "webauthn.create" }] as const])("a login from %s is refused", async ([, deviation]) => {
  const { authenticator } = await withPasskey();
  await expect(logIn(authenticator, deviation)).rejects.toMatchObject({ code: expect.stringMatching(/^(unauthenticated|denied)$/) });
  expect((await t.events("user.login")).at(-1)).toMatchObject({ success: false, method: "passkey" });
  await logIn(authenticator);
});

test.for([...refused, ["an answer of the other kind", { type: "webauthn.get" }] as const])(
  "a new passkey from %s is refused",
  async ([, deviation]) => {
    const mine = by(await world.open());
    await expect(add(mine, softwareAuthenticator(), deviation)).rejects.toMatchObject({ code: "denied" });
    expect(await t.events("mfa.add")).toMatchObject([{ success: false, user: "alice", code: "T1019W" }]);
    expect((await proxy.listPasskeys({}, mine)).passkeys).toEqual([]);
  },
);

test("a new passkey with the certificate of a manufacturer is refused: its addresses would be asked", async () => {
  const mine = by(await world.open());
  const attestation = (data: Buffer): Buffer => certifiedAttestation(data, Buffer.from("3000", "hex"));
  await expect(add(mine, softwareAuthenticator(), { attestation })).rejects.toMatchObject({ code: "denied" });
});

describe("an assertion", () => {
  test("of another passkey, another user, or one that nobody has, gets the same answer", async () => {
    const { authenticator } = await withPasskey();
    const bob = await addUser(t, "bob", { roles: ["access"] });
    const ofBob = softwareAuthenticator();
    await add(by(await world.open(bob)), ofBob, { user: bob });
    const unknown = softwareAuthenticator();
    unknown.userHandle = authenticator.userHandle;
    const nobody = softwareAuthenticator();
    nobody.userHandle = Buffer.alloc(32, 7);
    const asBob = { ...authenticator.assert({ challenge: await startLogin(), origin, rpId }), userHandle: ofBob.userHandle };
    const forged = {
      ...ofBob.assert({ challenge: await startLogin(), origin, rpId }),
      credentialId: authenticator.credentialId,
      userHandle: authenticator.userHandle,
    };
    const answers: unknown[] = [];
    for (const attempt of [() => logIn(unknown), () => logIn(nobody), () => send(asBob), () => send(forged)])
      answers.push(await attempt().catch((thrown: unknown) => thrown));
    expect(answers.map(String)).toEqual(Array.from({ length: 4 }, () => String(answers[0])));
    expect(answers[0]).toMatchObject({ code: "unauthenticated" });
    expect((await t.events("user.login")).filter(({ success }) => success === false).map(({ user }) => user)).toEqual([
      "(unknown passkey)",
      "(unknown passkey)",
      "(unknown passkey)",
      "alice",
    ]);
  });

  test("of another user does not go on in a page that waits for one", async () => {
    const { authenticator } = await withPasskey();
    await expect(logIn(authenticator, {}, { user: "bob" })).rejects.toMatchObject({ code: "unauthenticated" });
    await logIn(authenticator, {}, { user: "alice" });
  });

  test("whose count does not go up is refused, and recorded as a possible copy", async () => {
    const { authenticator } = await withPasskey({ counts: true });
    await logIn(authenticator, { counter: 7 });
    for (const counter of [7, 3, 0]) await expect(logIn(authenticator, { counter })).rejects.toMatchObject({ code: "unauthenticated" });
    await logIn(authenticator, { counter: 8 });
    expect((await t.events("mfa.possible_copy")).map((event) => [event.user, event.mfa_device, event.stored_count, event.sent_count])).toEqual([
      ["alice", "passkey phone", 7, 7],
      ["alice", "passkey phone", 7, 3],
      ["alice", "passkey phone", 7, 0],
    ]);
  });

  test("of an authenticator that does not count its uses is good each time", async () => {
    const { authenticator } = await withPasskey();
    for (let uses = 0; uses < 3; uses += 1) await logIn(authenticator);
    expect(await t.events("mfa.possible_copy")).toEqual([]);
  });

  test("that is wrong counts as a failed login, and the name is then locked for the address", async () => {
    const { authenticator } = await withPasskey();
    for (let tries = 0; tries < 5; tries += 1)
      await expect(logIn(authenticator, { isVerified: false })).rejects.toMatchObject({ code: "unauthenticated" });
    expect(await t.events("user.locked")).toMatchObject([{ user: "alice" }]);
    await expect(logIn(authenticator)).rejects.toMatchObject({ code: "limit" });
    await expect(world.open()).rejects.toMatchObject({ code: "limit" });
    await logIn(authenticator, {}, { address: "192.0.2.1:1" });
  });

  test("of a passkey that its user has removed does not lock the user's other ways to log in", async () => {
    const { mine, authenticator } = await withPasskey();
    const second = softwareAuthenticator();
    await add(mine, second, { name: "key" });
    const [phone] = (await proxy.listPasskeys({}, mine)).passkeys;
    await proxy.removePasskey({ id: phone?.id ?? "", password: alice.password, code: world.code() }, mine);
    for (let tries = 0; tries < 5; tries += 1) await expect(logIn(authenticator)).rejects.toMatchObject({ code: "unauthenticated" });
    await world.open();
    await logIn(second);
  });

  test.for(["credentialId", "clientData", "authenticatorData", "signature", "userHandle"] as const)(
    "with a %s that is too long is refused",
    async (part) => {
      const { authenticator } = await withPasskey();
      const assertion = authenticator.assert({ challenge: await startLogin(), origin, rpId });
      const long =
        part === "clientData" ? Buffer.concat([assertion.clientData, Buffer.alloc(5000, " ")]) : Buffer.concat([assertion[part], Buffer.alloc(5000)]);
      await expect(send({ ...assertion, [part]: long })).rejects.toMatchObject({ code: expect.stringMatching(/^(unauthenticated|denied)$/) });
    },
  );
});

test("a new passkey with any bytes is refused, and nothing fails", async () => {
  const mine = by(await world.open());
  const started = await proxy.startPasskey({ site, name: "phone", password: alice.password, code: world.code() }, mine);
  const made = softwareAuthenticator().make({ challenge: challengeOf(started), origin, rpId });
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), async (bytes) => {
      const ask = { site, name: "phone", userHandle: started.userHandle, ...made, attestationObject: bytes };
      await expect(proxy.addPasskey(ask, mine)).rejects.toMatchObject({ code: "denied" });
    }),
    { numRuns: someRuns(30) },
  );
  expect(t.logLines.join("")).not.toContain("API call failed");
  expect((await proxy.listPasskeys({}, mine)).passkeys).toEqual([]);
});

describe("own passkeys", () => {
  test("take password and code, throttled as logins are", async () => {
    const mine = by(await world.open());
    const guess = async () => await proxy.startPasskey({ site, name: "phone", password: "wrong wrong wrong", code: "000000" }, mine);
    for (let tries = 0; tries < 5; tries += 1) await expect(guess()).rejects.toMatchObject({ code: "denied" });
    expect((await t.events("mfa.add_start")).map(({ success, user, code }) => [success, user, code])).toEqual(
      Array.from({ length: 5 }, () => [false, "alice", "T1021W"]),
    );
    expect(await t.events("mfa.add")).toEqual([]);
    await expect(add(mine, softwareAuthenticator())).rejects.toMatchObject({ code: "limit" });
  });

  test("are started for password and code, which is recorded, and spends the code also where another name is needed", async () => {
    const { mine } = await withPasskey();
    const ask = { site, name: "phone", password: alice.password, code: world.code() };
    await expect(proxy.startPasskey(ask, mine)).rejects.toMatchObject({ code: "already_exists" });
    await expect(proxy.startPasskey({ ...ask, name: "other" }, mine)).rejects.toMatchObject({ code: "denied" });
    expect((await t.events("mfa.add_start")).map((event) => [event.success, event.user, event.mfa_device, event["addr.remote"]])).toEqual([
      [true, "alice", "passkey phone", browserAddress],
      [true, "alice", "passkey phone", browserAddress],
      [false, "alice", "passkey other", browserAddress],
    ]);
  });

  test("have a name of visible characters: another one is refused and not recorded", async () => {
    const mine = by(await world.open());
    const made = softwareAuthenticator().make({ challenge: Buffer.alloc(72), origin, rpId });
    const ask = { site, name: "x\u001b[2J\u202e", userHandle: Buffer.alloc(32), ...made };
    await expect(proxy.addPasskey(ask, mine)).rejects.toMatchObject({ code: "invalid" });
    expect(await t.events("mfa.add")).toEqual([]);
  });

  test("are ten at most, each with a name of its own; the authenticators that have one are named", async () => {
    const mine = by(await world.open());
    const first = softwareAuthenticator();
    await add(mine, first, { name: "key 0" });
    const { challenge } = await proxy.startPasskey({ site, name: "key 1", password: alice.password, code: world.code() }, mine);
    expect(challenge?.credentials.map(({ id, transports }) => [Buffer.from(id), transports])).toEqual([[first.credentialId, ["hybrid", "internal"]]]);
    await expect(add(mine, softwareAuthenticator(), { name: "key 0" })).rejects.toMatchObject({ code: "already_exists" });
    await expect(add(mine, first, { name: "key 1" })).rejects.toMatchObject({ code: "already_exists" });
    for (const name of ["", " ", "a\nb", "x".repeat(65)])
      await expect(add(mine, softwareAuthenticator(), { name })).rejects.toMatchObject({ code: "invalid" });
    // Two that were started while there was room for one.
    for (let at = 1; at < 9; at += 1) await add(mine, softwareAuthenticator(), { name: `key ${at}` });
    const started = [];
    for (const name of ["key 9", "key 10"])
      started.push({ name, ...(await proxy.startPasskey({ site, name, password: alice.password, code: world.code() }, mine)) });
    const finish = started.map(async (one) => {
      const made = softwareAuthenticator().make({ challenge: challengeOf(one), origin, rpId });
      await proxy.addPasskey({ site, name: one.name, userHandle: one.userHandle, ...made }, mine);
    });
    const outcomes = await Promise.allSettled(finish);
    expect(outcomes.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    await expect(add(mine, softwareAuthenticator(), { name: "key 11" })).rejects.toMatchObject({ code: "limit" });
    expect((await proxy.listPasskeys({}, mine)).passkeys).toHaveLength(10);
  });

  test("are removed for password and code, or for one of them; a removed one logs nobody in", async () => {
    const { mine, authenticator } = await withPasskey();
    const second = softwareAuthenticator();
    await add(mine, second, { name: "key" });
    const [phone, key] = (await proxy.listPasskeys({}, mine)).passkeys.map(({ id }) => id);
    await expect(proxy.removePasskey({ id: phone ?? "", password: alice.password, code: "000000" }, mine)).rejects.toMatchObject({ code: "denied" });
    await proxy.removePasskey({ id: phone ?? "", password: alice.password, code: world.code() }, mine);
    await expect(logIn(authenticator)).rejects.toMatchObject({ code: "unauthenticated" });
    const asked = await proxy.startPasskeyRemoval({ site, id: key ?? "" }, mine);
    expect(asked.credentials.map(({ id }) => Buffer.from(id))).toEqual([second.credentialId]);
    const passkey = { assertion: second.assert({ challenge: asked.challenge, origin, rpId }), site };
    await proxy.removePasskey({ id: key ?? "", passkey }, mine);
    await expect(proxy.removePasskey({ id: key ?? "", passkey }, mine)).rejects.toMatchObject({ code: "not_found" });
    await expect(logIn(second)).rejects.toMatchObject({ code: "unauthenticated" });
    expect((await t.events("mfa.delete")).map(({ success, mfa_device: device, code }) => [success, device, code])).toEqual([
      [false, "passkey phone", "T1007W"],
      [true, "passkey phone", "T1007I"],
      [true, "passkey key", "T1007I"],
    ]);
    expect(await t.events("mfa_auth_challenge.validate")).toMatchObject([{ success: true, mfa_device: "passkey key", resource_kind: "passkey" }]);
    await world.open();
  });

  test.for(["password", "passkey"] as const)(
    "are removed by a %s: the user's other sessions, which they may have opened, end with one",
    async (way) => {
      const { mine, authenticator } = await withPasskey();
      const opened = await logIn(authenticator);
      const [phone] = (await proxy.listPasskeys({}, mine)).passkeys;
      const id = phone?.id ?? "";
      const answer = async () => {
        const { challenge } = await proxy.startPasskeyRemoval({ site, id }, mine);
        return { passkey: { assertion: authenticator.assert({ challenge, origin, rpId }), site } };
      };
      const proof = way === "password" ? { password: alice.password, code: world.code() } : await answer();
      expect(await proxy.removePasskey({ id, ...proof }, mine)).toMatchObject({ ended: 1 });
      await expect(proxy.getBrowserSession({}, by(opened))).rejects.toMatchObject({ code: "unauthenticated" });
      expect(await proxy.getBrowserSession({}, mine)).toMatchObject({ user: "alice" });
      expect(await t.events("browser_session.end")).toMatchObject([{ user: "alice", sid: opened.id, "addr.remote": browserAddress }]);
    },
  );

  test("a confirmation is for its passkey, its session and its user", async () => {
    const { mine, authenticator } = await withPasskey();
    const second = softwareAuthenticator();
    await add(mine, second, { name: "key" });
    const other = by(await world.open());
    const bob = await addUser(t, "bob", { roles: ["access"] });
    const bobs = by(await world.open(bob));
    const ofBob = softwareAuthenticator();
    await add(bobs, ofBob, { user: bob });
    const [phone = "", key = ""] = (await proxy.listPasskeys({}, mine)).passkeys.map(({ id }) => id);
    const { challenge } = await proxy.startPasskeyRemoval({ site, id: phone }, mine);
    const passkey = { assertion: authenticator.assert({ challenge, origin, rpId }), site };
    await expect(proxy.removePasskey({ id: key, passkey }, mine)).rejects.toMatchObject({ code: "denied" });
    await expect(proxy.removePasskey({ id: phone, passkey }, other)).rejects.toMatchObject({ code: "denied" });
    await expect(proxy.removePasskey({ id: phone, passkey }, bobs)).rejects.toMatchObject({ code: "not_found" });
    const foreign = { assertion: ofBob.assert({ challenge, origin, rpId }), site };
    await expect(proxy.removePasskey({ id: phone, passkey: foreign }, mine)).rejects.toMatchObject({ code: "denied" });
    await proxy.removePasskey({ id: phone, passkey }, mine);
  });

  test("only a browser's session has them; the refusals are recorded", async () => {
    const bob = await loggedIn(t, await addUser(t, "bob", { roles: ["editor"] }));
    for (const client of [proxy, bob, t.admin]) {
      await expect(client.listPasskeys({})).rejects.toMatchObject({ code: "denied" });
      await expect(client.startPasskey({ site, name: "phone", password: alice.password, code: world.code() })).rejects.toMatchObject({
        code: "denied",
      });
      await expect(client.addPasskey({})).rejects.toMatchObject({ code: "denied" });
      await expect(client.startPasskeyRemoval({})).rejects.toMatchObject({ code: "denied" });
      await expect(client.removePasskey({})).rejects.toMatchObject({ code: "denied" });
    }
    for (const client of [bob, t.connect()])
      await expect(client.startPasskeyLogin({ site, browser })).rejects.toMatchObject({ code: expect.stringMatching(/^(denied|unauthenticated)$/) });
  });
});

describe("a passkey logs nobody in", () => {
  test("while the user is locked", async () => {
    const { authenticator } = await withPasskey();
    const lock = { kind: "lock", version: "v2", metadata: { name: "lost" }, spec: { target: { user: "alice" }, message: "lost laptop" } };
    await t.admin.putResource({ json: JSON.stringify(lock) });
    await expect(logIn(authenticator)).rejects.toMatchObject({ code: "denied" });
    await t.admin.deleteResource({ kind: "lock", name: "lost" });
    await logIn(authenticator);
  });

  test("after a reset, neither before nor after its link is used", async () => {
    const { authenticator } = await withPasskey();
    const { token } = await t.admin.createInvite({ user: "alice" });
    await expect(logIn(authenticator)).rejects.toMatchObject({ code: "unauthenticated" });
    const { otpauthUri } = await t.connect().getInvite({ token });
    await t.connect().acceptInvite({ token, password: alice.password, code: codeAt(otpauthUri, t.now()) });
    await expect(logIn(authenticator)).rejects.toMatchObject({ code: "unauthenticated" });
    const mine = by(await world.open({ ...alice, otpauthUri }));
    expect((await proxy.listPasskeys({}, mine)).passkeys).toEqual([]);
  });

  test("of a user who was removed, and not as another user of the same name", async () => {
    const { authenticator } = await withPasskey();
    await t.admin.deleteResource({ kind: "user", name: "alice" });
    expect(storedKeys().filter((key) => /passkeys|handle/.test(key))).toEqual([]);
    await expect(logIn(authenticator)).rejects.toMatchObject({ code: "unauthenticated" });
    const next = await addUser(t, "alice", { roles: ["access"] });
    await expect(logIn(authenticator)).rejects.toMatchObject({ code: "unauthenticated" });
    const own = softwareAuthenticator();
    await add(by(await world.open(next)), own, { user: next });
    await expect(logIn(authenticator)).rejects.toMatchObject({ code: "unauthenticated" });
    await logIn(own);
  });

  test("that a reset overtakes while it is added", async () => {
    const mine = by(await world.open());
    const authenticator = softwareAuthenticator();
    const started = await proxy.startPasskey({ site, name: "phone", password: alice.password, code: world.code() }, mine);
    const { userHandle } = started;
    const ask = { site, name: "phone", userHandle, ...authenticator.make({ challenge: challengeOf(started), origin, rpId, userHandle }) };
    await Promise.allSettled([proxy.addPasskey(ask, mine), t.admin.createInvite({ user: "alice" })]);
    await t.admin.createInvite({ user: "alice" });
    await expect(proxy.addPasskey(ask, mine)).rejects.toMatchObject({ code: "unauthenticated" });
    await expect(logIn(authenticator)).rejects.toMatchObject({ code: "unauthenticated" });
  });
});

/** Keys in the storage. */
function storedKeys(): readonly string[] {
  using database = new DatabaseSync(`${t.dataDir}/auth/state.sqlite`, { readOnly: true });
  return database
    .prepare("SELECT key FROM entries")
    .all()
    .map(({ key }) => String(key));
}
