import { rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import type { AuthClient } from "../../core/api/auth-client.ts";
import { silentLog } from "../../core/log/log.ts";
import { openTestAuth } from "../../test/inside/open-auth.ts";
import { generateKeys, publicKeys } from "../../test/inside/user-keys.ts";
import { sessionSeconds } from "./certificates/user-identity.ts";
import { openAuth } from "./open-auth.ts";

const role = (name: string, spec: object = {}) => ({ kind: "role", version: "v7", metadata: { name }, spec });
const user = (name: string, roles: string[]) => ({ kind: "user", version: "v2", metadata: { name }, spec: { roles } });
const put = (client: AuthClient, document: object, mode: { overwrite?: boolean; mustExist?: boolean } = {}) =>
  client.putResource({ json: JSON.stringify(document), ...mode });

test("a role that a user has is not deleted, and the refusal says who has it", async () => {
  await using t = await openTestAuth();
  await put(t.admin, role("dev"));
  await put(t.admin, user("alice", ["dev"]));
  const remove = () => t.admin.deleteResource({ kind: "role", name: "dev" });
  await expect(remove()).rejects.toMatchObject({ code: "conflict", message: "role dev is in use by alice" });
  await t.admin.deleteResource({ kind: "user", name: "alice" });
  await remove();
  await expect(remove()).rejects.toMatchObject({ code: "not_found" });
});

test("a user with a role that does not exist is refused", async () => {
  await using t = await openTestAuth();
  await expect(put(t.admin, user("alice", ["acces"]))).rejects.toMatchObject({ code: "invalid", message: "user alice: unknown role: acces" });
});

test("create, update and overwrite differ, and a stale revision is refused", async () => {
  await using t = await openTestAuth();
  await expect(put(t.admin, role("dev"), { mustExist: true })).rejects.toMatchObject({ code: "not_found" });
  const first = JSON.parse((await put(t.admin, role("dev"))).json) as object;
  await expect(put(t.admin, role("dev"))).rejects.toMatchObject({
    code: "already_exists",
    hint: "choose another name, or change the one that is there",
  });
  await put(t.admin, role("dev", { allow: { logins: ["root"] } }), { overwrite: true });
  await expect(put(t.admin, first, { mustExist: true })).rejects.toMatchObject({ code: "conflict" });
});

test("a preset that an admin changed or removed stays so", async () => {
  await using t = await openTestAuth();
  await t.admin.deleteResource({ kind: "role", name: "auditor" });
  await put(t.admin, role("editor", { allow: { logins: ["root"] } }), { overwrite: true });
  await t.restart();
  const { resources } = await t.admin.listResources({ kind: "role" });
  expect(resources.map(({ name }) => name)).toEqual(["access", "editor"]);
  expect(resources[1]?.json).toContain('"logins":["root"]');
});

test("a rule for a resource that does not exist is refused; one that is stored already loads", async () => {
  await using t = await openTestAuth();
  const typo = role("dev", { allow: { rules: [{ resources: ["cluster_maintenance_confg"], verbs: ["*"] }] } });
  await expect(put(t.admin, typo)).rejects.toMatchObject({
    code: "invalid",
    message: expect.stringContaining("did you mean cluster_maintenance_config?"),
  });
  const database = new DatabaseSync(`${t.dataDir}/auth/state.sqlite`);
  database.prepare("INSERT INTO entries VALUES ('/role/dev', ?, 9999, NULL)").run(JSON.stringify(typo));
  database.close();
  await t.restart();
  expect((await t.admin.getResource({ kind: "role", name: "dev" })).json).toContain("cluster_maintenance_confg");
  expect(t.logLines.filter((line) => line.includes("a role has rules without effect"))).toHaveLength(1);
});

test("every wrong field of a document is named", async () => {
  await using t = await openTestAuth();
  const wrong = role("dev", { allow: { login: ["root"] }, options: { max_session_ttl: "soon" } });
  await expect(put(t.admin, wrong)).rejects.toMatchObject({ code: "invalid", message: expect.stringMatching(/max_session_ttl.*login/s) });
  await expect(t.admin.listResources({ kind: "nodes" })).rejects.toMatchObject({
    code: "invalid",
    hint: expect.stringContaining("kinds are role, user, token, node"),
  });
});

test("the access revision changes with roles and removed hosts, and with nothing else", async () => {
  await using t = await openTestAuth();
  const revision = async () => (await t.admin.getAccess({})).revision;
  const first = await revision();
  await put(t.admin, user("alice", ["access"]));
  expect(await revision()).toBe(first);
  await put(t.admin, role("dev"));
  const second = await revision();
  expect(second).not.toBe(first);
  await t.restart();
  expect(await revision()).toBe(second);
});

test("a node shows what its proxy reports, and is gone when the proxy is", async () => {
  await using t = await openTestAuth();
  const { secret } = await t.admin.createToken({ roles: ["node"] });
  const { hostId } = await t.connect().join({ token: secret, role: "node", hostname: "web1", version: "1", ...publicKeys(generateKeys()) });
  const proxy = t.auth.localClient("proxy");
  const stop = new AbortController();
  const watch = proxy.watchAccess({ publicAddr: "proxy.example.com:443" }, { signal: stop.signal, timeoutMs: 0 })[Symbol.asyncIterator]();
  await watch.next();
  expect((await t.admin.getCluster({})).proxyPublicAddrs).toEqual(["proxy.example.com:443"]);
  const node = async () => JSON.parse((await t.admin.getResource({ kind: "node", name: hostId })).json) as object;
  const before = (await node()) as { metadata: { revision: string } };
  await proxy.reportNode({ hostId, hostname: "web1", version: "1", connected: true, address: "203.0.113.9:1" });
  expect(await node()).toEqual({ ...before, status: { connected: true, since: t.now().toISOString(), proxies: [expect.any(String)] } });
  await proxy.reportNode({ hostId, hostname: "web1", version: "2", labels: { env: "x" }, connected: true });
  expect(await node()).toMatchObject({ metadata: { labels: { env: "x" } }, spec: { version: "2" } });
  const ended = watch.next();
  stop.abort();
  await expect(ended).rejects.toThrow();
  await expect.poll(node).toMatchObject({ status: { connected: false } });
});

test("a removed node comes back from an export", async () => {
  await using t = await openTestAuth();
  const { secret } = await t.admin.createToken({ roles: ["node"] });
  const keys = generateKeys();
  const { hostId, tlsCertificate } = await t.connect().join({ token: secret, role: "node", hostname: "web1", ...publicKeys(keys) });
  const { json } = await t.admin.getResource({ kind: "node", name: hostId });
  const { metadata, ...rest } = JSON.parse(json) as { metadata: { revision?: string } };
  await t.admin.deleteResource({ kind: "node", name: hostId });
  const host = t.connect({ certificate: tlsCertificate, privateKey: keys.tlsPrivateKey });
  await expect(host.getAccess({})).rejects.toMatchObject({ code: "denied" });
  const { revision: _, ...kept } = metadata;
  await put(t.admin, { ...rest, metadata: kept });
  await host.getAccess({});
});

test("a token is shown without its secret, and changed by its name only", async () => {
  await using t = await openTestAuth();
  const { token, secret } = await t.admin.createToken({ roles: ["node", "proxy"], secret: "sixteen-letters!" });
  expect(secret).toBe("sixteen-letters!");
  const document = JSON.parse(token?.json ?? "{}") as { metadata: { name: string }; spec: object };
  await put(t.admin, { ...document, spec: { ...document.spec, roles: ["proxy"] } }, { overwrite: true });
  const refused = t.connect().join({ token: secret, role: "node", hostname: "web1", ...publicKeys(generateKeys()) });
  await expect(refused).rejects.toThrow(/is for proxy, not for node/);
  await expect(t.admin.createToken({ roles: ["node"], secret: "too short" })).rejects.toMatchObject({ code: "invalid" });
  await expect(t.admin.createToken({ roles: ["node"], secret: "sixteen-letters!" })).rejects.toMatchObject({ code: "already_exists" });
  await t.admin.deleteResource({ kind: "token", name: document.metadata.name });
  expect((await t.admin.listResources({ kind: "token" })).resources).toEqual([]);
});

test("another cluster name on the same data is refused, and a second start is clean", async () => {
  await using t = await openTestAuth();
  const config = {
    dataDir: t.dataDir,
    nodename: "auth1",
    listen: { host: "127.0.0.1", port: 0 },
    names: [],
    defaultSessionTtlSeconds: 60,
    sessionRecording: "node",
  } as const;
  const other = openAuth({ ...config, clusterName: "other", listenerMode: "separate" }, { log: silentLog });
  await expect(other).rejects.toMatchObject({ code: "invalid", message: "this data_dir belongs to cluster test; the configuration says other" });
  rmSync(`${t.dataDir}/auth/admin.json`, { force: true });
});

test.for<[ttls: string[], wanted: number, seconds: number]>([
  [[], 3600, 3600],
  [["30m", "12h"], 3600, 1800],
  [["30h"], 999_999, 108_000],
  [[], 1, 60],
  [["30s"], 3600, 30],
])("roles with %j and a wish of %i s give %i s", ([ttls, wanted, seconds]) => {
  const roles = ttls.map(
    (ttl, index) => ({ ...role(`r${index}`), spec: { options: { max_session_ttl: ttl } } }) as Parameters<typeof sessionSeconds>[0][number],
  );
  expect(sessionSeconds(roles, wanted)).toBe(seconds);
});
