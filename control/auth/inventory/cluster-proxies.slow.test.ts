import { afterEach, beforeEach, expect, test } from "vitest";
import { type AuthClient, type AuthConnection, openAuthClient } from "../../../core/api/auth-client.ts";
import { dial } from "../../../core/transport/dial/dial.ts";
import type { HostPort } from "../../../core/transport/host-port.ts";
import { type JoinedHost, openTestAuth, type TestAuth } from "../../../test/inside/open-auth.ts";
import { generateKeys, publicKeys } from "../../../test/inside/user-keys.ts";
import { proxyLeaseMs } from "./cluster-proxies.ts";

let t: TestAuth;
let address: HostPort;
const ends: AbortController[] = [];
const connections: AuthConnection[] = [];
beforeEach(async () => {
  t = await openTestAuth();
  address = await t.auth.listen({ host: "127.0.0.1", port: 0 });
});
afterEach(async () => {
  for (const end of ends.splice(0)) end.abort();
  for (const connection of connections.splice(0)) connection.close();
  await t[Symbol.asyncDispose]();
});

/** A host that calls over TCP: several streams on one connection in memory are more than Node's HTTP/2 bears. */
async function joinHost(
  hostname: string,
  { role = "node", names = [] }: { role?: "node" | "proxy"; names?: readonly string[] } = {},
): Promise<JoinedHost> {
  const { secret } = await t.admin.createToken({ roles: [role] });
  const keys = generateKeys();
  const asked = { token: secret, role, hostname, names: [...names], version: "1.0.0", ...publicKeys(keys) };
  const { hostId, tlsCertificate } = await t.connect().join(asked);
  const open = () => dial(address, { env: {} });
  const connection = openAuthClient({ open, ca: [t.auth.hostCaPem], credentials: { certificate: tlsCertificate, privateKey: keys.tlsPrivateKey } });
  connections.push(connection);
  return { id: hostId, client: connection.client };
}

interface Watch {
  /** Of the list, as the newest event says. */
  revision: string;
  stop(): void;
}

/** A proxy that is connected to the auth service. */
async function watch(client: AuthClient, publicAddr: string): Promise<Watch> {
  const end = new AbortController();
  ends.push(end);
  const events = client.watchAccess({ publicAddr, version: "1.0.0" }, { signal: end.signal, timeoutMs: 0 })[Symbol.asyncIterator]();
  const first = await events.next();
  const watching: Watch = { revision: first.done === true ? "" : first.value.proxiesRevision, stop: () => end.abort() };
  const follow = async (): Promise<void> => {
    for (let next = await events.next(); next.done !== true; next = await events.next()) watching.revision = next.value.proxiesRevision;
  };
  follow().catch(() => {});
  return watching;
}

const listed = async (client: AuthClient): Promise<readonly string[]> => {
  const { proxiesJson } = await client.listProxies({});
  return proxiesJson.map((json) => (JSON.parse(json) as { name: string; addr: string }).name).sort();
};

test("agents are notified of every proxy, and proxies of each change; a lost one stays for its lease, also across a restart", async () => {
  const [a, b, node] = [await joinHost("a", { role: "proxy" }), await joinHost("b", { role: "proxy" }), await joinHost("web")];
  const first = await watch(a.client, "a.example.com:443");
  expect(await listed(node.client)).toEqual(["a"]);
  const { revision } = first;
  const second = await watch(b.client, "b.example.com:443");
  await expect.poll(() => first.revision).not.toBe(revision);
  expect((await node.client.listProxies({})).revision).toBe(first.revision);
  expect(await listed(node.client)).toEqual(["a", "b"]);
  const both = first.revision;
  second.stop();
  await expect.poll(async () => (await t.admin.getCluster({})).warnings.join()).toContain("proxy b (b.example.com:443) is not connected");
  t.forward(proxyLeaseMs - 1);
  await t.auth.look();
  expect(await listed(node.client)).toEqual(["a", "b"]);
  expect(first.revision).toBe(both);
  t.forward(1);
  await t.auth.look();
  expect(await listed(node.client)).toEqual(["a"]);
  await expect.poll(() => first.revision).not.toBe(both);
  await t.restart();
  expect(await listed(t.auth.localClient("auth"))).toEqual(["a"]);
});

test("a proxy that comes back is reported as such; a second process of a running one is not", async () => {
  const a = await joinHost("a", { role: "proxy" });
  const first = await watch(a.client, "a.example.com:443");
  const { revision } = first;
  t.forward(60_000);
  const successor = await watch(a.client, "a.example.com:443");
  expect(successor.revision).toBe(revision);
  first.stop();
  successor.stop();
  await expect
    .poll(async () => {
      const [state = ""] = (await t.admin.getCluster({})).proxiesJson;
      return (JSON.parse(state) as { connected: boolean }).connected;
    })
    .toBe(false);
  expect((await watch(a.client, "a.example.com:443")).revision).not.toBe(revision);
});

test("reconnecting proxies after a restart of the auth service do not concern agents", async () => {
  const a = await joinHost("a", { role: "proxy" });
  const { revision } = await watch(a.client, "a.example.com:443");
  await t.restart();
  address = await t.auth.listen({ host: "127.0.0.1", port: 0 });
  expect((await watch(a.client, "a.example.com:443")).revision).toBe(revision);
});

test("a proxy that is removed goes off the list at once", async () => {
  const [a, b] = [await joinHost("a", { role: "proxy" }), await joinHost("b", { role: "proxy" })];
  await watch(a.client, "a.example.com:443");
  await watch(b.client, "b.example.com:443");
  await t.admin.deleteResource({ kind: "node", name: a.id });
  expect(await listed(b.client)).toEqual(["b"]);
});

test("a proxy learns of a host that has a tunnel to others only, by its id and its names, and of none that it has itself", async () => {
  const [a, b] = [await joinHost("a", { role: "proxy" }), await joinHost("b", { role: "proxy" })];
  const web = await joinHost("web", { names: ["www.example.com"] });
  await watch(b.client, "b.example.com:443");
  const report = { hostId: web.id, hostname: "web", version: "1", connected: true, labels: { env: "prod" }, names: ["web", "www.example.com"] };
  await b.client.reportNode(report);
  const found = async (client: AuthClient, target: string) =>
    (await client.findDirectHosts({ target })).tunnelledJson.map((json) => JSON.parse(json) as object);
  const expected = { id: web.id, hostname: "web", labels: { env: "prod" }, proxies: [{ id: b.id, name: "b", addr: "b.example.com:443" }] };
  for (const target of [web.id, "web", "WEB.test", "www.example.com"]) expect(await found(a.client, target)).toEqual([expected]);
  expect(await found(b.client, "web")).toEqual([]);
  expect(await found(a.client, "other")).toEqual([]);
  await b.client.reportNode({ ...report, connected: false });
  expect(await found(a.client, "web")).toEqual([]);
});

test("a host that one proxy calls gone is none while another one has it: no event, no metric, sessions stay listed", async () => {
  const [a, b] = [await joinHost("a", { role: "proxy" }), await joinHost("b", { role: "proxy" })];
  const web = await joinHost("web");
  const report = { hostId: web.id, hostname: "web", version: "1" };
  await a.client.reportNode({ ...report, connected: true });
  await b.client.reportNode({ ...report, connected: true });
  await b.client.reportNode({ ...report, connected: false, ending: "silent" });
  t.forward(60_000);
  await t.auth.look();
  expect(await t.events("agent.gone")).toEqual([]);
  await a.client.reportNode({ ...report, connected: false, ending: "silent" });
  await t.auth.look();
  expect(await t.events("agent.gone")).toHaveLength(1);
});
