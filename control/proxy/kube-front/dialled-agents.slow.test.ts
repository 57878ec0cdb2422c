import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type AuthConnection, openAuthClient } from "../../../core/api/auth-client.ts";
import type { HostCredentials } from "../../../core/api/host-credentials.ts";
import type { PlatformError } from "../../../core/errors/platform-error.ts";
import type { Labels } from "../../../core/resources/metadata.ts";
import { alpn } from "../../../core/transport/alpn.ts";
import { hostContext, terminateTls } from "../../../core/transport/arrivals/server-tls.ts";
import { readFrame } from "../../../core/transport/read-frame.ts";
import { decodeStreamRequest, encodeStreamReply, maxStreamMessage } from "../../../core/transport/stream-request.ts";
import { joinServingHost, startTestAgent } from "../../../test/inside/connect-agent.ts";
import { acceptFront, certificatesFor, connectFront } from "../../../test/inside/front-user.ts";
import { startTestCluster, type TestCluster } from "../../../test/inside/open-cluster.ts";
import { requestStream } from "../../../test/inside/open-stream.ts";
import type { UserKeys } from "../../../test/inside/user-keys.ts";
import { kubeHost, proxyHost } from "./testing/kube-world.ts";

let cluster: TestCluster;
let bob: UserKeys;
const opened = new AsyncDisposableStack();
beforeAll(async () => {
  cluster = await startTestCluster({ proxy: { publicAddr: { host: proxyHost, port: 443 } } });
  await cluster.putRole("dev", { allow: { kubernetes_labels: { env: "*" }, kubernetes_groups: ["view"] } });
  bob = await cluster.login("bob", { roles: ["dev"] });
});
afterAll(async () => {
  await opened.disposeAsync();
  await cluster[Symbol.asyncDispose]();
});

interface Offer {
  readonly name: string;
  readonly labels?: Labels;
}

/** An agent that proxies dial: it listens, and reports itself and what it offers. */
interface DialledAgent {
  readonly id: string;
  readonly client: AuthConnection["client"];
  readonly requests: string[];
  report(facts: { readonly address?: string; readonly offers?: readonly Offer[]; readonly connected?: boolean }): Promise<void>;
  close(): Promise<void>;
}

async function dialledAgent(hostname: string, offers: readonly Offer[], tokenNames?: readonly string[]): Promise<DialledAgent> {
  const credentials = await joinServingHost(cluster, hostname, "kube", tokenNames);
  const { hostId, hostCaPem: ca, tlsCertificate: certificate, tlsPrivateKey: privateKey } = credentials;
  const { client, close } = openAuthClient({ open: cluster.open, ca, credentials: { certificate, privateKey } });
  const requests: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    void terminateTls(
      socket.on("error", () => {}),
      { context: hostContext(credentials), alpn: alpn.direct, requestCertificate: true },
    )
      .then((tls) => serve(tls, credentials, requests))
      .catch(() => socket.destroy());
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const address = server.address();
  const port = typeof address === "object" ? (address?.port ?? 0) : 0;
  const agent: DialledAgent = {
    ...{ id: hostId, client, requests },
    report: async ({ address: own = `127.0.0.1:${port}`, offers: now = offers, connected = true }) => {
      const serviceAddresses = [{ kind: "kube", addresses: [own] }];
      await client.reportNode({ hostId, hostname, services: ["kube"], version: "1.2.3", connected, directAddresses: [own], serviceAddresses });
      if (connected)
        await client.reportOffered({ hostId, offered: now.map(({ name, labels = { env: "test" } }) => ({ kind: "kube", name, labels })) });
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      if (server.listening) await new Promise((resolve) => server.close(resolve));
    },
  };
  opened.defer(async () => {
    await agent.close();
    close();
  });
  await agent.report({});
  return agent;
}

async function serve(tls: TLSSocket, credentials: HostCredentials, requests: string[]): Promise<void> {
  const request = decodeStreamRequest(
    await readFrame(
      tls.on("error", () => {}),
      { maxLength: maxStreamMessage, timeoutMs: 5_000, what: "request" },
    ),
  );
  requests.push(`${request.kind} ${request.target} from ${request.clientAddress.split(":")[0]}`);
  const { tls: inner, user } = await acceptFront(tls, credentials, "kube");
  inner.write(encodeStreamReply({ ok: true }));
  inner.end(`served to ${user.name}`);
}

/** The refusal of a request of bob; undefined: an agent has accepted the stream. */
async function refusal(target: string, host = ""): Promise<PlatformError | undefined> {
  const request = { kind: "kube", target, parameters: { host }, clientAddress: "", sessionId: "", accessRevision: "" } as const;
  const { tls, reply } = await requestStream(cluster, bob, request);
  tls.destroy();
  return reply.ok ? undefined : reply.error;
}

async function accepted(target: string): Promise<void> {
  await expect.poll(() => refusal(target)).toBeUndefined();
}

test("an agent at its own port is used; when it is gone nobody offers it", async () => {
  const agent = await dialledAgent("direct-1", [{ name: "one" }]);
  await accepted("one");
  expect(await refusal("one", agent.id)).toBeUndefined();
  const certificate = await certificatesFor(cluster, { routeKind: "kube", routeName: "one" })();
  const kubectl = await connectFront(cluster, kubeHost, certificate);
  kubectl.write("GET /api HTTP/1.1\r\nHost: x\r\n\r\n");
  expect(Buffer.concat((await kubectl.toArray()) as Buffer[]).toString()).toBe("served to ann");
  expect(agent.requests.at(-1)).toBe("kube one from 127.0.0.1");
  const { resources } = await cluster.admin.listOffered({ kind: "kube" });
  expect(resources).toMatchObject([{ name: "one", hostIds: [agent.id], unused: "" }]);
  await agent.report({ offers: [{ name: "other" }] });
  await expect.poll(() => refusal("one")).toMatchObject({ code: "not_found" });
  await accepted("other");
  await agent.report({ connected: false });
  await expect.poll(() => refusal("other")).toMatchObject({ code: "not_found" });
});

test("a closed port is named; another agent is used in its place, also when the first one never answers", { timeout: 30_000 }, async () => {
  const agent = await dialledAgent("direct-2", [{ name: "two" }]);
  await accepted("two");
  await agent.close();
  expect(await refusal("two")).toMatchObject({
    code: "unavailable",
    message: expect.stringMatching(
      /^Kubernetes cluster "two" is unreachable: its agent does not answer: could not connect to direct-2 at 127\.0\.0\.1:\d+: connection refused/,
    ),
  });
  const other = await dialledAgent("direct-3", [{ name: "two" }]);
  for (let turn = 0; turn < 6; turn += 1) await accepted("two");
  const held = new Set<Socket>();
  const silent = createServer((socket) => void held.add(socket.on("error", () => {})));
  await once(silent.listen(0, "127.0.0.1"), "listening");
  opened.defer(() => {
    for (const socket of held) socket.destroy();
    silent.close();
  });
  const at = silent.address();
  await agent.report({ address: `127.0.0.1:${typeof at === "object" ? at?.port : 0}` });
  const from = performance.now();
  for (let turn = 0; turn < 6; turn += 1) expect(await refusal("two")).toBeUndefined();
  // Not 10 s for each: the next one is dialled soon.
  expect(performance.now() - from).toBeLessThan(9_000);
  expect(await refusal("two", other.id)).toBeUndefined();
});

test("where another host answers, no stream is opened", async () => {
  const [honest, wrong] = [await dialledAgent("direct-4", [{ name: "three" }]), await dialledAgent("direct-5", [{ name: "four" }])];
  await honest.close();
  await accepted("four");
  const routes = await cluster.admin.listOffered({ kind: "kube" });
  expect(routes.resources.map(({ name }) => name)).toContain("three");
  const other = cluster.proxy.addresses.web;
  await wrong.report({ address: `${other.host}:${other.port}` });
  await expect.poll(() => refusal("four")).toMatchObject({ code: "unavailable" });
});

test("agents that differ are used by nobody, one with a tunnel and one that is dialled as well", async () => {
  const direct = await dialledAgent("direct-6", [{ name: "five" }]);
  const credentials = await joinServingHost(cluster, "tunnel-1", "kube");
  const tunnel = await startTestAgent(cluster, { hostname: "tunnel-1", credentials, services: ["kube"] });
  opened.defer(() => tunnel.end());
  const offer = (labels: Labels): void =>
    tunnel.send({ type: "resources", resources: [{ kind: "kube", name: "five", labels, details: {} }], more: false });
  offer({ env: "prod" });
  await expect.poll(() => refusal("five")).toMatchObject({ code: "conflict", message: expect.stringMatching(/direct-6|tunnel-1/) });
  const { resources } = await cluster.admin.listOffered({ kind: "kube" });
  expect(resources.filter(({ name }) => name === "five").every(({ unused }) => unused !== "")).toBe(true);
  for (const host of [direct.id, tunnel.id]) expect(await refusal("five", host)).toMatchObject({ code: "conflict" });
  offer({ env: "test" });
  await accepted("five");
  expect(await refusal("five", direct.id)).toBeUndefined();
  expect(direct.requests.length + tunnel.requests.length).toBeGreaterThan(0);
});

test("a join token that names the cluster vouches for an agent that is dialled", async () => {
  const named = await dialledAgent("direct-7", [{ name: "six" }], ["six"]);
  const claims = await dialledAgent("direct-8", [{ name: "six", labels: { env: "open" } }]);
  await accepted("six");
  expect(await refusal("six", claims.id)).toMatchObject({ code: "not_found" });
  expect(await refusal("six", named.id)).toBeUndefined();
  expect(claims.requests).toEqual([]);
});

test("an agent reports only itself, only kinds that are served at a port, and only what its token allows", async () => {
  const [one, two] = [await dialledAgent("direct-9", [{ name: "seven" }, { name: "eight" }], ["seven"]), await dialledAgent("direct-10", [])];
  await accepted("seven");
  expect(await refusal("eight")).toMatchObject({ code: "not_found" });
  await expect(two.client.reportOffered({ hostId: one.id, offered: [] })).rejects.toMatchObject({ code: "denied" });
  for (const kind of ["app", "db", "ssh-like"]) {
    await expect(two.client.reportOffered({ hostId: two.id, offered: [{ kind, name: "x" }] })).rejects.toMatchObject({ code: "denied" });
  }
  const report = { hostId: two.id, hostname: "direct-10", services: ["kube"], version: "1", connected: true, directAddresses: ["10.0.0.1:3026"] };
  for (const serviceAddresses of [
    [{ kind: "db", addresses: ["10.0.0.1:1"] }],
    [{ kind: "kube", addresses: [] }],
    [{ kind: "kube", addresses: Array.from({ length: 9 }, (_, n) => `10.0.0.1:${n + 1}`) }],
    [{ kind: "kube", addresses: ["10.0.0.1:0"] }],
    [
      { kind: "kube", addresses: ["10.0.0.1:1"] },
      { kind: "kube", addresses: ["10.0.0.1:2"] },
    ],
  ]) {
    await expect(two.client.reportNode({ ...report, serviceAddresses })).rejects.toMatchObject({ code: "invalid" });
  }
  await accepted("seven");
});
