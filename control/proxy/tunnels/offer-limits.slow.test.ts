import { afterAll, beforeAll, expect, test } from "vitest";
import { askWhy } from "../../../core/api/explain-access.ts";
import type { Labels } from "../../../core/resources/metadata.ts";
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
async function offering(hostname: string, allowed: readonly string[] | undefined, names: readonly string[], labels: Labels = {}): Promise<TestAgent> {
  const credentials = await joinServingHost(cluster, hostname, "kube", allowed);
  const agent = await startTestAgent(cluster, { hostname, credentials, services: ["kube"] });
  agents.push(agent);
  agent.send({ type: "resources", resources: names.map((name) => ({ kind: "kube", name, labels, details: {} })), more: false });
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

/** The text in the log of an agent about offers that are not used. */
async function noticeTo(agent: TestAgent): Promise<string> {
  for (;;) {
    const { notice } = await agent.next("access");
    if (notice !== undefined) return notice;
  }
}

test("a cluster to which two agents assign differing labels is used by nobody: users, admins and both agents read which", async () => {
  await cluster.putRole("kube-all", { allow: { kubernetes_labels: { "*": "*" }, kubernetes_groups: ["viewers"] } });
  const first = await offering("first", undefined, ["shared"], { env: "prod" });
  const keys = await cluster.login("eve", { roles: ["kube-all"] });
  expect(await answer(keys, "shared")).toMatchObject({ ok: true });
  const second = await offering("second", undefined, ["shared"], { env: "prod", team: "all" });
  const both = /"shared" is not used while the agents on (first|second) \(.*\) and (first|second) \(.*\) assign differing labels/;
  for (const agent of [first, second]) expect(await noticeTo(agent)).toMatch(both);
  const served = [first.requests.length, second.requests.length];
  expect(await answer(keys, "shared")).toMatchObject({ ok: false, error: { code: "conflict", message: expect.stringMatching(both) } });
  expect([first.requests.length, second.requests.length]).toEqual(served);
  await expect
    .poll(async () => (await cluster.admin.listOffered({ kind: "kube" })).resources.filter(({ unused }) => both.test(unused)).length)
    .toBe(2);
  expect((await cluster.admin.getCluster({})).warnings.filter((one) => both.test(one))).toHaveLength(1);
  await expect(askWhy(cluster.admin, { user: "eve", kind: "kube", name: "shared", now: new Date() })).rejects.toThrow(both);
  // They agree again.
  second.send({ type: "resources", resources: [{ kind: "kube", name: "shared", labels: { env: "prod" }, details: {} }], more: false });
  await expect.poll(async () => (await answer(keys, "shared")).ok).toBe(true);
});

test("a cluster that a token names is served by its hosts alone: another host that claims it with wider labels gets no session and keeps nobody out", async () => {
  await cluster.putRole("kube-wide", { allow: { kubernetes_labels: { team: "all" }, kubernetes_groups: ["system:masters"] } });
  await cluster.putRole("kube-eu", { allow: { kubernetes_labels: { env: "eu" }, kubernetes_groups: ["viewers"] } });
  const hostile = await offering("hostile", undefined, ["eu"], { env: "eu", team: "all" });
  const wide = await cluster.login("walt", { roles: ["kube-wide"] });
  const honest = await offering("honest", ["eu"], ["eu"], { env: "eu" });
  expect(await noticeTo(hostile)).toMatch(/"eu" of this host is not used: the join token of another host that offers it names it/);
  const keys = await cluster.login("emil", { roles: ["kube-eu"] });
  for (let round = 0; round < 8; round += 1) expect(await answer(keys, "eu")).toMatchObject({ ok: true });
  expect([hostile.requests.length, honest.requests.length]).toEqual([0, 8]);
  expect(await answer(wide, "eu")).toMatchObject({ ok: false, error: { code: "denied" } });
  await expect
    .poll(async () => (await cluster.admin.listOffered({ kind: "kube", query: 'name == "eu"' })).resources.map(({ unused }) => unused !== ""))
    .toContain(true);
});
