import { afterAll, beforeAll, expect, test } from "vitest";
import type { StreamReply } from "../../../core/transport/stream-request.ts";
import { joinServingHost, startTestAgent, type TestAgent } from "../../../test/inside/connect-agent.ts";
import { startTestCluster, type TestCluster } from "../../../test/inside/open-cluster.ts";
import { requestStream } from "../../../test/inside/open-stream.ts";
import type { UserKeys } from "../../../test/inside/user-keys.ts";

let cluster: TestCluster;
const agents: TestAgent[] = [];
beforeAll(async () => {
  cluster = await startTestCluster();
});
afterAll(async () => {
  for (const agent of agents) agent.end();
  await cluster[Symbol.asyncDispose]();
});

/** An agent that offers these clusters; the join token of its host allows the names. */
async function offering(hostname: string, allowed: readonly string[] | undefined, names: readonly string[]): Promise<TestAgent> {
  const credentials = await joinServingHost(cluster, hostname, "kube", allowed);
  const agent = await startTestAgent(cluster, { hostname, credentials, services: ["kube"] });
  agents.push(agent);
  agent.send({ type: "resources", resources: names.map((name) => ({ kind: "kube", name, labels: {}, details: {} })), more: false });
  return agent;
}

/** The proxy's answer to a user's request for a cluster. */
async function answer(keys: UserKeys, target: string): Promise<StreamReply> {
  const facts = { clientAddress: "198.51.100.1:1", sessionId: "", accessRevision: "" };
  const { tls, reply } = await requestStream(cluster, keys, { kind: "kube", target, parameters: { host: "" }, ...facts });
  tls.destroy();
  return reply;
}

async function offeredBy(id: string): Promise<readonly string[]> {
  const { resources } = await cluster.admin.listOffered({ kind: "kube" });
  return resources.filter(({ hosts }) => hosts.some((host) => host.id === id)).map(({ name }) => name);
}

test("a host offers only the resources that its join token names; no user is led to it for others", async () => {
  const limited = await offering("limited", ["prod", "dev-*"], ["prod", "dev-1", "staging"]);
  const free = await offering("free", undefined, ["staging", "prod"]);
  await expect.poll(() => offeredBy(limited.id)).toEqual(["dev-1", "prod"]);
  await expect.poll(() => offeredBy(free.id)).toEqual(["prod", "staging"]);
  const asked = await cluster.admin.listOffered({ kind: "kube" });
  expect(asked.resources.find(({ name }) => name === "staging")?.hosts.map(({ id }) => id)).toEqual([free.id]);
});

test("a proxy opens no stream to a host for a resource that its join token does not name", async () => {
  await cluster.putRole("kube", { allow: { kubernetes_labels: { "*": "*" }, kubernetes_groups: ["viewers"] } });
  const agent = await offering("only-a", ["a"], ["a", "b"]);
  await expect.poll(() => offeredBy(agent.id)).toEqual(["a"]);
  const keys = await cluster.login("ann", { roles: ["kube"] });
  expect(await answer(keys, "b")).toMatchObject({ ok: false, error: { code: "not_found" } });
  expect(agent.requests).toEqual([]);
  expect(await answer(keys, "a")).toMatchObject({ ok: true });
});
