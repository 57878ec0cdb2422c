import { X509Certificate } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { AuthClient } from "../../../core/api/auth-client.ts";
import { fromX509Certificate } from "../../../core/identity/x509-identity.ts";
import { type AuthWithApp, authWithApp } from "../../../test/inside/auth-with-app.ts";
import { derOf } from "../../../test/inside/auth-with-database.ts";
import { insideAuthorities } from "../../../test/inside/authorities.ts";
import { generateKeys } from "../../../test/inside/user-keys.ts";

type Ask = { readonly userCertificate: Uint8Array; readonly hostId?: string; readonly tlsPublicKey?: string };

describe("a certificate of a proxy in the name of a user of an application", () => {
  let world: AuthWithApp;
  let own: Ask;
  beforeAll(async () => {
    world = await authWithApp();
    own = of(await world.limited(world.ann));
  });
  afterAll(async () => await world[Symbol.asyncDispose]());

  function asked(change: Partial<Ask> = {}, by: AuthClient = world.proxy.client) {
    return by.signRelayedApp({
      ...own,
      hostId: world.hostId,
      tlsPublicKey: generateKeys().tlsPublicKey,
      clientAddress: "203.0.113.7:4711",
      ...change,
    });
  }

  test("for the same user and application, marked with the proxy, for minutes", async () => {
    const identity = fromX509Certificate(new X509Certificate((await asked()).tlsCertificate));
    const until = new X509Certificate(own.userCertificate).validToDate;
    expect(identity).toMatchObject({ kind: "user", name: "ann", route: { kind: "app", name: "wiki" } });
    expect(identity).toMatchObject({ relayed: { by: world.proxy.id, until: until.toISOString() } });
    expect(identity.validBefore.getTime() - world.t.now().getTime()).toBeLessThanOrEqual(300_000);
  });

  test("it opens nothing else: no answer of the auth service, and no further certificate", async () => {
    const keys = generateKeys();
    const { tlsCertificate } = await asked({ tlsPublicKey: keys.tlsPublicKey });
    const client = world.t.connect({ certificate: tlsCertificate, privateKey: keys.tlsPrivateKey });
    await expect(client.listOffered({ kind: "app" })).rejects.toMatchObject({ code: "unauthenticated" });
    await expect(asked(of({ tlsCertificate }))).rejects.toMatchObject({ code: "unauthenticated" });
  });

  test.for<readonly [what: string, change: () => Promise<Partial<Ask>> | Partial<Ask>, code: string]>([
    ["a certificate of the login, for everything", () => of(world.ann), "denied"],
    ["a certificate for another application", async () => of(await world.limited(world.ann, { routeName: "hr" })), "not_found"],
    [
      "a certificate for a database of this name",
      async () => of(await world.limited(world.ann, { routeKind: "db", routeAccount: "reader" })),
      "denied",
    ],
    ["a user without the role", async () => of(await world.limited(await world.logIn("bob", ["reader"]))), "denied"],
    ["a host that is not known to offer anything", () => ({ hostId: world.proxy.id }), "unavailable"],
    ["no certificate", () => ({ userCertificate: new Uint8Array() }), "unauthenticated"],
    ["a user of another cluster's authority", async () => of(await foreign()), "unauthenticated"],
    ["a text in place of a key", () => ({ tlsPublicKey: "x" }), "invalid"],
  ])("refused: %s", async ([, change, code]) => {
    await expect(asked(await change())).rejects.toMatchObject({ code });
  });

  test("refused to everybody but proxies, and for a locked user", async () => {
    const ann = world.t.connect({ certificate: world.ann.tlsCertificate, privateKey: world.ann.tlsPrivateKey });
    for (const caller of [ann, world.host]) await expect(asked({}, caller)).rejects.toMatchObject({ code: "denied" });
    await world.putLock({ user: "ann" });
    await expect(asked()).rejects.toMatchObject({ code: "denied" });
    await world.t.admin.deleteResource({ kind: "lock", name: "l" });
    await expect(asked()).resolves.toBeDefined();
  });
});

async function foreign(): Promise<{ readonly tlsCertificate: string }> {
  return await (await insideAuthorities("test")).user("ann", { roles: ["writer"], route: { kind: "app", name: "wiki" } });
}

function of({ tlsCertificate }: { readonly tlsCertificate: string }): Ask {
  return { userCertificate: derOf(tlsCertificate) };
}
