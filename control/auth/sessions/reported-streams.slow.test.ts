import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type AuthClient, openAuthClient } from "../../../core/api/auth-client.ts";
import { joinTestHost, startTestAgent, type TestAgent } from "../../../test/inside/connect-agent.ts";
import { startTestCluster, type TestCluster } from "../../../test/inside/open-cluster.ts";
import { askForStream } from "../../../test/inside/open-stream.ts";
import type { UserKeys } from "../../../test/inside/user-keys.ts";
import { leaseSeconds } from "./stored-leases.ts";

describe("a host gets a lease of a user's connection", () => {
  let ahead = 0;
  let cluster: TestCluster;
  let alice: UserKeys;
  let agent: TestAgent;
  let [web, evil]: AuthClient[] = [];
  const held = new DisposableStack();

  /** A host, and the API as that host calls it. */
  async function host(name: string) {
    const credentials = await joinTestHost(cluster, name);
    const { hostCaPem: ca, tlsCertificate: certificate, tlsPrivateKey: privateKey } = credentials;
    const { client } = held.use(openAuthClient({ open: cluster.open, ca, credentials: { certificate, privateKey } }));
    return { credentials, client };
  }

  beforeAll(async () => {
    cluster = await startTestCluster({ now: () => new Date(Date.now() + ahead) });
    await cluster.putRole("few", { options: { max_connections: 2 } });
    alice = await cluster.login("alice", { roles: ["access", "few"] });
    const one = await host("web-1");
    agent = await startTestAgent(cluster, { hostname: "web-1", credentials: one.credentials });
    [web, evil] = [one.client, (await host("evil")).client];
  });
  afterAll(async () => {
    held.dispose();
    await cluster?.[Symbol.asyncDispose]();
  });

  const hold = async (client: AuthClient | undefined, connectionId: string): Promise<string> =>
    await (client ?? cluster.admin).holdConnection({ user: "alice", connectionId, maximum: 2 }).then(
      ({ validSeconds }) => `${validSeconds} s`,
      ({ code }: { code: string }) => code,
    );

  test("only for one that a proxy has sent to it, and only as long as that is open", async () => {
    // Hosts are believed until the proxy has reported.
    await expect.poll(() => hold(evil, "of nobody")).toBe("denied");
    const { tls } = await askForStream(cluster, alice, { target: "web-1" });
    const id = agent.requests.at(-1)?.sessionId ?? "";
    expect([await hold(web, id), await hold(web, "another"), await hold(evil, id)]).toEqual(["60 s", "denied", "denied"]);
    const closed = once(tls, "close");
    tls.destroy();
    await closed;
    ahead += leaseSeconds * 1000 + 1;
    await cluster.auth.localClient("proxy").reportStreams({ streams: [] });
    expect(await hold(web, id)).toBe("denied");
  });

  test.for([
    ["without a host", { user: "alice", hostId: "", connectionId: "1" }],
    ["without a user", { user: "", hostId: "h", connectionId: "1" }],
    ["with a long id", { user: "alice", hostId: "h", connectionId: "x".repeat(65) }],
  ] as const)("a report %s is refused as invalid", async ([, stream]) => {
    await expect(cluster.auth.localClient("proxy").reportStreams({ streams: [stream] })).rejects.toMatchObject({ code: "invalid" });
  });

  test("reports are bounded, and not for hosts", async () => {
    const stream = (number: number) => ({ user: "bob", hostId: "h", connectionId: String(number) });
    const report = async (from: number, count: number) =>
      await cluster.auth.localClient("proxy").reportStreams({ streams: Array.from({ length: count }, (_, index) => stream(from + index)) });
    await expect(report(0, 1_001)).rejects.toMatchObject({ code: "invalid" });
    for (let from = 0; from < 5_000; from += 1_000) await report(from, 1_000);
    await expect(report(5_000, 1)).rejects.toMatchObject({ code: "limit" });
    await expect(evil?.reportStreams({ streams: [stream(1)] })).rejects.toMatchObject({ code: "denied" });
  });
});
