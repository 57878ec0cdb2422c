import { expect, test } from "vitest";
import type { AuthClient } from "../../../core/api/auth-client.ts";
import { type AuthWithDatabase, authWithDatabase, derOf } from "../../../test/inside/auth-with-database.ts";
import { joinHost } from "../../../test/inside/open-auth.ts";
import { generateKeys } from "../../../test/inside/user-keys.ts";

const { tlsPublicKey } = generateKeys();

async function callers(world: AuthWithDatabase): Promise<Readonly<Record<string, AuthClient>>> {
  const { t, host, logIn, putRole } = world;
  const user = async (name: string, roles: readonly string[]): Promise<AuthClient> => {
    const { tlsCertificate: certificate, tlsPrivateKey: privateKey } = await logIn(name, roles);
    return t.connect({ certificate, privateKey });
  };
  await putRole("signer", { allow: { rules: [{ resources: ["cert_authority"], verbs: ["create"] }] } });
  await putRole("looker", { allow: { rules: [{ resources: ["cert_authority"], verbs: ["read", "list", "update"] }] } });
  return {
    stranger: t.connect(),
    agent: host,
    proxy: (await joinHost(t, "p2", { role: "proxy" })).client,
    reader: await user("bob", ["reader"]),
    looker: await user("lou", ["looker"]),
    signer: await user("sam", ["signer"]),
    editor: await user("eve", ["editor"]),
  };
}

async function outcome(call: Promise<unknown>): Promise<string> {
  return await call.then(
    () => "allowed",
    (thrown: { code: string }) => thrown.code,
  );
}

test("certificates for databases: an agent gets those of its users, an admin those of servers, and nobody else any", async () => {
  await using world = await authWithDatabase();
  const userCertificate = derOf(world.alice.tlsCertificate);
  const usual = { database: "orders", account: "reader", tlsPublicKey, userCertificate, clientAddress: "203.0.113.7:1" };
  const found: Record<string, readonly string[]> = {};
  const all = Object.entries(await callers(world));
  for (const [name, client] of all)
    found[name] = [
      await outcome(client.signDatabaseClient({ ...usual, proof: world.prove(world.alice) })),
      await outcome(client.signDatabaseServer({ names: ["db"], tlsPublicKey })),
    ];
  expect(found).toEqual({
    stranger: ["unauthenticated", "unauthenticated"],
    agent: ["allowed", "denied"],
    proxy: ["denied", "denied"],
    reader: ["denied", "denied"],
    looker: ["denied", "denied"],
    signer: ["denied", "allowed"],
    editor: ["denied", "denied"],
  });
});

test("one user gets half of what a host gets, over however many certificates; its other users get the rest", async () => {
  await using world = await authWithDatabase();
  const { t, host, alice } = world;
  const again = await world.logIn("bob", ["reader"]);
  const ask = { database: "nothing", account: "reader", tlsPublicKey, clientAddress: "" };
  const count = async ({ tlsCertificate }: { readonly tlsCertificate: string }, calls: number) => {
    const userCertificate = derOf(tlsCertificate);
    const codes = await Promise.all(Array.from({ length: calls }, () => outcome(host.signDatabaseClient({ ...ask, userCertificate }))));
    return [codes.filter((code) => code === "denied").length, codes.filter((code) => code === "limit").length];
  };
  expect(await count(alice, 400)).toEqual([400, 0]);
  expect(await count(alice, 700)).toEqual([100, 600]);
  expect(await count(again, 400)).toEqual([400, 0]);
  t.forward(1_000);
  expect(await count(alice, 20)).toEqual([10, 10]);
});

test("an agent that asks without end gets a thousand certificates, then twenty a second; another host is not concerned", async () => {
  await using world = await authWithDatabase();
  const { t, host } = world;
  // Refused for the database: a request counts by itself, so that a refusal costs no signature here.
  const ask = { database: "nothing", account: "reader", tlsPublicKey, userCertificate: new Uint8Array(), clientAddress: "" };
  const count = async (client: AuthClient, calls: number) => {
    const found: Record<string, number> = {};
    for (let done = 0; done < calls; done += 100) {
      const codes = await Promise.all(Array.from({ length: 100 }, () => outcome(client.signDatabaseClient(ask))));
      for (const code of codes) found[code] = (found[code] ?? 0) + 1;
    }
    return found;
  };
  expect(await count(host, 1_500)).toEqual({ denied: 1_000, limit: 500 });
  t.forward(5_000);
  expect(await count(host, 200)).toEqual({ denied: 100, limit: 100 });
  const other = await joinHost(t, "db-2");
  // It has not reported what it offers.
  expect(await count(other.client, 100)).toEqual({ unavailable: 100 });
});
