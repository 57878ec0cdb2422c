import { afterAll, beforeAll, expect, test } from "vitest";
import { type AuthConnection, openAuthClient } from "../../../core/api/auth-client.ts";
import type { HostCredentials } from "../../../core/api/host-credentials.ts";
import { joinTestHost, startTestAgent } from "../../../test/inside/connect-agent.ts";
import { startTestCluster, type TestCluster } from "../../../test/inside/open-cluster.ts";
import { askForStream } from "../../../test/inside/open-stream.ts";
import type { UserKeys } from "../../../test/inside/user-keys.ts";

let cluster: TestCluster;
let alice: UserKeys;
let nobody: UserKeys;
let other: AuthConnection;
const end = new AbortController();
beforeAll(async () => {
  cluster = await startTestCluster();
  await cluster.putRole("nothing", {});
  [alice, nobody] = [await cluster.login("alice"), await cluster.login("nobody", { roles: ["nothing"] })];
  const { hostCaPem: ca, tlsCertificate: certificate, tlsPrivateKey: privateKey } = await joinTestHost(cluster, "proxy-b", "proxy");
  other = openAuthClient({ open: cluster.open, ca, credentials: { certificate, privateKey } });
  const events = other.client
    .watchAccess({ publicAddr: "b.example.com:443", version: "1" }, { signal: end.signal, timeoutMs: 0 })
    [Symbol.asyncIterator]();
  await events.next();
});
afterAll(async () => {
  end.abort();
  other?.close();
  await cluster?.[Symbol.asyncDispose]();
});

/** A host that has joined, and that the other proxy says is connected to it. */
async function elsewhere(hostname: string): Promise<HostCredentials> {
  const credentials = await joinTestHost(cluster, hostname);
  await other.client.reportNode({ hostId: credentials.hostId, hostname, version: "1", connected: true });
  return credentials;
}

test("a host that is about to come is waited for", async () => {
  const credentials = await elsewhere("web-1");
  const asked = askForStream(cluster, alice, { target: "web-1" });
  const agent = await startTestAgent(cluster, { hostname: "web-1", credentials });
  expect((await asked).reply).toEqual({ ok: true });
  agent.end();
});

test("one that does not come is named with the proxy that has it, and with the way there", { timeout: 15_000 }, async () => {
  await elsewhere("web-2");
  const { reply } = await askForStream(cluster, alice, { target: "web-2" });
  expect(reply).toMatchObject({
    ok: false,
    error: {
      code: "unavailable",
      message: "web-2 is connected to proxy proxy-b (b.example.com:443), but not to this one yet",
      hint: expect.stringContaining("tsh --proxy=b.example.com:443"),
    },
  });
});

test("a user who may not reach it learns nothing of it, and does not wait", async () => {
  await elsewhere("web-3");
  const { reply } = await askForStream(cluster, nobody, { target: "web-3" });
  expect(reply.ok).toBe(false);
  if (!reply.ok) expect(reply.error.code).toBe("denied");
  if (!reply.ok) expect(reply.error.message).not.toContain("proxy-b");
});
