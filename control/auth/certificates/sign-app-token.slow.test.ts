import { createLocalJWKSet, jwtVerify } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { AuthClient } from "../../../core/api/auth-client.ts";
import { type AuthWithApp, authWithApp, type Owner } from "../../../test/inside/auth-with-app.ts";
import { derOf } from "../../../test/inside/auth-with-database.ts";
import { insideAuthorities } from "../../../test/inside/authorities.ts";
import { joinHost } from "../../../test/inside/open-auth.ts";
import { generateKeys } from "../../../test/inside/user-keys.ts";
import { tokenKey } from "../../token-key.ts";

type Ask = Partial<Parameters<AuthClient["signAppToken"]>[0]>;
const uri = "http://127.0.0.1:8080";
const clientAddress = "203.0.113.7:4711";

describe("a token for an application", () => {
  let world: AuthWithApp;
  beforeAll(async () => {
    world = await authWithApp();
  });
  afterAll(async () => await world[Symbol.asyncDispose]());

  function asked(change: Ask = {}, by: AuthClient = world.host) {
    return by.signAppToken({
      app: "wiki",
      uri,
      userCertificate: derOf(world.ann.tlsCertificate),
      clientAddress,
      claims: "roles-and-traits",
      ...change,
    });
  }

  /** The claims, as an application reads them by the keys that the cluster trusts now. Throws what jose throws. */
  async function read(token: string, audience = uri) {
    const { authorities } = await world.t.admin.getCluster({});
    const keys = authorities.filter(({ kind }) => kind === "jwt").flatMap(({ pem }) => pem.map((one) => ({ ...tokenKey(one) })));
    const options = { issuer: "test", audience, algorithms: ["ES256"], currentDate: world.t.now(), requiredClaims: ["exp", "nbf", "iat", "jti"] };
    return await jwtVerify(token, createLocalJWKSet({ keys }), options);
  }

  async function relayed(): Promise<Owner> {
    const keys = generateKeys();
    const userCertificate = derOf((await world.limited(world.ann)).tlsCertificate);
    const ask = { userCertificate, hostId: world.hostId, tlsPublicKey: keys.tlsPublicKey, clientAddress };
    return { tlsCertificate: (await world.proxy.client.signRelayedApp(ask)).tlsCertificate, tlsPrivateKey: keys.tlsPrivateKey };
  }

  test("names the user, for minutes, to this application alone; each is another one", async () => {
    const { token, expires } = await asked();
    const { payload, protectedHeader } = await read(token);
    const now = Math.floor(world.t.now().getTime() / 1000);
    expect(protectedHeader).toEqual({ alg: "ES256", typ: "JWT", kid: expect.any(String) });
    expect(payload).toEqual({
      iss: "test",
      aud: [uri],
      sub: "ann",
      username: "ann",
      roles: ["writer"],
      traits: expect.any(Object),
      iat: now,
      nbf: now - 60,
      exp: now + 300,
      jti: expect.any(String),
    });
    expect(Date.parse(expires)).toBe((now + 300) * 1000);
    await expect(read(token, "http://127.0.0.1:8081")).rejects.toMatchObject({ code: "ERR_JWT_CLAIM_VALIDATION_FAILED" });
    expect((await read((await asked()).token)).payload.jti).not.toBe(payload.jti);
  });

  test.for<readonly [claims: string, kept: readonly string[]]>([
    ["roles", ["roles"]],
    ["traits", ["traits"]],
    ["none", []],
  ])("with claims %s it says no more of the user", async ([claims, kept]) => {
    const { payload } = await read((await asked({ claims })).token);
    expect(Object.keys(payload).filter((name) => name === "roles" || name === "traits")).toEqual(kept);
    expect(payload).toMatchObject({ sub: "ann", username: "ann" });
  });

  test("is valid no longer than the user's certificate", async () => {
    const keys = generateKeys();
    const client = world.t.connect({ certificate: world.ann.tlsCertificate, privateKey: world.ann.tlsPrivateKey });
    const ask = { routeKind: "app", routeName: "wiki", tlsPublicKey: keys.tlsPublicKey, ttlSeconds: 90 };
    const { tlsCertificate } = await client.signOwnUser(ask);
    const { expires } = await asked({ userCertificate: derOf(tlsCertificate) });
    expect(Date.parse(expires) - world.t.now().getTime()).toBeLessThanOrEqual(90_000);
    world.t.forward(91_000);
    await expect(asked({ userCertificate: derOf(tlsCertificate) })).rejects.toMatchObject({ code: "unauthenticated" });
  });

  test("for a user who comes through a proxy it is renewed, although the proxy's certificate was for the beginning", async () => {
    const user = await relayed();
    expect((await read((await asked({ userCertificate: derOf(user.tlsCertificate) })).token)).payload.sub).toBe("ann");
    world.t.forward(3_600_000);
    expect((await read((await asked({ userCertificate: derOf(user.tlsCertificate) })).token)).payload.sub).toBe("ann");
    world.t.forward(-3_600_000);
  });

  test.for<readonly [what: string, change: () => Promise<Ask> | Ask, code: string]>([
    ["an application that the host does not offer", () => ({ app: "payroll" }), "denied"],
    ["an application whose name only begins the same", () => ({ app: "wiki2" }), "denied"],
    ["a user without the role", async () => of(await world.logIn("bob", ["reader"])), "denied"],
    ["a certificate for another application", async () => of(await world.limited(world.ann, { routeName: "hr" })), "denied"],
    [
      "a certificate for a database of this name",
      async () => of(await world.limited(world.ann, { routeKind: "db", routeAccount: "reader" })),
      "denied",
    ],
    ["no certificate", () => ({ userCertificate: new Uint8Array() }), "unauthenticated"],
    ["bytes that are not a certificate", () => ({ userCertificate: new Uint8Array(300).fill(0x30) }), "unauthenticated"],
    [
      "a user of another cluster's authority",
      async () => of(await (await insideAuthorities("test")).user("ann", { roles: ["writer"] })),
      "unauthenticated",
    ],
    ["a choice of claims that does not exist", () => ({ claims: "all" }), "invalid"],
    ["no choice of claims", () => ({ claims: "" }), "invalid"],
    ["an audience that is not an address", () => ({ uri: "*" }), "invalid"],
    ["an audience without end", () => ({ uri: `http://${"x".repeat(3_000)}` }), "invalid"],
  ])("refused: %s", async ([, change, code]) => {
    await expect(asked(await change())).rejects.toMatchObject({ code });
  });

  test("a hostile host gets none for an address that it has not announced, nor for that of another application of the cluster", async () => {
    const theirs = "https://payroll.example.com";
    await expect(asked({ uri: theirs })).rejects.toMatchObject({ code: "denied" });
    await expect(asked({ uri: `${uri}/` })).rejects.toMatchObject({ code: "denied" });
    const announced = async (name: string, labels: Record<string, string>, at = theirs) => {
      await world.offer([{ name, labels, details: { uri: at } }]);
      const { payload } = await read((await asked({ app: name, uri: at })).token, at);
      return payload.aud;
    };
    expect(await announced("wiki", { env: "test" })).toEqual([theirs]);
    const putApp = async (name: string, at: string) => {
      const app = { kind: "app", version: "v3", metadata: { name, labels: { env: "test", team: "people" } }, spec: { uri: at } };
      await world.t.admin.putResource({ json: JSON.stringify(app), overwrite: true });
    };
    await putApp("payroll", theirs);
    await expect(announced("wiki", { env: "test" })).rejects.toMatchObject({ code: "denied", message: expect.stringContaining("payroll") });
    await expect(announced("payroll", { env: "test" })).rejects.toMatchObject({ code: "denied" });
    expect(await announced("payroll", { team: "people", env: "test" })).toEqual([theirs]);
    // An address of the host itself is nobody's.
    await putApp("local", uri);
    expect(await announced("wiki", { env: "test" }, uri)).toEqual([uri]);
    const refused = (await world.t.events("access.denied")).filter(({ method }) => method === "signAppToken");
    expect(refused.filter(({ error }) => String(error).includes("announced"))).toHaveLength(2);
  });

  test("refused to everybody but the host that offers it", async () => {
    const ann = world.t.connect({ certificate: world.ann.tlsCertificate, privateKey: world.ann.tlsPrivateKey });
    for (const caller of [ann, world.proxy.client]) await expect(asked({}, caller)).rejects.toMatchObject({ code: "denied" });
    const other = await joinHost(world.t, "other");
    await expect(asked({}, other.client)).rejects.toMatchObject({ code: "unavailable" });
    await expect(asked({}, world.t.connect())).rejects.toMatchObject({ code: "unauthenticated" });
  });

  test("refused once the user is locked, has lost the role or was removed, and once the host has stopped offering", async () => {
    const carol = of(await world.logIn("carol", ["writer"]));
    await expect(asked(carol)).resolves.toBeDefined();
    await world.putLock({ user: "carol" });
    await expect(asked(carol)).rejects.toMatchObject({ code: "denied" });
    await world.t.admin.deleteResource({ kind: "lock", name: "l" });
    await world.putRole("writer", { allow: { app_labels: { env: "prod" } } });
    await expect(asked(carol)).rejects.toMatchObject({ code: "denied" });
    await world.putRole("writer", { allow: { app_labels: { env: "test" } } });
    await world.offer([]);
    await expect(asked(carol)).rejects.toMatchObject({ code: expect.stringMatching(/denied|unavailable/) });
    await world.offer([{ name: "wiki", labels: { env: "test" } }]);
    await expect(asked(carol)).resolves.toBeDefined();
    await world.t.admin.deleteResource({ kind: "user", name: "carol" });
    await expect(asked(carol)).rejects.toMatchObject({ message: expect.stringMatching(/removed|lock/) });
  });

  test("a rotation publishes the new key before it signs, and the old one until its end", async () => {
    const step = async (phase: string) => await world.t.admin.rotateAuthority({ authority: "jwt", phase, graceSeconds: 0, manual: true });
    const kidOf = async (token: string) => (await read(token)).protectedHeader.kid;
    const { token: old } = await asked();
    const before = await kidOf(old);
    await step("init");
    expect(await kidOf((await asked()).token)).toBe(before);
    await step("update_clients");
    const { token } = await asked();
    expect(await kidOf(token)).not.toBe(before);
    expect(await kidOf(old)).toBe(before);
    await step("update_servers");
    expect(await kidOf(old)).toBe(before);
    await step("standby");
    await expect(read(old)).rejects.toMatchObject({ code: "ERR_JWKS_NO_MATCHING_KEY" });
    expect((await read(token)).payload.sub).toBe("ann");
  });
});

function of({ tlsCertificate }: { readonly tlsCertificate: string }): Ask {
  return { userCertificate: derOf(tlsCertificate) };
}
