import { X509Certificate } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { AuthClient } from "../../../core/api/auth-client.ts";
import { fromX509Certificate } from "../../../core/identity/x509-identity.ts";
import { addUser, joinHost, loggedIn, openTestAuth, type TestAuth } from "../../../test/inside/open-auth.ts";
import { generateKeys, publicKeys } from "../../../test/inside/user-keys.ts";

describe("a user's own certificate for one resource", () => {
  let t: TestAuth;
  let alice: AuthClient;
  beforeAll(async () => {
    t = await openTestAuth();
    alice = await loggedIn(t, await addUser(t, "alice", { roles: ["access"] }));
  });
  afterAll(() => t[Symbol.asyncDispose]());

  const sign = async (client: AuthClient, more: { routeKind?: string; routeName?: string; routeAccount?: string; ttlSeconds?: number } = {}) => {
    const keys = generateKeys();
    const request = { routeKind: "db", routeName: "orders", tlsPublicKey: publicKeys(keys).tlsPublicKey, ...more };
    const { tlsCertificate } = await client.signOwnUser(request);
    const identity = fromX509Certificate(new X509Certificate(tlsCertificate));
    return { identity, client: t.connect({ certificate: tlsCertificate, privateKey: keys.tlsPrivateKey }) };
  };

  test("the same identity, limited to the resource, valid no longer than the login, recorded", async () => {
    const { identity } = await sign(alice);
    expect(identity).toMatchObject({ kind: "user", name: "alice", roles: ["access"], route: { kind: "db", name: "orders" } });
    const most = t.now().getTime() + 43_200_000;
    expect(identity.validBefore.getTime()).toBeLessThanOrEqual(most);
    expect((await sign(alice, { ttlSeconds: 2_000_000 })).identity.validBefore).toEqual(identity.validBefore);
    const short = await sign(alice, { ttlSeconds: 60 });
    expect(short.identity.validBefore).toEqual(new Date(t.now().getTime() + 60_000));
    const expires = identity.validBefore.toISOString();
    const events = await t.events("cert.create");
    expect(events).toContainEqual(expect.objectContaining({ user: "alice", name: "alice", kind: "user", expires }));
    for (const event of events) expect(event).not.toHaveProperty("route_to_app");
    await sign(alice, { routeKind: "app", routeName: "wiki" });
    expect((await t.events("cert.create")).at(-1)).toMatchObject({ name: "alice", route_to_app: { name: "wiki" } });
  });

  test("limited to one account too, of a database alone", async () => {
    const { identity } = await sign(alice, { routeAccount: "reader" });
    expect(identity).toMatchObject({ route: { kind: "db", name: "orders", account: "reader" } });
    for (const routeAccount of ["x".repeat(65), "a\nb"]) await expect(sign(alice, { routeAccount })).rejects.toMatchObject({ code: "invalid" });
    await expect(sign(alice, { routeKind: "app", routeAccount: "reader" })).rejects.toMatchObject({ code: "invalid" });
    await expect(sign(alice, { routeKind: "", routeName: "", routeAccount: "reader" })).rejects.toMatchObject({ code: "invalid" });
  });

  test("it opens nothing else: no answer of the auth service, no wider certificate, no other resource", async () => {
    const { client } = await sign(alice);
    await expect(client.listOffered({ kind: "db" })).rejects.toMatchObject({ code: "denied" });
    await expect(sign(client, { routeName: "other" })).rejects.toMatchObject({ code: "denied" });
  });

  test.for([
    ["", ""],
    ["ssh", "web-1"],
    ["db", ""],
    ["db", "x".repeat(256)],
  ])("not for %j %j", async ([routeKind = "", routeName = ""]) => {
    await expect(sign(alice, { routeKind, routeName })).rejects.toMatchObject({ code: "invalid" });
  });

  test("neither for strangers, nor for hosts, nor for a user who was locked or removed", async () => {
    await expect(sign(t.connect())).rejects.toMatchObject({ code: "unauthenticated" });
    await expect(sign((await joinHost(t, "node1")).client)).rejects.toMatchObject({ code: "denied" });
    await expect(sign(t.admin)).rejects.toMatchObject({ code: "denied" });
    const bob = await loggedIn(t, await addUser(t, "bob", { roles: ["access"] }));
    const lock = { kind: "lock", version: "v2", metadata: { name: "bob" }, spec: { target: { user: "bob" } } };
    await t.admin.putResource({ json: JSON.stringify(lock) });
    await expect(sign(bob)).rejects.toMatchObject({ code: "denied" });
    const carol = await loggedIn(t, await addUser(t, "carol", { roles: ["access"] }));
    await t.admin.deleteResource({ kind: "user", name: "carol" });
    await expect(sign(carol)).rejects.toThrow();
  });
});
