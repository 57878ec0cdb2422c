import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestAgent, type TestAgent } from "../testing/test-agent.ts";
import { askForStream } from "../testing/test-client.ts";
import { startTestCluster, type TestCluster } from "../testing/test-cluster.ts";
import type { UserKeys } from "../testing/user-keys.ts";

let cluster: TestCluster;
let agent: TestAgent;
let alice: UserKeys;
beforeAll(async () => {
  cluster = await startTestCluster();
  agent = await startTestAgent(cluster, { hostname: "web-1", labels: { env: "prod" } });
  alice = await cluster.login("alice");
});
afterAll(async () => {
  await cluster[Symbol.asyncDispose]();
});

describe("a stream from a client to an agent", () => {
  test("carries bytes both ways; the agent learns who asks", async () => {
    const { tls, reply } = await askForStream(cluster, alice, { target: "web-1" });
    expect(reply).toEqual({ ok: true });
    tls.write("hello");
    const [echoed] = (await once(tls, "data")) as [Buffer];
    expect(echoed.toString()).toBe("hello");
    expect(agent.requests.at(-1)).toMatchObject({ kind: "ssh", target: "web-1", login: "root" });
    expect(agent.requests.at(-1)?.clientAddress).toMatch(/^127\.0\.0\.1:\d+$/);
    expect(agent.requests.at(-1)?.sessionId).toMatch(/^[0-9a-f-]{36}$/);
    expect(agent.requests.at(-1)?.accessRevision).not.toBe("");
    tls.destroy();
  });
});
