import { expect, test } from "vitest";
import type { AuthClient } from "../../../core/api/auth-client.ts";
import { type Instance, instanceSchema } from "../../../core/resources/instance.ts";
import { addUser, loggedIn, openTestAuth, type TestAuth } from "../../../test/inside/open-auth.ts";
import { generateKeys, publicKeys } from "../../../test/inside/user-keys.ts";
import { instanceMatcher } from "./list-instances.ts";

async function join(t: TestAuth, hostname: string, role: "node" | "proxy" = "node") {
  const { secret } = await t.admin.createToken({ roles: [role] });
  const keys = generateKeys();
  const services = role === "node" ? ["ssh"] : [];
  const answer = await t.connect().join({ token: secret, role, hostname, version: "1.0.0", services, ...publicKeys(keys) });
  return { id: answer.hostId, client: t.connect({ certificate: answer.tlsCertificate, privateKey: keys.tlsPrivateKey }) };
}

async function all(client: AuthClient, filter: object = {}): Promise<readonly Instance[]> {
  const { instancesJson } = await client.listInventory(filter);
  return instancesJson.map((json) => instanceSchema.parse(JSON.parse(json)));
}

test("the inventory holds the auth service, proxies with the version that they run, and hosts with what they say", async () => {
  await using t = await openTestAuth();
  expect((await all(t.admin)).map(({ hostname, services }) => [hostname, services])).toEqual([["auth1", ["auth"]]]);
  const proxy = await join(t, "proxy1", "proxy");
  const stop = new AbortController();
  const watch = proxy.client
    .watchAccess({ publicAddr: "proxy.example.com:443", version: "1.2.0" }, { signal: stop.signal, timeoutMs: 0 })
    [Symbol.asyncIterator]();
  await watch.next();
  const web = await join(t, "web1");
  await join(t, "web2");
  const statusJson = JSON.stringify({ upgrader: "unit", reason: "outside_window", channel: "default" });
  await proxy.client.reportNode({ hostId: web.id, hostname: "web1", services: ["ssh"], version: "v1.0.0", connected: true, statusJson });
  const channel = { version: "v1.3.0", critical: false, source: "own" };
  await proxy.client.reportChannels({ channelsJson: JSON.stringify({ default: channel }), digest: `sha256:${"0".repeat(64)}` });
  const found = await all(t.admin);
  expect(found.filter(({ services }) => !services.includes("ssh"))).toMatchObject([
    { hostname: "auth1", connected: true },
    { hostname: "proxy1", services: ["proxy"], version: "1.2.0", connected: true, upgrader: "none" },
  ]);
  const since = t.now().toISOString();
  expect(found.find(({ hostname }) => hostname === "web1")).toEqual({
    server_id: web.id,
    hostname: "web1",
    services: ["ssh"],
    version: "1.0.0",
    upgrader: "unit",
    connected: true,
    since,
    proxies: [proxy.id],
    wanted: "1.3.0",
    status: { upgrader: "unit", reason: "outside_window", channel: "default", sessions: 0 },
  });
  expect(found.find(({ hostname }) => hostname === "web2")).toMatchObject({ connected: false, upgrader: "unknown" });
  const of = async (upgrader: string) => (await all(t.admin, { upgrader })).map(({ hostname }) => hostname);
  expect([await of("none"), await of("unknown"), await of("unit")]).toEqual([["auth1", "proxy1"], ["web2"], ["web1"]]);
  const groups = [
    { name: "first", labels: { env: "test" } },
    { name: "rest", labels: { "*": "*" } },
  ];
  await t.admin.putResource({ json: JSON.stringify({ kind: "upgrade_rollout", version: "v1", metadata: { name: "default" }, spec: { groups } }) });
  const labels = { env: "test" };
  await proxy.client.reportNode({ hostId: web.id, hostname: "web1", services: ["ssh"], version: "v1.0.0", connected: true, statusJson, labels });
  expect(Object.fromEntries((await all(t.admin)).map(({ hostname, group }) => [hostname, group]))).toEqual({
    auth1: undefined,
    proxy1: undefined,
    web1: "first",
    web2: "rest",
  });
  const ended = watch.next();
  stop.abort();
  await expect(ended).rejects.toThrow();
});

test("many hosts come in parts, each once, and filters are applied by the service", async () => {
  await using t = await openTestAuth();
  const ids = new Set<string>();
  const { secret } = await t.admin.createToken({ roles: ["node"] });
  const keys = publicKeys(generateKeys());
  for (let at = 0; at < 23; at += 1) {
    const { hostId } = await t
      .connect()
      .join({ token: secret, role: "node", hostname: `web${at}`, services: ["ssh"], version: `1.${at}.0`, ...keys });
    ids.add(hostId);
  }
  const seen: Instance[] = [];
  let cursor = "";
  do {
    const part = await t.admin.listInventory({ limit: 5, cursor });
    expect(part.instancesJson.length).toBeLessThanOrEqual(5);
    seen.push(...part.instancesJson.map((json) => instanceSchema.parse(JSON.parse(json))));
    cursor = part.cursor;
  } while (cursor !== "");
  expect(seen).toHaveLength(24);
  expect(new Set(seen.map(({ server_id }) => server_id))).toEqual(new Set([...ids, seen[0]?.server_id]));
  expect((await all(t.admin, { olderThan: "v1.3.0", services: ["ssh"] })).map(({ version }) => version).sort()).toEqual(["1.0.0", "1.1.0", "1.2.0"]);
  await expect(t.admin.listInventory({ cursor: "/user/" })).rejects.toMatchObject({ code: "invalid" });
});

const instance: Instance = { server_id: "x", hostname: "web1", services: ["ssh"], version: "1.2.0", upgrader: "unit", connected: true };
const none = { upgrader: "", services: [], olderThan: "", newerThan: "", exactVersion: "" };
test.for<[filter: object, matches: boolean]>([
  [{}, true],
  [{ upgrader: "unit" }, true],
  [{ upgrader: "none" }, false],
  [{ services: ["proxy", "SSH"] }, true],
  [{ services: ["node"] }, true],
  [{ services: ["app"] }, false],
  [{ services: ["db"] }, false],
  [{ olderThan: "1.2.0" }, false],
  [{ olderThan: "v1.10.0" }, true],
  [{ newerThan: "1.2.0" }, false],
  [{ newerThan: "1.2.0-rc.1" }, true],
  [{ exactVersion: "v1.2.0" }, true],
  [{ exactVersion: "1.2.0+build" }, false],
  [{ newerThan: "1.1.0", olderThan: "1.3.0", upgrader: "unit", services: ["ssh"] }, true],
])("the filter %j takes a host at 1.2.0: %s", ([filter, matches]) => {
  expect(instanceMatcher({ ...none, ...filter })(instance)).toBe(matches);
});

test("a host whose version is none is left out by a filter for versions only", () => {
  const odd = { ...instance, version: "unknown" };
  expect(instanceMatcher(none)(odd)).toBe(true);
  expect(instanceMatcher({ ...none, olderThan: "9.0.0" })(odd)).toBe(false);
});

test.for([{ upgrader: "snap" }, { olderThan: "1.2" }, { newerThan: "none" }, { exactVersion: "latest" }])("the filter %j is refused", (filter) => {
  expect(() => instanceMatcher({ ...none, ...filter })).toThrow(expect.objectContaining({ code: "invalid" }));
});

test("only who may list nodes sees the inventory", async () => {
  await using t = await openTestAuth();
  const alice = await loggedIn(t, await addUser(t, "alice", { roles: ["access"] }));
  await expect(alice.listInventory({})).rejects.toMatchObject({ code: "denied" });
  const bob = await loggedIn(t, await addUser(t, "bob", { roles: ["editor"] }));
  expect(await all(bob)).toHaveLength(1);
  const { client } = await join(t, "web1");
  await expect(client.listInventory({})).rejects.toMatchObject({ code: "denied" });
});
