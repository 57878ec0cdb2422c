import { X509Certificate } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { AuthClient } from "../../../core/api/auth-client.ts";
import { type AuthWithDatabase, authWithDatabase, derOf } from "../../../test/inside/auth-with-database.ts";
import { generateKeys, type UserKeys } from "../../../test/inside/user-keys.ts";

type Ask = Partial<Parameters<AuthClient["signDatabaseClient"]>[0]>;
const made = { allow: { db_labels: { env: "test" }, db_names: ["shop"] }, options: { create_db_user_mode: "keep" } };

describe("a certificate of an agent as the admin_user of a database", () => {
  let world: AuthWithDatabase;
  let carol: UserKeys;
  beforeAll(async () => {
    world = await authWithDatabase();
    await world.putRole("made", made);
    carol = await world.logIn("carol", ["made"]);
  });
  beforeEach(async () => await world.offer({ protocol: "postgres", admin_user: "platform-admin" }));
  afterAll(async () => await world[Symbol.asyncDispose]());

  /** The host's request to be platform-admin for carol, with changes. */
  function asked(change: Ask = {}, user: UserKeys = carol) {
    const usual = {
      database: "orders",
      account: "platform-admin",
      tlsPublicKey: generateKeys().tlsPublicKey,
      clientAddress: "203.0.113.7:4711",
      asAdmin: true,
    };
    return world.host.signDatabaseClient({
      ...usual,
      userCertificate: derOf(user.tlsCertificate),
      proof: world.prove(user, { account: "carol" }),
      ...change,
    });
  }

  test("for a few minutes, once for each session, beside the one for the user's own account; it is audited", async () => {
    const proof = world.prove(carol, { account: "carol" });
    const { tlsCertificate } = await asked({ proof });
    const certificate = new X509Certificate(tlsCertificate);
    expect(certificate.subject).toBe("CN=platform-admin");
    expect(certificate.validToDate.getTime() - world.t.now().getTime()).toBeLessThanOrEqual(300_000);
    expect((await world.t.events("cert.create")).findLast(({ kind }) => kind === "db_client")).toMatchObject({
      user: "carol",
      name: "platform-admin",
    });
    await expect(asked({ proof })).rejects.toMatchObject({ code: "denied", message: expect.stringContaining("used before") });
    const own = await asked({ proof, account: "carol", asAdmin: false });
    expect(new X509Certificate(own.tlsCertificate).subject).toBe("CN=carol");
  });

  test.for<readonly [what: string, change: () => Promise<Ask> | Ask]>([
    ["another account than the one that the agent has reported", () => ({ account: "platform-other" })],
    ["the user's own account as if it were the admin's", () => ({ account: "carol" })],
    ["another database", () => ({ database: "payroll" })],
    ["a user without a role that makes accounts", async () => ({ ...(await forUser("dan", ["reader"])) })],
    ["a proof for another account", () => ({ proof: world.prove(carol, { account: "platform-admin" }) })],
  ])("not for %s", async ([, change]) => {
    await expect(asked(await change())).rejects.toMatchObject({ code: expect.stringMatching(/^(denied|unauthenticated)$/) });
  });

  async function forUser(name: string, roles: readonly string[]): Promise<Ask> {
    const user = await world.logIn(name, roles);
    return { userCertificate: derOf(user.tlsCertificate), proof: world.prove(user, { account: name }) };
  }

  test("an agent that reports a name without the prefix is believed only where the cluster's own resource names it", async () => {
    await world.offer({ protocol: "postgres", admin_user: "postgres" });
    await expect(asked({ account: "postgres" })).rejects.toMatchObject({ code: "denied", message: expect.stringContaining("is not the admin_user") });
    const spec = { protocol: "postgres", uri: "db:5432", admin_user: { name: "postgres" } };
    const json = JSON.stringify({ kind: "db", version: "v3", metadata: { name: "orders", labels: { env: "test" } }, spec });
    await world.t.admin.putResource({ json });
    expect(new X509Certificate((await asked({ account: "postgres" })).tlsCertificate).subject).toBe("CN=postgres");
    await world.t.admin.deleteResource({ kind: "db", name: "orders" });
  });

  test("an agent that reports none gets none", async () => {
    await world.offer({ protocol: "postgres" });
    await expect(asked()).rejects.toMatchObject({ code: "denied" });
  });

  test("as a user's session the admin's account is refused, whatever db_users says", async () => {
    await world.putRole("all", { allow: { db_labels: { env: "test" }, db_users: ["*"], db_names: ["*"] } });
    const all = await world.logIn("erin", ["all"]);
    const change = { userCertificate: derOf(all.tlsCertificate), proof: world.prove(all), asAdmin: false };
    await expect(asked(change)).rejects.toMatchObject({ code: "denied", message: expect.stringContaining("nobody's own") });
    expect(new X509Certificate((await asked({ ...change, account: "postgres", proof: world.prove(all) })).tlsCertificate).subject).toBe(
      "CN=postgres",
    );
  });

  test("with the rule the user has the own account alone, also in lists", async () => {
    await expect(asked({ account: "reader", asAdmin: false, proof: world.prove(carol) })).rejects.toMatchObject({ code: "denied" });
    const client = world.t.connect({ certificate: carol.tlsCertificate, privateKey: carol.tlsPrivateKey });
    expect((await client.listOffered({ kind: "db" })).resources).toMatchObject([{ name: "orders", accounts: ["carol"], makesAccount: true }]);
    await world.offer({ protocol: "postgres" });
    expect((await client.listOffered({ kind: "db" })).resources).toMatchObject([{ name: "orders", accounts: [], makesAccount: false }]);
  });
});
