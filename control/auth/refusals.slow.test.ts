import { describe, expect, test } from "vitest";
import { onBehalfOf } from "../../core/api/auth-call.ts";
import { addUser, joinFacts, loggedIn, openTestAuth, type TestAuth } from "../../test/inside/open-auth.ts";
import { generateKeys, publicKeys } from "../../test/inside/user-keys.ts";
import { codeAt } from "../../test/world/one-time-code.ts";

const minute = 60_000;

describe("join tokens", () => {
  test("a host joins once with a token for one use", async () => {
    await using t = await openTestAuth();
    const { secret } = await t.admin.createToken({ roles: ["node"], uses: 1 });
    const joined = await t.connect().join(joinFacts("node", secret));
    expect(joined.hostId).toMatch(/^[0-9a-f-]{36}$/);
    await expect(t.connect().join(joinFacts("node", secret))).rejects.toMatchObject({ code: "denied", message: "the join token is used up" });
    const { resources } = await t.admin.listResources({ kind: "node" });
    expect(resources.map(({ name }) => name)).toEqual([joined.hostId]);
  });

  const refused: readonly [name: string, ask: (t: TestAuth) => Promise<object>, reason: RegExp][] = [
    ["an unknown token", async () => joinFacts("node", "0".repeat(64)), /unknown join token/],
    ["an expired token", async (t) => expired(t), /expired at/],
    [
      "a token of another role",
      async (t) => joinFacts("proxy", (await t.admin.createToken({ roles: ["node"] })).secret),
      /is for node, not for proxy/,
    ],
    [
      "a version that does not fit the cluster",
      async (t) => joinFacts("node", (await t.admin.createToken({ roles: ["node"] })).secret, { version: "17.0.0" }),
      /^this host is 17\.0\.0, newer by a major than the cluster \(1\./,
    ],
    ["joining as auth", async (t) => joinFacts("auth", (await t.admin.createToken({ roles: ["node"] })).secret), /cannot join with role "auth"/],
    [
      "the auth service's name",
      async (t) => joinFacts("node", (await t.admin.createToken({ roles: ["node"] })).secret, { names: ["auth.platform.internal"] }),
      /reserved for the platform/,
    ],
    [
      "another host's id as a name",
      async (t) => joinFacts("node", (await t.admin.createToken({ roles: ["node"] })).secret, { names: [crypto.randomUUID()] }),
      /reserved for the platform/,
    ],
    [
      "a key that is none",
      async (t) => joinFacts("node", (await t.admin.createToken({ roles: ["node"] })).secret, { tlsPublicKey: "nonsense" }),
      /TLS public key/,
    ],
  ];
  test.for(refused)("%s is refused and audited", async ([, ask, reason]) => {
    await using t = await openTestAuth();
    const wanted = await ask(t);
    await expect(t.connect().join(wanted)).rejects.toThrow(reason);
    const [event] = await t.events("instance.join");
    expect(event).toMatchObject({ success: false, code: "TJ002W", error: expect.stringMatching(reason), "addr.remote": "203.0.113.7" });
    expect((await t.admin.listResources({ kind: "node" })).resources).toEqual([]);
  });

  // A check sends no keys.
  test.for(refused.filter(([what]) => !what.startsWith("a key")))("%s: a check of the token says and audits the same", async ([, ask, reason]) => {
    await using t = await openTestAuth();
    const { token, role, hostname, names = [], version } = (await ask(t)) as ReturnType<typeof joinFacts> & { names?: string[] };
    await expect(t.connect().checkJoin({ token, role, hostname, names, version })).rejects.toThrow(reason);
    const [event] = await t.events("instance.join");
    expect(event).toMatchObject({ success: false, code: "TJ002W", error: expect.stringMatching(reason), "addr.remote": "203.0.113.7" });
  });

  test("a check of a token uses nothing up, leaves no host behind, and says what is left", async () => {
    await using t = await openTestAuth();
    const { secret } = await t.admin.createToken({ roles: ["node"], uses: 1 });
    const check = () => t.connect().checkJoin({ token: secret, role: "node", hostname: "web1" });
    const expires = new Date(t.now().getTime() + 30 * 60_000).toISOString();
    for (let count = 0; count < 3; count += 1) expect(await check()).toMatchObject({ expires, usesLeft: 1 });
    expect((await t.admin.listResources({ kind: "node" })).resources).toEqual([]);
    expect(await t.events("instance.join")).toEqual([]);
    await t.connect().join(joinFacts("node", secret));
    await expect(check()).rejects.toMatchObject({ code: "denied", message: "the join token is used up" });
  });

  test("guesses are bounded, whether they are made by joining or by checking", async () => {
    await using t = await openTestAuth({ anonymousLimit: { perMinute: 1, burst: 4 } });
    const guess = { token: "0".repeat(64), role: "node", hostname: "web1" };
    const tries = [
      () => t.connect().checkJoin(guess),
      () => t.connect().join(joinFacts("node", guess.token)),
      () => t.connect().checkJoin(guess),
      () => t.connect().checkJoin(guess),
    ];
    for (const attempt of tries) await expect(attempt()).rejects.toMatchObject({ code: "denied" });
    const { secret } = await t.admin.createToken({ roles: ["node"] });
    await expect(t.connect().checkJoin({ ...guess, token: secret })).rejects.toMatchObject({ code: "limit" });
    await expect(t.connect().join(joinFacts("node", secret))).rejects.toMatchObject({ code: "limit" });
  });

  test("a node gets no name that a proxy announced, before and after the proxy's renewal", async () => {
    await using t = await openTestAuth();
    const { secret } = await t.admin.createToken({ roles: ["node", "proxy"] });
    const keys = generateKeys();
    const proxy = await t.connect().join(joinFacts("proxy", secret, { hostname: "vm1", names: ["proxy.test", "localhost"], ...publicKeys(keys) }));
    await expect(t.connect().join(joinFacts("node", secret, { hostname: "proxy.test" }))).rejects.toMatchObject({ code: "denied" });
    const client = t.connect({ certificate: proxy.tlsCertificate, privateKey: keys.tlsPrivateKey });
    await client.renewHost({ hostname: "vm1", names: ["www.test"], ...publicKeys(generateKeys()) });
    await expect(t.connect().join(joinFacts("node", secret, { hostname: "www.test" }))).rejects.toThrow(/is the name of a proxy/);
    await t.connect().join(joinFacts("node", secret, { hostname: "vm1" }));
    await t.admin.deleteResource({ kind: "node", name: proxy.hostId });
    await t.connect().join(joinFacts("node", secret, { hostname: "www.test" }));
  });

  test("a second node of one name joins, and the log says so", async () => {
    await using t = await openTestAuth();
    const { secret } = await t.admin.createToken({ roles: ["node"] });
    await t.connect().join(joinFacts("node", secret));
    expect(t.logLines.join("")).not.toContain("another node has the same name");
    await t.connect().join(joinFacts("node", secret));
    expect(t.logLines.join("")).toContain("another node has the same name");
  });

  test("of many hosts that race for three uses, three join", async () => {
    await using t = await openTestAuth();
    const { secret } = await t.admin.createToken({ roles: ["node"], uses: 3 });
    const results = await Promise.allSettled(Array.from({ length: 10 }, () => t.auth.localClient("proxy").join(joinFacts("node", secret))));
    expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(3);
    expect((await t.admin.listResources({ kind: "node" })).resources).toHaveLength(3);
  });

  async function expired(t: TestAuth): Promise<object> {
    const { secret } = await t.admin.createToken({ roles: ["node"], ttlSeconds: 60 });
    t.forward(minute);
    return joinFacts("node", secret);
  }
});

describe("invites", () => {
  test("a replayed, an unknown and an expired invite are refused and audited", async () => {
    await using t = await openTestAuth();
    const alice = await addUser(t, "alice", { roles: ["access"] });
    const again = { token: alice.inviteToken, password: "another password", code: codeAt(alice.otpauthUri, t.now()) };
    await expect(t.connect().acceptInvite(again)).rejects.toThrow(/already used/);
    await expect(t.connect().getInvite({ token: alice.inviteToken })).rejects.toThrow(/already used/);
    await expect(t.connect().getInvite({ token: "f".repeat(64) })).rejects.toThrow(/this invite link is unknown/);
    const { token } = await t.admin.createInvite({ user: "alice" });
    t.forward(61 * minute);
    await expect(t.connect().getInvite({ token })).rejects.toThrow(/expired at/);
    expect(await t.events("invite.refused")).toHaveLength(4);
  });

  test("of two who accept one invite at once, one succeeds", async () => {
    await using t = await openTestAuth();
    const alice = await addUser(t, "alice", { roles: ["access"] });
    const { token } = await t.admin.createInvite({ user: alice.name });
    const { otpauthUri } = await t.connect().getInvite({ token });
    const code = codeAt(otpauthUri, t.now());
    const tries = ["first password", "second password"].map((password) => t.connect().acceptInvite({ token, password, code }));
    const results = await Promise.allSettled(tries);
    expect(results.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  });

  test("a proxy's client is counted and audited by its own address, anybody else by the connection's", async () => {
    await using t = await openTestAuth({ anonymousLimit: { perMinute: 1, burst: 1 } });
    const ask = { token: "f".repeat(64) };
    const proxy = t.auth.localClient("proxy");
    await expect(proxy.getInvite(ask, onBehalfOf("203.0.113.50"))).rejects.toMatchObject({ code: "not_found" });
    await expect(proxy.getInvite(ask, onBehalfOf("203.0.113.50"))).rejects.toMatchObject({ code: "limit" });
    await expect(proxy.getInvite(ask, onBehalfOf("203.0.113.51"))).rejects.toMatchObject({ code: "not_found" });
    const stranger = t.connect(undefined, "203.0.113.60");
    await expect(stranger.getInvite(ask, onBehalfOf("203.0.113.61"))).rejects.toMatchObject({ code: "not_found" });
    await expect(stranger.getInvite(ask, onBehalfOf("203.0.113.62"))).rejects.toMatchObject({ code: "limit" });
    const seen = (await t.events("invite.refused")).map((event) => event["addr.remote"]);
    expect(seen).toEqual(["203.0.113.50", "203.0.113.51", "203.0.113.60"]);
  });

  test("a reset ends the old password at once", async () => {
    await using t = await openTestAuth();
    const alice = await addUser(t, "alice", { roles: ["access"] });
    await t.admin.createInvite({ user: "alice" });
    await expect(loggedIn(t, alice)).rejects.toMatchObject({ code: "unauthenticated" });
  });
});

describe("logins", () => {
  test.for(["alice", "nobody"])("guessed codes lock %s for 30 minutes, over a restart, with the same words", async (user) => {
    await using t = await openTestAuth();
    const alice = await addUser(t, "alice", { roles: ["access"] });
    const guess = (code: string) => t.connect().login({ user, password: alice.password, code, ...publicKeys(generateKeys()) });
    const right = codeAt(alice.otpauthUri, t.now());
    const wrong = right === "000000" ? "000001" : "000000";
    for (let tries = 0; tries < 5; tries += 1) {
      await expect(guess(wrong)).rejects.toMatchObject({ code: "unauthenticated", message: "wrong user name, password or one-time code" });
    }
    const until = new Date(t.now().getTime() + 30 * minute).toISOString();
    const locked = { code: "limit", message: `too many failed attempts: this user name is locked for this address until ${until}` };
    await expect(guess(wrong)).rejects.toMatchObject(locked);
    await t.restart();
    await expect(guess(right)).rejects.toMatchObject(locked);
    expect(await t.events("user.locked")).toMatchObject([{ user, locked_until: until }]);
    expect((await t.events("user.login")).map(({ code }) => code)).toEqual(Array.from({ length: 7 }, () => "T1000W"));
    t.forward(30 * minute);
    if (user === "alice") await loggedIn(t, alice);
  });

  test("nobody is locked out by others: not by an address, nor by many, where a login succeeded before; an admin unlocks", async () => {
    await using t = await openTestAuth();
    const alice = await addUser(t, "alice", { roles: ["access"] });
    const at = (address: string, password: string) =>
      t.connect(undefined, address).login({ user: "alice", password, code: codeAt(alice.otpauthUri, t.now()), ...publicKeys(generateKeys()) });
    await at("198.51.100.1:4000", alice.password);
    for (let tries = 0; tries < 5; tries += 1) await expect(at("203.0.113.9:1", "wrong")).rejects.toMatchObject({ code: "unauthenticated" });
    await expect(at("203.0.113.9:2", alice.password)).rejects.toMatchObject({ code: "limit" });
    // Of other strangers, 15 more are free; from then on each waits, longer and longer, and four at a time are too many.
    for (let tries = 0; tries < 10; tries += 1)
      await expect(at(`203.0.113.${20 + tries}:1`, "wrong")).rejects.toMatchObject({ code: "unauthenticated" });
    t.forward(60_000);
    const began = performance.now();
    let waiting = 5;
    const guesses = [1, 2, 3, 4, 5].map((one) => at(`192.0.2.${one}:1`, "wrong").finally(() => (waiting -= 1)));
    const others = Promise.allSettled(guesses);
    await at("198.51.100.1:4001", alice.password);
    // Two of the five are too many; the others still wait.
    expect(waiting).toBe(3);
    const codes = (await others).map((one) => (one.status === "rejected" ? (one.reason as { code: string }).code : "in"));
    expect(codes.sort()).toEqual(["limit", "limit", "unauthenticated", "unauthenticated", "unauthenticated"]);
    expect(performance.now() - began).toBeGreaterThan(450);
    const shown = async () => JSON.parse((await t.admin.getResource({ kind: "user", name: "alice" })).json) as { status: { state: string } };
    expect(await shown()).toMatchObject({ status: { state: "locked" } });
    expect(await t.admin.unlockUser({ user: "alice" })).toMatchObject({ wasLocked: true });
    expect(await t.admin.unlockUser({ user: "alice" })).toMatchObject({ wasLocked: false });
    expect(await shown()).toMatchObject({ status: { state: "active" } });
    expect(await t.events("user.unlocked")).toMatchObject([{ name: "alice", code: "T1011I" }, { name: "alice" }]);
    t.forward(60_000);
    await at("203.0.113.9:3", alice.password);
    await expect(t.admin.unlockUser({ user: "nobody" })).rejects.toMatchObject({ code: "not_found" });
  });

  test("a code counts once", async () => {
    await using t = await openTestAuth();
    const alice = await addUser(t, "alice", { roles: ["access"] });
    const ask = { user: "alice", password: alice.password, code: codeAt(alice.otpauthUri, t.now()), ...publicKeys(generateKeys()) };
    const results = await Promise.allSettled([t.connect().login(ask), t.connect().login(ask)]);
    expect(results.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  });

  test("many calls from one address are refused", async () => {
    await using t = await openTestAuth({ anonymousLimit: { perMinute: 20, burst: 3 } });
    const ask = { token: "f".repeat(64) };
    for (let calls = 0; calls < 3; calls += 1) await expect(t.connect().getInvite(ask)).rejects.toMatchObject({ code: "not_found" });
    await expect(t.connect().getInvite(ask)).rejects.toMatchObject({ code: "limit" });
    await expect(t.connect(undefined, "203.0.113.8").getInvite(ask)).rejects.toMatchObject({ code: "not_found" });
    t.forward(minute);
    await expect(t.connect().getInvite(ask)).rejects.toMatchObject({ code: "not_found" });
  });
});
