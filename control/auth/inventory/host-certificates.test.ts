import { createPrivateKey, X509Certificate } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { fromSshCertificate } from "../../../core/identity/ssh-identity.ts";
import { parseCertificateLine } from "../../../core/ssh/certificate.ts";
import { joinFacts, joinHost, openTestAuth } from "../../../test/inside/open-auth.ts";
import { generateKeys, publicKeys } from "../../../test/inside/user-keys.ts";
import { openSqlite } from "../../storage/sqlite.ts";
import { openCluster } from "../open-cluster.ts";

test("a host that renames itself to another one followed by the cluster keeps its own name, and users get a warning", async () => {
  await using t = await openTestAuth();
  await joinHost(t, "web-1");
  const evil = await joinHost(t, "harmless");
  const answer = await evil.client.renewHost({ hostname: "web-1.test", names: ["web-1.test", "free.test"], ...publicKeys(generateKeys()) });
  const principals = parseCertificateLine(answer.sshCertificate).principals.filter((name) => !name.startsWith(evil.id));
  expect(principals).toEqual(["harmless", "free.test", "harmless.test"]);
  expect(answer.refusedNames).toEqual([expect.stringMatching(/^"web-1\.test" is the name of a node: a node cannot have it \(choose another/)]);
  const [refused] = await t.events("instance.renew").then((events) => events.filter(({ success }) => success === false));
  expect(refused).toMatchObject({ server_id: evil.id, error: '"web-1.test" is the name of a node: a node cannot have it' });
  const { warnings } = await t.admin.getCluster({});
  expect(warnings).toContainEqual(expect.stringMatching(new RegExp(`^host ${evil.id} did not get a name .*"web-1.test" is the name of a node`)));
  const { instancesJson } = await t.admin.listInventory({});
  const told = instancesJson.map((json) => JSON.parse(json) as { server_id: string; refused_names?: string[] });
  expect(told.find(({ server_id: id }) => id === evil.id)?.refused_names).toHaveLength(1);
  // What it has is nobody else's, and it may drop what it was refused.
  await expect(joinHost(t, "other", { names: ["free.test"] })).rejects.toMatchObject({ code: "denied" });
  await evil.client.renewHost({ hostname: "harmless", names: [], ...publicKeys(generateKeys()) });
  expect((await t.admin.getCluster({})).warnings).toEqual([]);
  await joinHost(t, "other", { names: ["free.test"] });
});

test("a host's own name below the cluster's is stored in short, and requesting it by public_addr is not a problem", async () => {
  await using t = await openTestAuth();
  const { secret } = await t.admin.createToken({ roles: ["node"] });
  const keys = generateKeys();
  const facts = joinFacts("node", secret, { hostname: "db.test", names: ["db.test", "10.0.0.7"], ...publicKeys(keys) });
  const { hostId, sshCertificate, tlsCertificate } = await t.connect().join(facts);
  const fields = parseCertificateLine(sshCertificate);
  expect(fields.principals).toEqual([hostId, "db", "10.0.0.7", `${hostId}.test`, "db.test"]);
  expect(fromSshCertificate(fields)).toMatchObject({ names: ["db", "10.0.0.7"] });
  const { subjectAltName } = new X509Certificate(tlsCertificate);
  expect(subjectAltName).toBe(`DNS:${hostId}, DNS:db, IP Address:10.0.0.7, DNS:${hostId}.test, DNS:db.test, DNS:node.platform.internal`);
  expect(new X509Certificate(tlsCertificate).checkPrivateKey(createPrivateKey(keys.tlsPrivateKey))).toBe(true);
});

test.for(["internal", "platform.internal", "eu.Platform.internal"])("no new cluster is called %s; one that is keeps its name", async (name) => {
  const folder = mkdtempSync(join(tmpdir(), "platform-cluster-"));
  const storage = openSqlite({ path: join(folder, "auth", "state.sqlite") });
  await expect(openCluster(storage, name)).rejects.toMatchObject({ code: "invalid", message: expect.stringContaining(`cannot be named ${name}`) });
  const facts = { name, auth_id: crypto.randomUUID(), proxy_id: crypto.randomUUID() };
  await storage.put({ key: "/cluster/facts", value: JSON.stringify(facts) });
  expect(await openCluster(storage, name)).toMatchObject({ name });
  await storage.close();
  rmSync(folder, { recursive: true });
});
