import { X509Certificate } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { AuthClient } from "../../../core/api/auth-client.ts";
import { fromX509Certificate } from "../../../core/identity/x509-identity.ts";
import { type AuthWithDatabase, authWithDatabase, derOf } from "../../../test/inside/auth-with-database.ts";
import { insideAuthorities } from "../../../test/inside/authorities.ts";
import { addUser, joinHost } from "../../../test/inside/open-auth.ts";
import { generateKeys, publicKeys, type UserKeys } from "../../../test/inside/user-keys.ts";
import { codeAt } from "../../../test/world/one-time-code.ts";

type Ask = Partial<Parameters<AuthClient["signRelayedDatabase"]>[0]>;
type Owner = Pick<UserKeys, "tlsCertificate" | "tlsPrivateKey">;

describe("a certificate of a proxy in the name of a user of its database port", () => {
  let world: AuthWithDatabase;
  let proxy: Awaited<ReturnType<typeof joinHost>>;
  let own: Owner;
  beforeAll(async () => {
    world = await authWithDatabase();
    proxy = await joinHost(world.t, "p2", { role: "proxy" });
    own = await limited(world.alice, { routeAccount: "reader" });
  });
  afterAll(async () => await world[Symbol.asyncDispose]());

  /** A user's own certificate, limited to `orders`. */
  async function limited(user: Owner, change: { routeName?: string; routeKind?: string; routeAccount?: string } = {}): Promise<Owner> {
    const keys = generateKeys();
    const client = world.t.connect({ certificate: user.tlsCertificate, privateKey: user.tlsPrivateKey });
    const { tlsCertificate } = await client.signOwnUser({ routeKind: "db", routeName: "orders", tlsPublicKey: keys.tlsPublicKey, ...change });
    return { tlsCertificate, tlsPrivateKey: keys.tlsPrivateKey };
  }

  function asked(change: Ask = {}, by: AuthClient = proxy.client) {
    const { tlsPublicKey } = generateKeys();
    const userCertificate = derOf(own.tlsCertificate);
    return by.signRelayedDatabase({ userCertificate, hostId: world.hostId, tlsPublicKey, clientAddress: "203.0.113.7:4711", ...change });
  }

  async function relayed(): Promise<Owner> {
    const keys = generateKeys();
    const { tlsCertificate } = await asked({ tlsPublicKey: keys.tlsPublicKey });
    return { tlsCertificate, tlsPrivateKey: keys.tlsPrivateKey };
  }

  test("for the same user, database and account, marked with the proxy, for minutes; a session may last as long as the user's own; audited", async () => {
    const { tlsCertificate } = await relayed();
    const identity = fromX509Certificate(new X509Certificate(tlsCertificate));
    const until = new X509Certificate(own.tlsCertificate).validToDate;
    expect(identity).toMatchObject({
      kind: "user",
      name: "alice",
      roles: ["reader"],
      route: { kind: "db", name: "orders", account: "reader" },
      relayed: { by: proxy.id, until: until.toISOString() },
    });
    expect(identity.validBefore.getTime() - world.t.now().getTime()).toBeLessThanOrEqual(300_000);
    const event = { user: `proxy:${proxy.id}`, name: "alice", kind: "user", "addr.remote": "203.0.113.7:4711" };
    expect(await world.t.events("cert.create")).toContainEqual(expect.objectContaining(event));
  });

  test("where a role demands a code for each session, the certificate of a file is refused with the command to use, and a confirmed one is relayed with its mark", async () => {
    const allow = { db_labels: { env: "test" }, db_users: ["reader"], db_names: ["shop"] };
    await world.putRole("careful", { options: { require_session_mfa: true }, allow });
    const user = await addUser(world.t, "carla", { roles: ["careful"] });
    const keys = generateKeys();
    const login = { user: "carla", password: user.password, code: codeAt(user.otpauthUri, world.t.now()), ...publicKeys(keys) };
    const carla = { tlsCertificate: (await world.t.connect().login(login)).tlsCertificate, tlsPrivateKey: keys.tlsPrivateKey };
    const file = await limited(carla, { routeAccount: "reader" });
    await expect(asked({ userCertificate: derOf(file.tlsCertificate) })).rejects.toMatchObject({
      code: "mfa_required",
      hint: expect.stringContaining("tsh proxy db orders"),
    });
    world.t.forward(60_000);
    const client = world.t.connect({ certificate: carla.tlsCertificate, privateKey: carla.tlsPrivateKey });
    // Programs ask before they start a client where nothing there goes without a code.
    const needed = async () => (await client.listOffered({ kind: "db" })).resources.map(({ name, needsCode }) => [name, needsCode]);
    expect(await needed()).toEqual([["orders", true]]);
    await world.putRole("careful", { options: { require_session_mfa: false }, allow });
    expect(await needed()).toEqual([["orders", false]]);
    await world.putRole("careful", { options: { require_session_mfa: true }, allow });
    const code = codeAt(user.otpauthUri, world.t.now());
    const confirmed = await client.signSession({ kind: "db", name: "orders", account: "reader", code, tlsPublicKey: generateKeys().tlsPublicKey });
    const userCertificate = derOf(confirmed.tlsCertificate);
    const { tlsCertificate } = await asked({ userCertificate });
    expect(fromX509Certificate(new X509Certificate(tlsCertificate))).toMatchObject({
      relayed: { by: proxy.id },
      mfa: { kind: "db", name: "orders" },
    });
    // From another address it is not relayed.
    await expect(asked({ userCertificate, clientAddress: "203.0.113.8:4711" })).rejects.toMatchObject({
      code: "denied",
      message: expect.stringContaining("bound to the address 203.0.113.7"),
    });
  });

  test("with it and a proof by its key, the agent gets the account's certificate, as long as the user's own", async () => {
    const user = await relayed();
    const ask = { database: "orders", account: "reader", tlsPublicKey: generateKeys().tlsPublicKey, clientAddress: "203.0.113.7:4711" };
    const userCertificate = derOf(user.tlsCertificate);
    const { tlsCertificate } = await world.host.signDatabaseClient({ ...ask, userCertificate, proof: world.prove(user, { account: "reader" }) });
    expect(new X509Certificate(tlsCertificate).validToDate).toEqual(new X509Certificate(own.tlsCertificate).validToDate);
    const other = { ...ask, account: "postgres", userCertificate, proof: world.prove(user, { account: "postgres" }) };
    await expect(world.host.signDatabaseClient(other)).rejects.toMatchObject({ code: "denied", message: expect.stringContaining("as reader") });
  });

  test("it opens nothing else: no answer of the auth service, and no further certificate", async () => {
    const user = await relayed();
    const client = world.t.connect({ certificate: user.tlsCertificate, privateKey: user.tlsPrivateKey });
    await expect(client.listOffered({ kind: "db" })).rejects.toMatchObject({ code: "unauthenticated" });
    await expect(asked({ userCertificate: derOf(user.tlsCertificate) })).rejects.toMatchObject({ code: "unauthenticated" });
  });

  test.for<readonly [what: string, change: () => Promise<Ask> | Ask, code: string]>([
    ["a host that is not known to offer anything", () => ({ hostId: proxy.id }), "unavailable"],
    ["a certificate of the login, for everything", () => of(world.alice), "denied"],
    ["a certificate for the database, and any account", async () => of(await limited(world.alice)), "denied"],
    ["a certificate for an account that no role lists", async () => of(await limited(world.alice, { routeAccount: "postgres" })), "denied"],
    ["a certificate for an application of this name", async () => of(await limited(world.alice, { routeKind: "app" })), "denied"],
    ["a certificate for another database", async () => of(await limited(world.alice, { routeName: "hr", routeAccount: "reader" })), "not_found"],
    ["a user without the role", async () => of(await limited(await world.logIn("bob", ["access"]), { routeAccount: "reader" })), "denied"],
    ["no certificate", () => ({ userCertificate: new Uint8Array() }), "unauthenticated"],
    ["bytes that are not a certificate", () => ({ userCertificate: new Uint8Array(300).fill(0x30) }), "unauthenticated"],
    [
      "a user of another cluster's authority",
      async () => {
        const route = { kind: "db", name: "orders", account: "reader" };
        return of(await (await insideAuthorities("test")).user("alice", { roles: ["reader"], route }));
      },
      "unauthenticated",
    ],
    ["a text in place of a key", () => ({ tlsPublicKey: "x" }), "invalid"],
  ])("refused: %s", async ([, change, code]) => {
    await expect(asked(await change())).rejects.toMatchObject({ code });
  });

  test("refused to everybody but proxies", async () => {
    const alice = world.t.connect({ certificate: world.alice.tlsCertificate, privateKey: world.alice.tlsPrivateKey });
    for (const caller of [world.host, alice]) await expect(asked({}, caller)).rejects.toMatchObject({ code: "denied" });
    await expect(asked({}, world.t.connect())).rejects.toMatchObject({ code: "unauthenticated" });
  });

  test("refused for users who are removed or locked by now", async () => {
    const carol = await limited(await world.logIn("carol", ["reader"]), { routeAccount: "reader" });
    await expect(asked(of(carol))).resolves.toBeDefined();
    await world.t.admin.deleteResource({ kind: "user", name: "carol" });
    await expect(asked(of(carol))).rejects.toMatchObject({ message: expect.stringMatching(/removed|lock/) });
    await world.putLock({ user: "alice" });
    await expect(asked()).rejects.toMatchObject({ code: "denied" });
    await world.t.admin.deleteResource({ kind: "lock", name: "l" });
    await expect(asked()).resolves.toBeDefined();
  });

  test("bound to the address of the login, where a role says so", async () => {
    await world.putRole("pinned", { allow: { db_labels: { env: "test" }, db_users: ["reader"] }, options: { pin_source_ip: true } });
    const dora = await limited(await world.logIn("dora", ["pinned"]), { routeAccount: "reader" });
    await expect(asked({ ...of(dora), clientAddress: "198.51.100.9:1" })).rejects.toMatchObject({ code: "denied" });
    const identity = fromX509Certificate(new X509Certificate(dora.tlsCertificate));
    const home = identity.kind === "user" ? `${identity.sourceIp}:1` : "";
    await expect(asked({ ...of(dora), clientAddress: home })).resolves.toBeDefined();
  });
});

function of({ tlsCertificate }: { readonly tlsCertificate: string }): Ask {
  return { userCertificate: derOf(tlsCertificate) };
}
