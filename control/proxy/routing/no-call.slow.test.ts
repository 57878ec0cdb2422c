import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { AuthClient } from "../../../core/api/auth-client.ts";
import { openAuthClient } from "../../../core/api/auth-client.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { joinTestHost, startTestAgent } from "../../../test/inside/connect-agent.ts";
import { startTestCluster, type TestCluster } from "../../../test/inside/open-cluster.ts";
import { askForStream } from "../../../test/inside/open-stream.ts";
import type { UserKeys } from "../../../test/inside/user-keys.ts";

/** Calls that no stream causes or waits for. */
const background = ["emitEvents", "getAccess", "reportChannels", "watchAccess", "watchHosts", "getUpgradeTargets", "reportStreams"];

/** An auth service that records the names of the proxy's calls. */
function counted(calls: string[]): (auth: AuthClient) => AuthClient {
  return (auth) =>
    new Proxy(auth, {
      get: (client, name: keyof AuthClient) => {
        if (!background.includes(name)) calls.push(name);
        return client[name];
      },
    });
}

/** An auth service of the version before. */
function without(method: keyof AuthClient, calls: string[]): (auth: AuthClient) => AuthClient {
  const missing = (): never => {
    throw new PlatformError("unsupported", `there is no method ${method}`);
  };
  return (auth) => new Proxy(counted(calls)(auth), { get: (client, name: keyof AuthClient) => (name === method ? missing : client[name]) });
}

async function directHost(cluster: TestCluster, hostname: string): Promise<void> {
  const { hostId, hostCaPem: ca, tlsCertificate: certificate, tlsPrivateKey: privateKey } = await joinTestHost(cluster, hostname);
  using own = openAuthClient({ open: cluster.open, ca, credentials: { certificate, privateKey } });
  await own.client.reportNode({ hostId, hostname, version: "1", connected: true, directAddresses: ["127.0.0.1:1"] });
}

describe("a stream makes no call to the auth service for routing", () => {
  let cluster: TestCluster;
  let alice: UserKeys;
  const calls: string[] = [];
  beforeAll(async () => {
    cluster = await startTestCluster({ authOfProxy: counted(calls) });
    alice = await cluster.login("alice");
    await startTestAgent(cluster, { hostname: "web-1" });
    await joinTestHost(cluster, "twin");
    await startTestAgent(cluster, { hostname: "twin" });
    await directHost(cluster, "db-1");
  });
  afterAll(async () => await cluster?.[Symbol.asyncDispose]());

  test.for<[what: string, target: string, reply: object]>([
    ["to a host with a tunnel", "web-1", { ok: true }],
    ["to a host that is dialled", "db-1", { ok: false, error: { code: "unavailable", message: expect.stringContaining("127.0.0.1:1") } }],
    ["to an ambiguous name", "twin", { ok: false, error: { code: "conflict" } }],
    ["to an unknown host", "nowhere", { ok: false, error: { code: "not_found" } }],
  ])("%s", async ([, target, reply]) => {
    calls.length = 0;
    expect((await askForStream(cluster, alice, { target })).reply).toMatchObject(reply);
    expect(calls).toEqual([]);
  });
});

test("with an auth service of the version before, every stream asks it", async () => {
  const calls: string[] = [];
  await using cluster = await startTestCluster({ authOfProxy: without("watchHosts", calls) });
  const alice = await cluster.login("alice");
  await startTestAgent(cluster, { hostname: "web-1" });
  await directHost(cluster, "db-1");
  calls.length = 0;
  expect((await askForStream(cluster, alice, { target: "web-1" })).reply).toEqual({ ok: true });
  expect((await askForStream(cluster, alice, { target: "db-1" })).reply).toMatchObject({
    error: { message: expect.stringContaining("127.0.0.1:1") },
  });
  expect(calls).toEqual(["findDirectHosts", "findDirectHosts"]);
});

test("a role that this version cannot read denies its holders alone", async () => {
  const newer = JSON.stringify({ kind: "role", version: "v7", metadata: { name: "newer" }, spec: { deny: { desktop_labels: { "*": "*" } } } });
  const withNewer = (auth: AuthClient): AuthClient =>
    new Proxy(auth, {
      get: (client, name: keyof AuthClient) => {
        if (name !== "getAccess") return client[name];
        return async (...call: Parameters<AuthClient["getAccess"]>) => {
          const answer = await client.getAccess(...call);
          return { ...answer, rolesJson: [...answer.rolesJson.filter((json) => !json.includes('"newer"')), newer] };
        };
      },
    });
  await using cluster = await startTestCluster({ authOfProxy: withNewer });
  await cluster.putRole("newer", {});
  const [alice, bob] = [await cluster.login("alice"), await cluster.login("bob", { roles: ["access", "newer"] })];
  await startTestAgent(cluster, { hostname: "web-1" });
  expect((await askForStream(cluster, alice, { target: "web-1" })).reply).toEqual({ ok: true });
  expect((await askForStream(cluster, bob, { target: "web-1" })).reply).toMatchObject({
    ok: false,
    error: { code: "denied", message: expect.stringContaining("cannot read role newer") },
  });
});
