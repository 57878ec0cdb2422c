import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { joinServingHost, startTestAgent } from "../../../../test/inside/connect-agent.ts";
import { startTestCluster, type TestCluster } from "../../../../test/inside/open-cluster.ts";
import { openBrowser, type WebBrowser } from "../../../../test/inside/web-browser.ts";

let cluster: TestCluster;
/** Somebody with every right, and somebody with none. */
let boss: WebBrowser;
let guest: WebBrowser;

beforeAll(async () => {
  cluster = await startTestCluster({ proxy: { publicAddr: { host: "proxy.example.com", port: 443 } } });
  await cluster.putRole("nobody", {});
  boss = await openBrowser(cluster, "boss", ["access", "editor", "auditor"]);
  guest = await openBrowser(cluster, "guest", ["nobody"]);
});
afterAll(() => cluster[Symbol.asyncDispose]());

test("a user sees what their rules allow", async () => {
  expect((await boss("/me")).body).toMatchObject({
    user: "boss",
    roles: ["access", "editor", "auditor"],
    can: { user: ["list", "create", "read", "update", "delete"], event: expect.arrayContaining(["list"]) },
    cluster: "main",
    proxy: "proxy.example.com:443",
    ca_pins: [cluster.auth.caPin],
  });
  expect((await guest("/me")).body).toMatchObject({ user: "guest", can: {} });
});

test.for([
  "/inventory",
  "/events",
  "/upgrades/plan",
  "/resources/user",
  "/resources/role",
  "/resources/lock/x",
  "/documents/role/access",
  "/access?user=boss&kind=ssh&name=web-1",
] as const)("%s is refused to a user without the rule, and the refusal is audited as theirs", async (path) => {
  const before = (await cluster.events("access.denied")).length;
  const { status, body } = await guest(path);
  expect([status, body]).toEqual([403, { error: expect.objectContaining({ code: "denied" }) }]);
  const denied = await cluster.events("access.denied");
  expect(denied.slice(before)).toMatchObject([{ user: "guest" }]);
});

test("hosts are those that the user may reach, with their connection", async () => {
  const agent = await startTestAgent(cluster, { hostname: "web-1" });
  try {
    await expect
      .poll(async () => (await boss("/hosts?query=")).body)
      .toMatchObject({
        hosts: [{ id: agent.id, name: "web-1", state: "connected", labels: {} }],
        cursor: "",
      });
    expect((await guest("/hosts")).body).toEqual({ hosts: [], cursor: "" });
    expect((await boss("/hosts?query=name%20%3D%3D")).body).toMatchObject({ error: { code: "invalid" } });
    expect((await boss("/inventory")).body.instances).toContainEqual(expect.objectContaining({ hostname: "web-1", connected: true }));
  } finally {
    agent.end();
  }
});

describe("a resource", () => {
  const role = { kind: "role", version: "v7", metadata: { name: "ops" }, spec: { allow: { logins: ["ops"] } } };

  test("is made, read, changed by its revision, and removed, as if by tctl", async () => {
    const made = await boss("/resources/role", { method: "POST", body: role });
    expect([made.status, made.body]).toMatchObject([200, { metadata: { name: "ops" } }]);
    expect((await boss("/resources/role", { method: "POST", body: role })).status).toBe(409);
    const { body: stored } = await boss("/resources/role/ops");
    const metadata = stored.metadata as Record<string, string>;
    const changed = { ...stored, metadata: { ...metadata, description: "Operators" } };
    expect((await boss("/resources/role/ops", { method: "PUT", body: changed })).status).toBe(200);
    const late = await boss("/resources/role/ops", { method: "PUT", body: { ...stored, metadata: { ...metadata, description: "late" } } });
    expect([late.status, late.body]).toMatchObject([412, { error: { code: "conflict" } }]);
    expect(await cluster.events("role.updated")).toContainEqual(expect.objectContaining({ user: "boss", name: "ops" }));
    expect((await boss("/resources/role/ops", { method: "DELETE" })).body).toEqual({ notes: [] });
    expect((await boss("/resources/role/ops")).status).toBe(404);
  });

  test("is the same as YAML, and a stale one is not written over", async () => {
    const yaml = "kind: role\nversion: v7\nmetadata:\n  name: by-yaml\nspec:\n  allow:\n    logins: [ops]\n";
    expect((await boss("/documents/role", { method: "POST", body: { yaml } })).body).toEqual({ name: "by-yaml" });
    const shown = String((await boss("/documents/role/by-yaml")).body.yaml);
    expect(shown).toMatch(/revision: /);
    const changed = shown.replace("- ops", "- dev");
    expect((await boss("/documents/role", { method: "PUT", body: { yaml: changed } })).status).toBe(200);
    expect((await boss("/documents/role", { method: "PUT", body: { yaml: changed } })).body).toMatchObject({ error: { code: "conflict" } });
  });

  test.for(["POST", "PUT"] as const)(
    "as YAML by %s is refused to a user without the right before it is read, once, and for each right",
    async (method) => {
      const before = (await cluster.events("access.denied")).length;
      const refused = await guest("/documents/role", { method, body: { yaml: "{" } });
      expect([refused.status, refused.body]).toMatchObject([403, { error: { code: "denied" } }]);
      const denied = (await cluster.events("access.denied")).slice(before);
      expect(denied).toMatchObject([{ user: "guest", error: expect.stringContaining(method === "POST" ? "create role" : "update role") }]);
      expect((await boss("/documents/role", { method, body: { yaml: "{" } })).body).toMatchObject({ error: { code: "invalid" } });
    },
  );

  test.for([
    ["of another kind than the path", "/resources/lock", role],
    ["with a field that is not known", "/resources/role", { ...role, spec: { allow: { colour: "red" } } }],
    ["without a name", "/resources/role", { ...role, metadata: {} }],
    ["of no kind", "/resources/colour", role],
  ] as const)("%s is refused", async ([, path, body]) => {
    const answer = await boss(path, { method: "POST", body });
    expect([answer.status, answer.body]).toMatchObject([400, { error: { code: "invalid" } }]);
  });
});

test("an access is explained as it is decided", async () => {
  await cluster.putRole("prod", { allow: { logins: ["root"], node_labels: { env: "prod" } } });
  await cluster.admin.putResource({ json: JSON.stringify({ kind: "user", version: "v2", metadata: { name: "eve" }, spec: { roles: ["prod"] } }) });
  const agent = await startTestAgent(cluster, { hostname: "prod-1", labels: { env: "prod" } });
  try {
    const why = async (login: string) => (await boss(`/access?user=eve&kind=ssh&name=prod-1&login=${login}`)).body;
    await expect
      .poll(() => why("root"))
      .toEqual({
        allowed: true,
        reason: "eve may log in as root on prod-1: prod allows it",
        roles: [{ role: "prod", says: "allows" }],
      });
    expect(await why("dev")).toMatchObject({ allowed: false, roles: [{ role: "prod", says: "nothing" }] });
    expect((await boss("/access?user=eve&kind=ssh&name=gone-1")).status).toBe(404);
    expect((await boss("/access?user=nobody&kind=ssh&name=prod-1")).status).toBe(404);
    expect((await boss("/access?user=eve&kind=app&name=gone")).status).toBe(404);
  } finally {
    agent.end();
  }
});

test("the own access to a database is explained by the own roles, and one out of their reach is answered like one that is not there", async () => {
  const labels = { env: "own" };
  await cluster.putRole("analyst", { allow: { db_labels: labels, db_users: ["reader"], db_names: ["shop"] } });
  await cluster.putRole("no-root", { deny: { db_users: ["root"] } });
  await cluster.putRole("hidden", { allow: { db_labels: { env: "vault" }, db_users: ["*"], db_names: ["*"] } });
  const ida = await openBrowser(cluster, "ida", ["analyst", "no-root"]);
  const agent = await startTestAgent(cluster, { hostname: "db-1", credentials: await joinServingHost(cluster, "db-1", "db") });
  try {
    const database = (name: string, env: string) => ({ kind: "db", name, labels: { env }, details: { protocol: "postgres" } });
    agent.send({ type: "resources", resources: [database("orders", "own"), database("vault", "vault")], more: false });
    await expect.poll(async () => (await ida("/databases")).body.databases).toMatchObject([{ name: "orders" }]);
    const why = async (query: string) => (await ida(`/databases/access?${query}`)).body;
    expect(await why("name=orders&db_user=reader&db_name=shop")).toEqual({
      allowed: true,
      reason: "ida may reach orders as reader: analyst allows it",
      roles: [
        { role: "analyst", says: "allows" },
        { role: "no-root", says: "nothing", why: expect.stringContaining("does not allow its labels") },
      ],
    });
    expect(await why("name=orders&db_user=root")).toMatchObject({
      allowed: false,
      reason: "ida may not connect as root: role no-root denies it",
      roles: [
        { role: "analyst", says: "nothing" },
        { role: "no-root", says: "denies" },
      ],
    });
    expect(await why("name=orders&db_user=reader&db_name=wages")).toMatchObject({
      allowed: false,
      reason: "ida may not use database wages on orders: no role lists this database name",
    });
    const unreached = (name: string) => ({
      allowed: false,
      reason: `no agent offers a database "${name}" that you may reach; check db_labels in your roles (analyst, no-root)`,
      roles: [],
    });
    for (const name of ["vault", "nowhere"]) expect(await why(`name=${name}&db_user=reader`)).toEqual(unreached(name));
    const lock = { kind: "lock", version: "v2", metadata: { name: "repair" }, spec: { target: { server_id: agent.id } } };
    expect((await boss("/resources/lock", { method: "POST", body: lock })).status).toBe(200);
    expect(await why("name=orders&db_user=reader&db_name=shop")).toMatchObject({
      allowed: false,
      reason: expect.stringContaining("is locked by lock repair"),
      roles: [{ role: "analyst", says: "allows" }, { role: "no-root" }],
    });
    expect(await why("name=vault&db_user=reader")).toEqual(unreached("vault"));
    expect((await boss("/resources/lock/repair", { method: "DELETE" })).status).toBe(200);
    expect((await ida("/databases/access?name=orders&user=boss")).status).toBe(400);
    expect((await ida("/access?user=ida&kind=db&name=orders")).status).toBe(403);
  } finally {
    agent.end();
  }
});

test("a token comes with the lines that join a host, and its secret is not in the list", async () => {
  const { status, body } = await boss("/tokens", { method: "POST", body: { roles: ["node"], ttl_seconds: 600 } });
  expect(status).toBe(200);
  const secret = String(body.secret);
  expect(body.install).toContain(`--proxy=proxy.example.com:443 --token=${secret} --ca-pin=${cluster.auth.caPin}`);
  expect(body.config).toMatch(new RegExp(`auth_token: "?${secret}"?\n`));
  expect(JSON.stringify((await boss("/resources/token")).body)).not.toContain(secret);
  expect((await guest("/tokens", { method: "POST", body: { roles: ["node"] } })).status).toBe(403);
});

test("an invite link leads to this proxy, and ends the user's sessions in browsers", async () => {
  const dora = await openBrowser(cluster, "dora", ["access"]);
  expect((await dora("/users/dora/invite", { method: "POST" })).status).toBe(403);
  const { body } = await boss("/users/dora/invite", { method: "POST" });
  expect(body.url).toMatch(/^https:\/\/proxy\.example\.com\/web\/invite\/[\w-]+$/);
  expect((await dora("/me")).status).toBe(401);
});

test("the audit log goes on where the last answer ended", async () => {
  const { body: first } = await boss("/events?newest=1");
  expect(first.events).toHaveLength(1);
  await boss("/resources/lock", {
    method: "POST",
    body: { kind: "lock", version: "v2", metadata: { name: "l1" }, spec: { target: { user: "nobody-here" } } },
  });
  const { body: later } = await boss(`/events?cursor=${encodeURIComponent(String(first.resume))}&event=lock.created`);
  expect(later.events).toMatchObject([{ event: "lock.created", user: "boss", name: "l1" }]);
  expect((await boss("/events?from=yesterday")).body).toMatchObject({ error: { code: "invalid" } });
});

test("sessions, recordings, applications, databases, clusters and the plan of updates are there, and empty", async () => {
  const answers = await Promise.all(
    ["/running-sessions", "/recordings", "/apps", "/databases", "/kube-clusters", "/upgrades/plan"].map(async (path) => await boss(path)),
  );
  expect(answers.map(({ body }) => body)).toMatchObject([
    { sessions: [] },
    { recordings: [], cursor: "" },
    { apps: [] },
    { databases: [] },
    { clusters: [] },
    { staged: false },
  ]);
});

test("applications have the ports of which their users choose one", async () => {
  await cluster.putRole("dev", { allow: { app_labels: { env: "test" } } });
  const ada = await openBrowser(cluster, "ada", ["dev"]);
  const agent = await startTestAgent(cluster, { hostname: "app-1", credentials: await joinServingHost(cluster, "app-1", "app") });
  try {
    const app = (name: string, details: Readonly<Record<string, string>>) => ({ kind: "app", name, labels: { env: "test" }, details });
    const resources = [app("orders", { scheme: "tcp" }), app("pg", { scheme: "tcp", tcp_ports: "5432,6000-6010" })];
    agent.send({ type: "resources", resources, more: false });
    await expect.poll(async () => ((await ada("/apps")).body.apps as unknown[]).length).toBe(2);
    const { apps } = (await ada("/apps")).body;
    expect(apps).toMatchObject([
      { name: "orders", type: "tcp" },
      { name: "pg", type: "tcp", ports: "5432,6000-6010" },
    ]);
    expect(apps).not.toMatchObject([{ ports: expect.anything() }, {}]);
  } finally {
    agent.end();
  }
});
