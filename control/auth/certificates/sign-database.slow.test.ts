import { X509Certificate } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { AuthClient } from "../../../core/api/auth-client.ts";
import { type AuthWithDatabase, authWithDatabase, derOf } from "../../../test/inside/auth-with-database.ts";
import { insideAuthorities } from "../../../test/inside/authorities.ts";
import { joinHost } from "../../../test/inside/open-auth.ts";
import { generateKeys, publicKeys, type UserKeys } from "../../../test/inside/user-keys.ts";

const clientAuth = "1.3.6.1.5.5.7.3.2";
const serverAuth = "1.3.6.1.5.5.7.3.1";
type Ask = Partial<Parameters<AuthClient["signDatabaseClient"]>[0]>;

/** The host's request for alice as `reader` at `orders`, with changes. */
function asked({ host, alice, prove }: AuthWithDatabase, change: Ask = {}, by: AuthClient = host) {
  const { tlsPublicKey } = generateKeys();
  const usual = {
    database: "orders",
    account: "reader",
    tlsPublicKey,
    userCertificate: derOf(alice.tlsCertificate),
    proof: prove(alice),
    clientAddress: "203.0.113.7:4711",
  };
  return by.signDatabaseClient({ ...usual, ...change });
}

describe("a certificate of an agent at a database", () => {
  let world: AuthWithDatabase;
  beforeAll(async () => {
    world = await authWithDatabase();
  });
  afterAll(async () => await world[Symbol.asyncDispose]());

  test("for a user who may: the account alone, as long as the user's own, of an authority of its own; it is audited", async () => {
    const { t, alice } = world;
    const { tlsCertificate, dbCaPem } = await asked(world);
    const [certificate, own] = [new X509Certificate(tlsCertificate), new X509Certificate(alice.tlsCertificate)];
    expect([certificate.subject, certificate.keyUsage, certificate.subjectAltName]).toEqual(["CN=reader", [clientAuth], undefined]);
    expect(certificate.validToDate).toEqual(own.validToDate);
    expect(certificate.ca).toBe(false);
    const { tlsCertificate: _certificate, dbClientCaPem } = await t.admin.signDatabaseServer({
      names: ["db.internal"],
      tlsPublicKey: generateKeys().tlsPublicKey,
    });
    expect(dbClientCaPem.some((pem) => certificate.checkIssued(new X509Certificate(pem)))).toBe(true);
    expect(dbCaPem.some((pem) => certificate.verify(new X509Certificate(pem).publicKey))).toBe(false);
    expect((await t.events("cert.create")).findLast(({ kind }) => kind === "db_client")).toMatchObject({
      user: "alice",
      name: "reader",
      "addr.remote": "203.0.113.7:4711",
    });
  });

  test("the database's certificate is not accepted by the cluster", async () => {
    const { t } = world;
    const keys = generateKeys();
    const { tlsCertificate } = await asked(world, publicTls(keys));
    const stranger = t.connect({ certificate: tlsCertificate, privateKey: keys.tlsPrivateKey });
    await expect(stranger.listOffered({})).rejects.toMatchObject({ code: "unauthenticated" });
  });

  test.for<readonly [what: string, change: (world: AuthWithDatabase) => Promise<Ask> | Ask, code: string]>([
    ["a database that the host does not offer", () => ({ database: "payroll" }), "denied"],
    ["a database whose name only begins the same", () => ({ database: "orders2" }), "denied"],
    ["an account that no role lists", () => ({ account: "postgres" }), "denied"],
    ["an account in capitals", () => ({ account: "READER" }), "denied"],
    ["an account of 65 characters", () => ({ account: "x".repeat(65) }), "invalid"],
    ["no account", () => ({ account: "" }), "invalid"],
    ["every account", () => ({ account: "*" }), "invalid"],
    ["an account with a line break", () => ({ account: "reader\n" }), "invalid"],
    ["an account with a null", () => ({ account: "postgres\0.reader" }), "invalid"],
    ["an account with a control character of the second set", () => ({ account: "reader\u0085" }), "invalid"],
    ["a user without the role", async (all) => byUser(all, await all.logIn("bob", ["access"])), "denied"],
    ["no certificate", () => ({ userCertificate: new Uint8Array() }), "unauthenticated"],
    ["bytes that are not a certificate", () => ({ userCertificate: new Uint8Array(300).fill(0x30) }), "unauthenticated"],
    [
      "a user of another cluster's authority",
      async () => ofUser(await (await insideAuthorities("test")).user("alice", { roles: ["reader"] })),
      "unauthenticated",
    ],
    [
      "a certificate of a host in a user's place",
      async ({ t }) => await ofHost(t.connect(), (await t.admin.createToken({ roles: ["node"] })).secret),
      "unauthenticated",
    ],
    ["a certificate of a database's client in a user's place", async (all) => ofUser(await asked(all)), "unauthenticated"],
    ["a certificate for another database", async (all) => await routed(all, "db", "billing"), "denied"],
    ["a certificate for an application of this name", async (all) => await routed(all, "app", "orders"), "denied"],
    ["a text in place of a key", () => ({ tlsPublicKey: "x" }), "invalid"],
    ["no proof", () => ({ proof: new Uint8Array() }), "unsupported"],
    ["a proof of a later version", () => ({ proof: new Uint8Array([0xdb, 2, 0]) }), "unsupported"],
    ["garbage as a proof", () => ({ proof: new Uint8Array(200).fill(0xdb).fill(1, 1, 2) }), "invalid"],
    ["a proof that is longer than any", () => ({ proof: new Uint8Array(3_000).fill(0xdb) }), "invalid"],
    ["a proof for another host", ({ alice, prove }) => ({ proof: prove(alice, { hostId: "another" }) }), "unauthenticated"],
    ["a proof for another database", ({ alice, prove }) => ({ proof: prove(alice, { database: "billing" }) }), "unauthenticated"],
    ["a proof for another cluster", ({ alice, prove }) => ({ proof: prove(alice, { cluster: "test2" }) }), "unauthenticated"],
    ["a proof for another account", ({ alice, prove }) => ({ proof: prove(alice, { account: "writer" }) }), "unauthenticated"],
    ["a proof for the account in capitals", ({ alice, prove }) => ({ proof: prove(alice, { account: "READER" }) }), "unauthenticated"],
    ["a proof of three minutes ago", ({ t, alice, prove }) => ({ proof: prove(alice, { time: after(t, -180_000) }) }), "unauthenticated"],
    ["a proof of three minutes from now", ({ t, alice, prove }) => ({ proof: prove(alice, { time: after(t, 180_000) }) }), "unauthenticated"],
    ["a proof of 1970", ({ alice, prove }) => ({ proof: prove(alice, { time: new Date(0) }) }), "unauthenticated"],
    ["a proof by another user", async ({ logIn, prove }) => ({ proof: prove(await logIn("carol", ["reader"])) }), "unauthenticated"],
    [
      "a proof by another user, with the certificate of the first",
      async ({ logIn, alice, prove }) => ({ proof: prove({ ...(await logIn("dora", ["reader"])), tlsCertificate: alice.tlsCertificate }) }),
      "unauthenticated",
    ],
  ])("refused: %s", async ([, change, code]) => {
    const before = (await world.t.events("cert.create")).filter(({ kind }) => kind === "db_client").length;
    const ask = await change(world);
    const made = (await world.t.events("cert.create")).filter(({ kind }) => kind === "db_client").length;
    await expect(asked(world, ask)).rejects.toMatchObject({ code });
    expect((await world.t.events("cert.create")).filter(({ kind }) => kind === "db_client")).toHaveLength(made);
    expect(made - before).toBeLessThanOrEqual(1);
  });

  test("a proof is good for one certificate; a refused request does not use it up", async () => {
    const { alice, prove } = world;
    const proof = prove(alice);
    await expect(asked(world, { proof, account: "postgres" })).rejects.toMatchObject({ code: "denied" });
    await expect(asked(world, { proof })).resolves.toBeDefined();
    const again = { code: "denied", message: expect.stringMatching(/used before/) };
    await expect(asked(world, { proof })).rejects.toMatchObject(again);
    await expect(asked(world, { proof, clientAddress: "198.51.100.9:1" })).rejects.toMatchObject(again);
  });

  test("of ten requests at once with one proof, one is granted", async () => {
    const { alice, prove } = world;
    const proof = prove(alice, { account: "reader" });
    const all = await Promise.allSettled(Array.from({ length: 10 }, () => asked(world, { proof })));
    expect(all.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  });

  test("clocks may differ by two minutes; beyond, the refusal says by how much, and which one is behind", async () => {
    const { t, alice, prove } = world;
    for (const ms of [-119_000, 119_000]) await expect(asked(world, { proof: prove(alice, { time: after(t, ms) }) })).resolves.toBeDefined();
    const refused = (ms: number) => asked(world, { proof: prove(alice, { time: after(t, ms) }) });
    await expect(refused(-3_600_000)).rejects.toMatchObject({
      message: "the clock of the user's computer is 1h0m0s behind the cluster's; at databases they may differ by 2m0s",
      hint: expect.stringMatching(/set the clock/),
    });
    await expect(refused(180_000)).rejects.toMatchObject({ message: expect.stringContaining("3m0s ahead of the cluster's") });
  });

  test("a certificate for this database only is enough", async () => {
    await expect(asked(world, await routed(world, "db", "orders"))).resolves.toBeDefined();
  });

  test("refused: a host that does not offer the database, though another one does", async () => {
    const other = await joinHost(world.t, "web-1");
    // It may have connected just now: its agent asks again.
    await expect(asked(world, {}, other.client)).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("has not heard yet"),
    });
  });
});

function publicTls(keys: ReturnType<typeof generateKeys>): Ask {
  return { tlsPublicKey: keys.tlsPublicKey };
}

function after(t: AuthWithDatabase["t"], ms: number): Date {
  return new Date(t.now().getTime() + ms);
}

function byUser({ prove }: AuthWithDatabase, user: Pick<UserKeys, "tlsCertificate" | "tlsPrivateKey">): Ask {
  return { ...ofUser(user), proof: prove(user) };
}

function ofUser({ tlsCertificate }: { readonly tlsCertificate: string }): Ask {
  return { userCertificate: derOf(tlsCertificate) };
}

async function ofHost(client: AuthClient, token: string): Promise<Ask> {
  const answer = await client.join({ token, role: "node", hostname: "web-2", version: "1", ...publicKeys(generateKeys()) });
  return ofUser(answer);
}

async function routed(world: AuthWithDatabase, routeKind: string, routeName: string): Promise<Ask> {
  const keys = generateKeys();
  const { tlsCertificate } = await world.t.admin.signUser({ user: "alice", ...publicKeys(keys), ttlSeconds: 3600, routeKind, routeName });
  return byUser(world, { ...keys, tlsCertificate });
}

test("refused at once: a user, a role or a host that is locked, an account that is denied, a user who was removed, a certificate that has expired", async () => {
  await using world = await authWithDatabase();
  const { t, hostId, putLock, putRole, logIn } = world;
  for (const target of [{ user: "alice" }, { role: "reader" }, { server_id: hostId }]) {
    await putLock(target);
    await expect(asked(world), JSON.stringify(target)).rejects.toMatchObject({ code: "denied" });
    await t.admin.deleteResource({ kind: "lock", name: "l" });
    await expect(asked(world)).resolves.toBeDefined();
  }
  await putRole("reader", { allow: { db_labels: { env: "test" }, db_users: ["*"] }, deny: { db_users: ["reader"] } });
  await expect(asked(world)).rejects.toMatchObject({ code: "denied", message: expect.stringContaining("denies it") });
  await expect(asked(world, { account: "writer" })).resolves.toBeDefined();
  const bob = byUser(world, await logIn("bob", ["reader"]));
  await t.admin.deleteResource({ kind: "user", name: "bob" });
  await expect(asked(world, { ...bob, account: "writer" })).rejects.toMatchObject({ code: "unauthenticated", message: "user bob was removed" });
  t.forward(13 * 3_600_000);
  await expect(asked(world, { account: "writer" })).rejects.toMatchObject({ code: "unauthenticated" });
});

test("a restart forgets used proofs: each can be used again by its own host, for the minutes in which it is fresh", async () => {
  await using world = await authWithDatabase();
  const { t, hostId, alice, prove } = world;
  // To the real time, by which TLS accepts the service's new certificate; the login has moved the clock.
  t.forward(-60_000);
  const [proof, later] = [prove(alice, { account: "reader" }), prove(alice, { account: "reader" })];
  await asked(world, { proof });
  await asked(world, { proof: later });
  const restart = async (): Promise<void> => {
    await t.restart();
    await t.auth.localClient("proxy").reportNode({ hostId, hostname: "db-1", services: ["db"], version: "1.0.0", connected: true });
    await world.offer({});
  };
  await restart();
  await expect(asked(world, { proof, account: "writer" })).rejects.toMatchObject({ code: "unauthenticated" });
  await expect(asked(world, { proof })).resolves.toBeDefined();
  await expect(asked(world, { proof })).rejects.toMatchObject({ code: "denied" });
  t.forward(121_000);
  await expect(asked(world, { proof: later })).rejects.toMatchObject({ code: "unauthenticated", message: expect.stringMatching(/2m1s behind/) });
});

describe("a certificate of a database's server", () => {
  let world: AuthWithDatabase;
  beforeAll(async () => {
    world = await authWithDatabase();
  });
  afterAll(async () => await world[Symbol.asyncDispose]());

  const sign = async (names: readonly string[], more: { ttlSeconds?: number; withOrganization?: boolean } = {}) => {
    const { tlsCertificate } = await world.t.admin.signDatabaseServer({ names: [...names], tlsPublicKey: generateKeys().tlsPublicKey, ...more });
    return new X509Certificate(tlsCertificate);
  };

  test("names and addresses, each once, in small letters; for servers only", async () => {
    const made = await sign(["DB.internal", "db.internal ", "10.0.0.7", "2001:db8::7", "*.db.internal"]);
    expect([made.subject, made.keyUsage]).toEqual(["CN=db.internal", [serverAuth]]);
    expect(made.subjectAltName).toBe("DNS:db.internal, IP Address:10.0.0.7, IP Address:2001:DB8:0:0:0:0:0:7, DNS:*.db.internal");
    expect(made.ca).toBe(false);
    expect((await world.t.events("cert.create")).at(-1)).toMatchObject({ kind: "db", name: "db.internal" });
  });

  test("the organization of MongoDB's members; 90 days, at least a minute, at most 366 days", async () => {
    expect((await sign(["db"], { withOrganization: true })).subject).toBe("CN=db\nO=test");
    const days = async (ttlSeconds: number) => ((await sign(["db"], { ttlSeconds })).validToDate.getTime() - world.t.now().getTime()) / 1000;
    expect(await Promise.all([0, 1, 3_600, 1_000_000_000].map(days))).toEqual([90 * 86_400, 60, 3_600, 366 * 86_400]);
  });

  test.for([
    [[]],
    [[""]],
    [["a b"]],
    [["db\0.evil"]],
    [["x".repeat(65)]],
    [["-db"]],
    [["db/CN=evil"]],
    [["*"]],
    [["a.*.b"]],
    [Array.from({ length: 65 }, (_one, n) => `db-${n}`)],
  ])("refused: %j", async ([names]) => {
    await expect(sign(names ?? [])).rejects.toMatchObject({ code: "invalid" });
  });
});
