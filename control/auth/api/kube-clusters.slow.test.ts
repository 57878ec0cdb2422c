import { expect, test } from "vitest";
import { tokenServices } from "../../../core/resources/token.ts";
import { addUser, loggedIn, openTestAuth, type TestAuth } from "../../../test/inside/open-auth.ts";
import { generateKeys, publicKeys } from "../../../test/inside/user-keys.ts";

const kubeconfig = Buffer.from("apiVersion: v1\nkind: Config\nusers: [{name: u, user: {token: very-secret}}]\n").toString("base64");
const prod = { kind: "kube_cluster", version: "v3", metadata: { name: "prod", labels: { env: "prod" } }, spec: { kubeconfig } };
const named = { kind: "kube_cluster", name: "prod" };

async function agent(t: TestAuth, roles: string[], names: readonly string[] = []) {
  const resources = names.length === 0 ? [] : [{ kind: "kube", names: [...names] }];
  const { secret } = await t.admin.createToken({ roles, resources });
  const keys = generateKeys();
  const joined = await t
    .connect()
    .join({ token: secret, role: "node", hostname: "web1", version: "1", services: [...tokenServices(roles)], ...publicKeys(keys) });
  return t.connect({ certificate: joined.tlsCertificate, privateKey: keys.tlsPrivateKey });
}

test("a kubeconfig is shown on request to those who may read the kind, and to agents that may serve clusters", async () => {
  await using t = await openTestAuth();
  const stored = await t.admin.putResource({ json: JSON.stringify(prod) });
  expect(JSON.parse(stored.json)).toMatchObject({ spec: {} });
  const plain = [await t.admin.getResource(named), ...(await t.admin.listResources({ kind: "kube_cluster" })).resources];
  for (const { json } of plain) expect(json).not.toContain(kubeconfig);
  const whole = [
    await t.admin.getResource({ ...named, withSecrets: true }),
    ...(await t.admin.listResources({ kind: "kube_cluster", withSecrets: true })).resources,
    ...(await (await agent(t, ["kube"])).listResources({ kind: "kube_cluster" })).resources,
  ];
  expect(whole.length).toBe(3);
  for (const { json } of whole) expect(JSON.parse(json)).toMatchObject({ spec: { kubeconfig } });
  for (const roles of [["node"], ["app", "db"]]) {
    await expect((await agent(t, roles)).listResources({ kind: "kube_cluster", withSecrets: true })).rejects.toMatchObject({ code: "denied" });
  }
});

test("a user who may list clusters and not read them gets no secret", async () => {
  await using t = await openTestAuth();
  await t.admin.putResource({ json: JSON.stringify(prod) });
  const spec = { allow: { rules: [{ resources: ["kube_cluster"], verbs: ["list"] }] } };
  await t.admin.putResource({ json: JSON.stringify({ kind: "role", version: "v7", metadata: { name: "lister" }, spec }) });
  const lister = await loggedIn(t, await addUser(t, "ann", { roles: ["lister"] }));
  expect((await lister.listResources({ kind: "kube_cluster" })).resources.map(({ json }) => JSON.parse(json).spec)).toEqual([{}]);
  await expect(lister.listResources({ kind: "kube_cluster", withSecrets: true })).rejects.toMatchObject({ code: "denied" });
});

test("a cluster that is written without its kubeconfig keeps the stored one; a new one needs one", async () => {
  await using t = await openTestAuth();
  const relabelled = { ...prod, metadata: { name: "prod", labels: { env: "test" } }, spec: {} };
  await expect(t.admin.putResource({ json: JSON.stringify(relabelled) })).rejects.toMatchObject({ code: "invalid" });
  await t.admin.putResource({ json: JSON.stringify(prod) });
  await t.admin.putResource({ json: JSON.stringify(relabelled), overwrite: true });
  const { json } = await t.admin.getResource({ ...named, withSecrets: true });
  expect(JSON.parse(json)).toMatchObject({ metadata: { labels: { env: "test" } }, spec: { kubeconfig } });
  for (const spec of [{ kubeconfig: "not base64" }, { kubeconfig: "" }, { kubeconfig: Buffer.from([0xff, 0xfe]).toString("base64") }])
    await expect(t.admin.putResource({ json: JSON.stringify({ ...prod, spec }), overwrite: true })).rejects.toMatchObject({ code: "invalid" });
});

test("an agent whose join token names other clusters gets no kubeconfig of this one, by a list or by its name", async () => {
  await using t = await openTestAuth();
  await t.admin.putResource({ json: JSON.stringify(prod) });
  await t.admin.putResource({ json: JSON.stringify({ ...prod, metadata: { name: "dev-1" } }) });
  const limited = await agent(t, ["kube"], ["dev-*"]);
  expect((await limited.listResources({ kind: "kube_cluster", withSecrets: true })).resources.map(({ name }) => name)).toEqual(["dev-1"]);
  await expect(limited.getResource({ ...named, withSecrets: true })).rejects.toMatchObject({ code: "denied" });
  await expect(limited.getResource(named)).rejects.toMatchObject({ code: "denied" });
});

test("limits of a join token are shown with it; a kind that hosts do not offer is refused", async () => {
  await using t = await openTestAuth();
  const { token } = await t.admin.createToken({ roles: ["kube"], resources: [{ kind: "kube", names: ["prod"] }] });
  expect(JSON.parse(token?.json ?? "")).toMatchObject({ spec: { resources: { kube: ["prod"] } } });
  for (const resources of [[{ kind: "ssh", names: ["web-1"] }], [{ kind: "kube", names: [] }]])
    await expect(t.admin.createToken({ roles: ["kube"], resources })).rejects.toMatchObject({ code: "invalid" });
});
