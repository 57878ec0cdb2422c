import { afterAll, beforeAll, expect, test } from "vitest";
import type { StreamReply } from "../../../core/transport/stream-request.ts";
import { joinTestHost } from "../../../test/inside/connect-agent.ts";
import { startTestCluster, type TestCluster } from "../../../test/inside/open-cluster.ts";
import { requestStream } from "../../../test/inside/open-stream.ts";
import type { UserKeys } from "../../../test/inside/user-keys.ts";

let cluster: TestCluster;
let foreign: TestCluster;
beforeAll(async () => {
  [cluster, foreign] = await Promise.all([startTestCluster(), startTestCluster()]);
});
afterAll(async () => {
  await Promise.all([cluster[Symbol.asyncDispose](), foreign[Symbol.asyncDispose]()]);
});

/** The proxy's answer to a request for a database. */
async function answer(keys: Pick<UserKeys, "tlsCertificate" | "tlsPrivateKey"> | undefined): Promise<StreamReply> {
  const parameters = { user: "reader", name: "", host: "", at: "" };
  const facts = { clientAddress: "198.51.100.1:1", sessionId: "mine", accessRevision: "mine" };
  const { tls, reply } = await requestStream(cluster, keys, { kind: "db", target: "orders", parameters, ...facts });
  tls.destroy();
  return reply;
}

test("only users reach databases: no agent, no proxy, nobody without a certificate, and no user of another cluster", async () => {
  expect(await answer(await cluster.login("alice"))).toMatchObject({ error: { code: "not_found", message: expect.stringContaining("orders") } });
  const others = [await joinTestHost(cluster, "db-1"), await joinTestHost(cluster, "p1", "proxy"), undefined, await foreign.login("mallory")];
  for (const keys of others) expect(await answer(keys)).toMatchObject({ ok: false, error: { code: "unauthenticated" } });
});

test("a refusal is recorded with the database, and with the address that the proxy sees", async () => {
  await answer(await cluster.login("bob"));
  await expect
    .poll(async () => await cluster.events("auth"))
    .toContainEqual(expect.objectContaining({ user: "bob", db_service: "orders", "addr.remote": expect.stringMatching(/^127\.0\.0\.1:/) }));
});
