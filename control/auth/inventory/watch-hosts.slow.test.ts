import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { AuthClient } from "../../../core/api/auth-client.ts";
import type { Node } from "../../../core/resources/node.ts";
import { type JoinedHost, joinHost, openTestAuth, type TestAuth } from "../../../test/inside/open-auth.ts";
import { generateKeys, publicKeys } from "../../../test/inside/user-keys.ts";
import type { LiveNode } from "./live-nodes.ts";
import { hostRoute, isFoundByTunnel, type RouteFacts } from "./watch-hosts.ts";

let t: TestAuth;
let proxy: JoinedHost;
const ends: AbortController[] = [];
beforeEach(async () => {
  t = await openTestAuth();
  proxy = await joinHost(t, "p1", { role: "proxy" });
});
afterEach(async () => {
  for (const end of ends.splice(0)) end.abort();
  await t[Symbol.asyncDispose]();
});

interface Watch {
  /** "<host name> <way>" of each host, as the events say. */
  readonly hosts: () => readonly string[];
  /** Number of resources that a host offers; without an id: that all offer. */
  readonly offers: (id?: string) => number;
  readonly events: number;
  readonly ended: Promise<unknown>;
}

/** What a proxy knows by the events so far; resolves once it is complete. */
async function watch(client: AuthClient): Promise<Watch> {
  const end = new AbortController();
  ends.push(end);
  const known = new Map<string, string>();
  const offers = new Map<string, number>();
  const complete = Promise.withResolvers<void>();
  const watching = { events: 0 };
  const follow = async (): Promise<void> => {
    for await (const { changed, gone, complete: isComplete } of client.watchHosts({}, { signal: end.signal, timeoutMs: 0 })) {
      watching.events += 1;
      for (const id of gone) expect(known.delete(id)).toBe(true);
      for (const { id, hostname, via } of changed) {
        known.set(id, `${hostname} ${via.case ?? "?"}`);
        offers.set(id, via.case === "dial" ? via.value.offered.length : 0);
      }
      if (isComplete) complete.resolve();
    }
  };
  const ended = follow().catch((thrown: unknown) => thrown);
  await complete.promise;
  return {
    hosts: () => [...known.values()].sort(),
    offers: (id) => (id === undefined ? offers.values().reduce((sum, count) => sum + count, 0) : (offers.get(id) ?? 0)),
    ended,
    get events() {
      return watching.events;
    },
  };
}

/** Clusters that take most of what one host may offer. */
const manyClusters = Array.from({ length: 370 }, (_, n) => ({
  kind: "kube",
  name: `cluster-${n}`,
  labels: {},
  details: { text: "x".repeat(2_000) },
}));

test("fifty hosts with large lists take neither the watch nor the clusters of others; tctl status names them", async () => {
  const { secret } = await t.admin.createToken({ roles: ["kube"] });
  const dialled = async (hostname: string, offered: readonly object[]): Promise<string> => {
    const keys = generateKeys();
    const joining = { token: secret, role: "node", hostname, version: "1.0.0", services: ["kube"], ...publicKeys(keys) };
    const { hostId, tlsCertificate } = await t.connect().join(joining);
    const client = t.connect({ certificate: tlsCertificate, privateKey: keys.tlsPrivateKey });
    await client.reportNode({ ...report(hostId, hostname), services: ["kube"], directAddresses: ["10.0.0.5:3026"] });
    await client.reportOffered({ hostId, offered: [...offered] });
    return hostId;
  };
  const before = await dialled("before", [{ kind: "kube", name: "prod", labels: {} }]);
  const seen = await watch(t.auth.localClient("proxy"));
  for (let n = 0; n < 50; n += 1) await dialled(`large-${n}`, manyClusters);
  const after = await dialled("after", [{ kind: "kube", name: "prod", labels: {} }]);
  await expect.poll(() => [before, after].map((id) => seen.offers(id))).toEqual([1, 1]);
  // A proxy that begins now.
  const later = await watch(proxy.client);
  for (const { offers, hosts } of [seen, later]) {
    await expect.poll(() => [before, after].map(offers)).toEqual([1, 1]);
    expect(hosts().filter((host) => host.endsWith(" dial"))).toHaveLength(52);
    expect(offers()).toBeGreaterThan(35 * 370);
    expect(offers()).toBeLessThan(45 * 370);
  }
  expect((await t.admin.getCluster({})).warnings).toContainEqual(
    expect.stringMatching(/^agents that proxies dial offer more than the 32 MiB .* large-\d+ /),
  );
});

const report = (id: string, hostname: string, connected = true) => ({ hostId: id, hostname, services: ["ssh"], version: "1.0.0", connected });

test("a proxy receives the hosts that it does not find by a tunnel, and each change; heartbeats send nothing", async () => {
  const [web1, web2] = [await joinHost(t, "web-1"), await joinHost(t, "web-2")];
  await web1.client.reportNode({ ...report(web1.id, "web-1"), directAddresses: ["10.0.0.5:3022"] });
  const seen = await watch(t.auth.localClient("proxy"));
  expect(seen.hosts()).toEqual(["web-1 dial", "web-2 record"]);
  await proxy.client.reportNode(report(web2.id, "web-2"));
  await expect.poll(seen.hosts).toEqual(["web-1 dial", "web-2 tunnel"]);
  const { events } = seen;
  await proxy.client.reportNode(report(web2.id, "web-2"));
  await web1.client.reportNode({ ...report(web1.id, "web-1"), directAddresses: ["10.0.0.5:3022"] });
  await t.auth.localClient("proxy").reportNode(report(web2.id, "web-2"));
  expect(seen.events).toBe(events);
  await proxy.client.reportNode(report(web2.id, "web-2", false));
  await expect.poll(seen.hosts).toEqual(["web-1 dial"]);
  await t.auth.localClient("proxy").reportNode(report(web2.id, "web-2", false));
  await expect.poll(seen.hosts).toEqual(["web-1 dial", "web-2 record"]);
  await t.admin.deleteResource({ kind: "node", name: web1.id });
  await expect.poll(seen.hosts).toEqual(["web-2 record"]);
});

test("a host with a tunnel is sent as soon as another one has its name", async () => {
  const one = await joinHost(t, "twin");
  const local = t.auth.localClient("proxy");
  await local.reportNode(report(one.id, "twin"));
  const seen = await watch(local);
  expect(seen.hosts()).toEqual([]);
  await joinHost(t, "twin");
  await expect.poll(seen.hosts).toEqual(["twin record", "twin record"]);
});

test("hosts with many labels come in several events", async () => {
  const labels = Object.fromEntries(Array.from({ length: 250 }, (_, n) => [`label-${n}`, "x".repeat(240)]));
  const local = t.auth.localClient("proxy");
  const names = Array.from({ length: 10 }, (_, n) => `web-${n}`);
  for (const name of names) {
    const { id } = await joinHost(t, name);
    for (const connected of [true, false]) await local.reportNode({ ...report(id, name, connected), labels });
  }
  const seen = await watch(local);
  expect(seen.hosts()).toEqual(names.map((name) => `${name} record`));
  expect(seen.events).toBe(2);
});

test("the watch of a removed proxy ends", async () => {
  const seen = await watch(proxy.client);
  await t.admin.deleteResource({ kind: "node", name: proxy.id });
  await joinHost(t, "web-1");
  await expect(seen.ended).resolves.toMatchObject({ code: "denied" });
});

const id = "aaaaaaaa-1111-4111-8111-111111111111";
const node: Node = {
  kind: "node",
  version: "v2",
  metadata: { name: id, labels: { env: "prod" } },
  spec: { hostname: "web-1", services: ["ssh"], version: "1.0.0" },
};
const live = (more: Partial<LiveNode> = {}): LiveNode => ({
  connected: true,
  since: new Date(0),
  address: "10.0.0.5:50000",
  proxies: ["p1"],
  hostname: "web-1",
  version: "1.0.0",
  names: ["web-1", "www"],
  ...more,
});
const direct = { id, hostname: "web-1", labels: {}, names: ["web-1", "dial"], addresses: ["10.0.0.5:3022"], shared: [] };
const since = "2026-11-20T10:00:00.000Z";
const proxies = [{ id: "p2", name: "proxy-b", addr: "b.example.com:443", since: "" }];
const nothing = { offered: [], namedKinds: [] };
const route = (facts: Partial<RouteFacts>) =>
  hostRoute(
    { node, names: ["web-1", "web.example.com"], live: undefined, direct: undefined, since: undefined, proxies, offered: nothing, ...facts },
    "p1",
  );

describe("the way from proxy p1 to a host is", () => {
  test.for<[string, Partial<RouteFacts>, object]>([
    [
      "through a proxy that has its tunnel",
      { live: live({ proxies: ["p2", "p3"] }) },
      {
        case: "tunnel",
        value: {
          proxies: [
            { id: "p2", name: "proxy-b", addr: "b.example.com:443" },
            { id: "p3", name: "p3", addr: "" },
          ],
        },
      },
    ],
    ["to dial it", { direct, live: live({ isDialled: true, proxies: [id] }) }, { case: "dial", value: { addresses: ["10.0.0.5:3022"], shared: [] } }],
    [
      "to dial it, with what it offers at which port",
      {
        direct: { ...direct, services: { kube: ["10.0.0.5:3026"] } },
        live: live({ isDialled: true, proxies: [id] }),
        offered: { offered: [{ kind: "kube", name: "prod", labels: { env: "test" } }], namedKinds: ["kube"] },
      },
      {
        case: "dial",
        value: {
          offered: [{ kind: "kube", name: "prod", labels: { env: "test" }, details: {} }],
          namedKinds: ["kube"],
          serviceAddresses: [{ kind: "kube", addresses: ["10.0.0.5:3026"] }],
        },
      },
    ],
    ["to dial it, also while it is not connected", { direct }, { case: "dial", value: { addresses: ["10.0.0.5:3022"], shared: [] } }],
    ["its own tunnel, which has replaced dialling", { direct, live: live() }, { case: "record", value: { since: "" } }],
    ["none while it is away", { since }, { case: "record", value: { since } }],
    ["none, since an unknown time", { live: live({ connected: false, proxies: [] }) }, { case: "record", value: { since: "" } }],
  ])("%s", ([, facts, via]) => {
    expect(route(facts)).toMatchObject({ id, hostname: "web-1", labels: { env: "prod" }, via });
  });

  test("under all its names", () => {
    expect(route({ direct, live: live() }).names).toEqual(["web-1", "web.example.com", "dial", "www"]);
  });
});

describe("a proxy finds a host by itself", () => {
  test.for<[string, LiveNode | undefined, readonly string[], boolean]>([
    ["with a tunnel to it", live(), [], true],
    ["not with a namesake", live(), ["other"], false],
    ["not with a tunnel to another proxy", live({ proxies: ["p2"] }), [], false],
    ["not when it is dialled", live({ isDialled: true }), [], false],
    ["not when it is away", live({ connected: false, proxies: [] }), [], false],
    ["not before its first report", undefined, [], false],
  ])("%s", ([, known, namesakes, is]) => {
    expect(isFoundByTunnel(known, "p1", namesakes)).toBe(is);
  });
});
