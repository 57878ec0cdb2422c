import { X509Certificate } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fromX509Certificate } from "../../../core/identity/x509-identity.ts";
import { addUser, openTestAuth, type TestAuth } from "../../../test/inside/open-auth.ts";
import { generateKeys, publicKeys } from "../../../test/inside/user-keys.ts";

describe("certificates of a machine's user for one resource", () => {
  let t: TestAuth;
  beforeAll(async () => {
    t = await openTestAuth();
    await addUser(t, "robot", { roles: ["editor"] });
  });
  afterAll(() => t[Symbol.asyncDispose]());
  const sign = async (routeKind: string, routeName: string, routeAccount = "") => {
    const keys = generateKeys();
    const answer = await t.admin.signUser({ user: "robot", routeKind, routeName, routeAccount, ...publicKeys(keys) });
    return { ...answer, client: t.connect({ certificate: answer.tlsCertificate, privateKey: keys.tlsPrivateKey }) };
  };

  test("an X.509 certificate with the route, no SSH certificate, and no use at the auth service", async () => {
    const { sshCertificate, tlsCertificate, client } = await sign("app", "orders");
    expect(sshCertificate).toBe("");
    expect(fromX509Certificate(new X509Certificate(tlsCertificate))).toMatchObject({ name: "robot", route: { kind: "app", name: "orders" } });
    const refusal = { code: "denied", message: expect.stringContaining('only for app "orders"') };
    await expect(client.listResources({ kind: "role" })).rejects.toMatchObject(refusal);
    await expect(client.listOffered({ kind: "" })).rejects.toMatchObject(refusal);
    await expect(client.listSessions({})).rejects.toMatchObject(refusal);
    await expect(client.signUser({ user: "robot", ...publicKeys(generateKeys()) })).rejects.toMatchObject(refusal);
  });

  test("a certificate for one account at a database", async () => {
    const { tlsCertificate } = await sign("db", "orders", "reader");
    expect(fromX509Certificate(new X509Certificate(tlsCertificate))).toMatchObject({ route: { kind: "db", name: "orders", account: "reader" } });
    await expect(sign("app", "orders", "reader")).rejects.toMatchObject({ code: "invalid" });
    await expect(sign("", "", "reader")).rejects.toMatchObject({ code: "invalid" });
  });

  test("without a resource the certificates are as ever", async () => {
    const { sshCertificate, client } = await sign("", "");
    expect(sshCertificate).not.toBe("");
    expect((await client.listResources({ kind: "role" })).resources).not.toEqual([]);
  });

  test.for([
    ["ssh", "web-1"],
    ["host", "web-1"],
    ["", "orders"],
    ["app", ""],
    ["app", "x".repeat(256)],
  ] as const)("no certificate is limited to %s %s", async ([kind, name]) => {
    await expect(sign(kind, name)).rejects.toMatchObject({ code: "invalid" });
  });
});
