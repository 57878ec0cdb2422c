import { expect, test } from "vitest";
import type { Offered } from "../../../core/resources/offered.ts";
import { addUser, joinFacts, joinHost, loggedIn, openTestAuth } from "../../../test/inside/open-auth.ts";
import type { LiveNode } from "./live-nodes.ts";
import { bestHealth, LiveOffered, listOffered } from "./live-offered.ts";

test("resources that a connected host offers are listed with their labels and hosts, also over the network", async () => {
  await using t = await openTestAuth();
  const { secret } = await t.admin.createToken({ roles: ["node", "app"] });
  const { hostId } = await t.connect().join(joinFacts("node", secret, { hostname: "apps-1", services: ["app"] }));
  const proxy = await joinHost(t, "p1", { role: "proxy" });
  await proxy.client.reportNode({ hostId, hostname: "apps-1", services: ["app"], version: "1.0.0", connected: true });
  const orders = { kind: "app", name: "orders", labels: { env: "test" } };
  await proxy.client.reportOffered({ hostId, offered: [orders] });
  expect((await t.admin.listOffered({})).resources).toMatchObject([{ ...orders, hostIds: [hostId] }]);
  const many = Array.from({ length: 2001 }, (_, n) => ({ ...orders, name: `app-${n}` }));
  await expect(proxy.client.reportOffered({ hostId, offered: many })).rejects.toMatchObject({ code: "limit" });
  await expect(proxy.client.reportOffered({ hostId, offered: [{ ...orders, name: "" }] })).rejects.toMatchObject({ code: "invalid" });
});

test("a host offers a resource while it is connected", () => {
  const hosts = new Map([["a", { connected: true } as LiveNode]]);
  const offers = new LiveOffered(hosts);
  const orders = { kind: "db", name: "orders", labels: {} };
  for (const id of ["a", "b"]) offers.report(id, [orders], 1);
  const found = (): readonly (string | undefined)[] => ["a", "b"].map((id) => offers.of(id, "db", "orders")?.name);
  expect(found()).toEqual(["orders", undefined]);
  hosts.set("a", { connected: false } as LiveNode);
  expect(found()).toEqual([undefined, undefined]);
});

test("a list that is refused leaves the one before it, and its room", () => {
  const offers = new LiveOffered({ get: () => ({ connected: true }) as LiveNode });
  const cluster = (name: string): Offered[] => [{ kind: "kube", name, labels: {} }];
  const most = 128 * 1024 * 1024;
  offers.report("a", cluster("prod"), 1);
  offers.report("b", cluster("test"), most - 2);
  const changed: string[] = [];
  using _listening = offers.onChange((id) => changed.push(id));
  expect(() => offers.report("a", cluster("dev"), 3)).toThrow(expect.objectContaining({ code: "limit" }));
  expect(offers.ofHost("a")).toEqual(cluster("prod"));
  expect(changed).toEqual([]);
  offers.report("a", cluster("dev"), 2);
  expect(offers.ofHost("a")).toEqual(cluster("dev"));
  expect(changed).toEqual(["a"]);
  offers.report("b", [], 0);
  offers.report("a", cluster("dev"), most);
});

test("a host that comes back without a service, or with nothing to offer, offers what it had no more", async () => {
  await using t = await openTestAuth();
  const { secret } = await t.admin.createToken({ roles: ["node", "app", "db"] });
  const { hostId } = await t.connect().join(joinFacts("node", secret, { hostname: "apps-1", services: ["app", "db"] }));
  const proxy = await joinHost(t, "p1", { role: "proxy" });
  const report = async (...services: string[]) =>
    void (await proxy.client.reportNode({ hostId, hostname: "apps-1", services, version: "1.0.0", connected: true }));
  const names = async () => (await t.admin.listOffered({})).resources.map(({ name }) => name);
  await report("app", "db");
  await proxy.client.reportOffered({ hostId, offered: ["app", "db"].map((kind) => ({ kind, name: `the-${kind}`, labels: {} })) });
  expect(await names()).toEqual(["the-app", "the-db"]);
  await report("app");
  expect(await names()).toEqual(["the-app"]);
  await proxy.client.reportOffered({ hostId, offered: [] });
  expect(await names()).toEqual([]);
});

test("hosts that differ only in the health and the address of a resource are one entry, with the health of each and no address", () => {
  const offers = new LiveOffered({ get: () => undefined });
  const orders = (details: Readonly<Record<string, string>>, labels = { env: "prod" }): Offered => ({ kind: "db", name: "orders", labels, details });
  offers.report("c", [orders({ protocol: "postgres", health: "healthy" })], 1);
  offers.report("a", [orders({ protocol: "postgres", health: "unhealthy", health_error: "connection refused" })], 1);
  offers.report("b", [orders({ protocol: "postgres", uri: "http://10.0.0.5" })], 1);
  offers.report("d", [orders({ protocol: "mysql", health: "healthy" })], 1);
  offers.report("e", [orders({ protocol: "postgres", health: "healthy" }, { env: "test" })], 1);
  offers.report("gone", [orders({ protocol: "postgres", health: "healthy" })], 1);
  const node = (hostname: string): LiveNode => ({
    connected: hostname !== "host-gone",
    since: new Date(0),
    address: "",
    proxies: [],
    hostname,
    version: "",
    names: [],
  });
  const listed = listOffered(offers, { get: (id) => node(`host-${id}`) }, () => true);
  const same = { kind: "db", name: "orders" };
  expect(listed).toHaveLength(3);
  expect(listed).toContainEqual({
    ...same,
    labels: { env: "prod" },
    details: { protocol: "postgres" },
    hosts: [
      { id: "a", hostname: "host-a", health: "unhealthy", healthError: "connection refused" },
      { id: "b", hostname: "host-b", health: "unknown", healthError: "" },
      { id: "c", hostname: "host-c", health: "healthy", healthError: "" },
    ],
    unused: expect.stringContaining("differing settings"),
    isPassedOver: false,
  });
  expect(listed.map(({ hosts }) => hosts.map(({ id }) => id).join("")).toSorted()).toEqual(["abc", "d", "e"]);
});

test.for([
  ["healthy", ["unhealthy", "unknown", "healthy"]],
  ["unknown", ["unhealthy", "unknown"]],
  ["unhealthy", ["unhealthy", "unhealthy"]],
  ["unknown", []],
] as const)("the best health is %s of %j", ([best, all]) => {
  expect(bestHealth(all.map((health) => ({ health })))).toBe(best);
});

test("resources are filtered by label, word and query, in which the status is the health", async () => {
  await using t = await openTestAuth();
  const { secret } = await t.admin.createToken({ roles: ["db"] });
  const { hostId } = await t.connect().join(joinFacts("node", secret, { hostname: "db-1", services: ["db"] }));
  const proxy = await joinHost(t, "p1", { role: "proxy" });
  await proxy.client.reportNode({ hostId, hostname: "db-1", services: ["db"], version: "1.0.0", connected: true });
  const offered = [
    { kind: "db", name: "orders", labels: { env: "prod" }, details: { protocol: "postgres", health: "healthy" } },
    {
      kind: "db",
      name: "logs",
      labels: { env: "prod" },
      details: { protocol: "mongodb", health: "unhealthy", health_error: "no route to the host" },
    },
    { kind: "db", name: "cache", labels: { env: "test" }, details: { protocol: "redis", health: "unknown" } },
  ];
  await proxy.client.reportOffered({ hostId, offered });
  const names = async (filter: object): Promise<string> =>
    (await t.admin.listOffered({ kind: "db", ...filter })).resources.map(({ name }) => name).join(" ");
  expect(await names({})).toBe("cache logs orders");
  expect(await names({ labels: { env: "prod" } })).toBe("logs orders");
  expect(await names({ search: ["ORD"] })).toBe("orders");
  expect(await names({ search: ["env=test"] })).toBe("cache");
  expect(await names({ query: 'status == "unhealthy"' })).toBe("logs");
  expect(await names({ query: 'labels["env"] == "prod" && !hasPrefix(name, "l")' })).toBe("orders");
  await expect(names({ query: "status ==" })).rejects.toMatchObject({ code: "invalid" });
  expect((await t.admin.listOffered({ search: ["logs"] })).resources).toMatchObject([
    {
      details: { protocol: "mongodb" },
      hostIds: [hostId],
      hosts: [{ id: hostId, hostname: "db-1", health: "unhealthy", healthError: "no route to the host" }],
    },
  ]);
});

test("a user sees the databases of the own roles, with the accounts that they allow at each", async () => {
  await using t = await openTestAuth();
  const { secret } = await t.admin.createToken({ roles: ["db"] });
  const { hostId } = await t.connect().join(joinFacts("node", secret, { hostname: "db-1", services: ["db"] }));
  const proxy = await joinHost(t, "p1", { role: "proxy" });
  await proxy.client.reportNode({ hostId, hostname: "db-1", services: ["db"], version: "1.0.0", connected: true });
  const offered = ["prod", "test", "dev", "secret"].map((env) => ({ kind: "db", name: `db-${env}`, labels: { env } }));
  await proxy.client.reportOffered({ hostId, offered });
  const roles = {
    reader: {
      allow: { db_labels: { env: ["prod", "test"] }, db_users: ["reader", "auditor"], db_names: ["*"] },
      deny: { db_labels: { env: "test" }, db_users: ["auditor"] },
    },
    owner: { allow: { db_labels: { env: "dev" }, db_users: ["*"], db_names: ["*"] } },
  };
  for (const [name, spec] of Object.entries(roles))
    await t.admin.putResource({ json: JSON.stringify({ kind: "role", version: "v7", metadata: { name }, spec }) });
  const alice = await loggedIn(t, await addUser(t, "alice", { roles: ["reader", "owner"] }));
  const seen = (await alice.listOffered({ kind: "db" })).resources.map(({ name, accounts }) => `${name}: ${accounts.join()}`);
  expect(seen).toEqual(["db-dev: *", "db-prod: reader"]);
  expect((await t.admin.listOffered({ kind: "db" })).resources.flatMap(({ accounts }) => accounts)).toEqual([]);
});
