import { describe, expect, test } from "vitest";
import { addUser, joinFacts, joinHost, loggedIn, openTestAuth, type TestAuth } from "../../test/inside/open-auth.ts";
import { generateKeys, publicKeys } from "../../test/inside/user-keys.ts";
import { codeAt } from "../../test/world/one-time-code.ts";

const minute = 60_000;

describe("certificates", () => {
  test("an expired one is refused in words and audited", async () => {
    await using t = await openTestAuth();
    const client = await loggedIn(t, await addUser(t, "alice", { roles: ["access"] }));
    t.forward(13 * 3_600_000);
    await expect(client.listResources({ kind: "node" })).rejects.toMatchObject({
      code: "unauthenticated",
      message: expect.stringMatching(/expired at/),
    });
    expect(await t.events("cert.refused")).toMatchObject([{ code: "TC001W", error: expect.stringMatching(/expired at/) }]);
  });

  test("of countless refusals ten a minute are recorded, and a sum", async () => {
    await using t = await openTestAuth();
    const client = await loggedIn(t, await addUser(t, "alice", { roles: ["access"] }));
    for (let calls = 0; calls < 25; calls += 1) await expect(client.listEvents({})).rejects.toMatchObject({ code: "denied" });
    expect(await t.events("access.denied")).toHaveLength(10);
    t.forward(minute);
    await expect(client.listEvents({})).rejects.toMatchObject({ code: "denied" });
    const denied = await t.events("access.denied");
    expect(denied).toHaveLength(12);
    const sum = { error: "15 more refusals of this client within a minute", "addr.remote": "203.0.113.7" };
    expect(denied[10]).toMatchObject({ ...sum, user: "alice", method: "listEvents" });
    expect(await t.events("cert.refused")).toEqual([]);
  });

  test("one of another cluster is refused and audited", async () => {
    await using t = await openTestAuth();
    await using other = await openTestAuth();
    const keys = generateKeys();
    const alice = await addUser(other, "alice", { roles: ["editor"] });
    const ask = { user: "alice", password: alice.password, code: codeAt(alice.otpauthUri, other.now()), ...publicKeys(keys) };
    const { tlsCertificate } = await other.connect().login(ask);
    const client = t.connect({ certificate: tlsCertificate, privateKey: keys.tlsPrivateKey });
    await expect(client.listResources({ kind: "role" })).rejects.toMatchObject({
      code: "unauthenticated",
      message: expect.stringMatching(/not issued by this cluster/),
    });
    expect(await t.events("cert.refused")).toHaveLength(1);
  });

  test("a removed host's certificate opens nothing, and proxies are notified", async () => {
    await using t = await openTestAuth();
    const { secret } = await t.admin.createToken({ roles: ["node"] });
    const keys = generateKeys();
    const joined = await t.connect().join(joinFacts("node", secret, publicKeys(keys)));
    const client = t.connect({ certificate: joined.tlsCertificate, privateKey: keys.tlsPrivateKey });
    const { revision } = await client.getAccess({});
    const proxy = t.auth.localClient("proxy");
    const stop = new AbortController();
    const watch = proxy.watchAccess({}, { signal: stop.signal, timeoutMs: 0 })[Symbol.asyncIterator]();
    expect((await watch.next()).value).toMatchObject({ revision, removedHosts: [] });
    // An admin may; so may the host itself, and no other.
    const other = await joinHost(t, "web2");
    await expect(other.client.deleteResource({ kind: "node", name: joined.hostId })).rejects.toMatchObject({ code: "denied" });
    await expect(client.deleteResource({ kind: "role", name: "access" })).rejects.toMatchObject({ code: "denied" });
    await other.client.deleteResource({ kind: "node", name: other.id });
    await expect(other.client.getAccess({})).rejects.toMatchObject({ code: "denied" });
    expect(await t.events("node.deleted")).toMatchObject([{ user: `node:${other.id}`, name: other.id }]);
    expect((await watch.next()).value).toMatchObject({ removedHosts: [other.id] });
    await t.admin.deleteResource({ kind: "node", name: joined.hostId });
    expect((await watch.next()).value).toMatchObject({ removedHosts: expect.arrayContaining([joined.hostId]) });
    stop.abort();
    await expect(client.getAccess({})).rejects.toMatchObject({ code: "denied" });
    await expect(client.renewHost({ hostname: "web1", ...publicKeys(generateKeys()) })).rejects.toMatchObject({ code: "denied" });
    await expect(proxy.reportNode({ hostId: joined.hostId, hostname: "web1", connected: true })).rejects.toMatchObject({ code: "denied" });
  });
});

describe("rules", () => {
  const calls: readonly [name: string, call: (client: ReturnType<TestAuth["connect"]>) => Promise<unknown>][] = [
    ["list users", (client) => client.listResources({ kind: "user" })],
    ["make tokens", (client) => client.createToken({ roles: ["node"] })],
    ["invite", (client) => client.createInvite({ user: "alice" })],
    ["read the audit log", (client) => client.listEvents({})],
    ["delete a role", (client) => client.deleteResource({ kind: "role", name: "access" })],
    ["make a role", (client) => client.putResource({ json: JSON.stringify({ kind: "role", version: "v7", metadata: { name: "x" }, spec: {} }) })],
    ["fetch access as a host", (client) => client.getAccess({})],
    ["report events as a host", (client) => client.emitEvents({ eventsJson: [] })],
  ];
  test("a user without a rule may not change anything, and each refusal is audited", async () => {
    await using t = await openTestAuth();
    const client = await loggedIn(t, await addUser(t, "alice", { roles: ["access"] }));
    for (const [name, call] of calls) await expect(call(client), name).rejects.toMatchObject({ code: "denied" });
    expect(await t.events("access.denied")).toHaveLength(calls.length);
  });

  test("a removed user's certificate opens nothing", async () => {
    await using t = await openTestAuth();
    const client = await loggedIn(t, await addUser(t, "alice", { roles: ["editor"] }));
    await t.admin.deleteResource({ kind: "user", name: "alice" });
    await expect(client.listResources({ kind: "role" })).rejects.toMatchObject({ code: "unauthenticated" });
  });

  test("a user sees the nodes that node_labels allow, and those only", async () => {
    await using t = await openTestAuth();
    const role = { kind: "role", version: "v7", metadata: { name: "dev" }, spec: { allow: { logins: ["root"], node_labels: { env: "dev" } } } };
    await t.admin.putResource({ json: JSON.stringify(role) });
    const { secret } = await t.admin.createToken({ roles: ["node"] });
    const dev = await t.connect().join(joinFacts("node", secret, { labels: { env: "dev" } }));
    await t.connect().join(joinFacts("node", secret, { labels: { env: "production" } }));
    const client = await loggedIn(t, await addUser(t, "alice", { roles: ["dev"] }));
    expect((await client.listResources({ kind: "node" })).resources.map(({ name }) => name)).toEqual([dev.hostId]);
  });
});
