import { X509Certificate } from "node:crypto";
import { duplexPair } from "node:stream";
import { expect, test } from "vitest";
import type { AuthClient } from "../../../core/api/auth-client.ts";
import { renewHost } from "../../../core/api/host-credentials.ts";
import { fromSshCertificate } from "../../../core/identity/ssh-identity.ts";
import { parseCertificateLine } from "../../../core/ssh/certificate.ts";
import { checkCertificate } from "../../../core/ssh/check-certificate.ts";
import { fromOpensshPrivate, publicLine } from "../../../core/ssh/keys.ts";
import { openTestAuth, type TestAuth } from "../../../test/inside/open-auth.ts";
import { generateKeys, publicKeys } from "../../../test/inside/user-keys.ts";

async function joined(t: TestAuth, role: "node" | "proxy", roles: string[] = [role]) {
  const { secret } = await t.admin.createToken({ roles });
  const keys = generateKeys();
  const ask = { token: secret, role, hostname: "web1", names: ["web1.example.com", "192.0.2.1"], version: "1", ...publicKeys(keys) };
  const answer = await t.connect().join(ask);
  return { ...answer, client: t.connect({ certificate: answer.tlsCertificate, privateKey: keys.tlsPrivateKey }) };
}

const nodeCalls: readonly [name: string, call: (client: AuthClient) => Promise<unknown>][] = [
  ["getResource", (client) => client.getResource({ kind: "role", name: "access" })],
  ["putResource", (client) => client.putResource({ json: "{}" })],
  ["deleteResource", (client) => client.deleteResource({ kind: "role", name: "access" })],
  ["createToken", (client) => client.createToken({ roles: ["node"] })],
  ["createInvite", (client) => client.createInvite({ user: "alice" })],
  ["watchHosts", async (client) => await client.watchHosts({})[Symbol.asyncIterator]().next()],
  ["findDirectHosts", (client) => client.findDirectHosts({ target: "web1" })],
  ["listEvents", (client) => client.listEvents({})],
];
test.for(nodeCalls)("a node may not call %s", async ([, call]) => {
  await using t = await openTestAuth();
  const { client } = await joined(t, "node");
  const thrown = await call(client).catch((error: unknown) => error);
  expect(String((thrown as { rawMessage?: string; message?: string }).message)).toMatch(/access denied: a host of role node may not (call|delete)/);
});

test("an agent sees the applications of the cluster if its token is for them, and no other kind", async () => {
  await using t = await openTestAuth();
  const { client } = await joined(t, "node", ["node", "app"]);
  expect((await client.listResources({ kind: "app" })).resources).toEqual([]);
  for (const kind of ["db", "kube_cluster", "node", "role", "user"])
    await expect(client.listResources({ kind })).rejects.toMatchObject({ code: "denied" });
});

test("a proxy looks at nodes and roles, and changes nothing", async () => {
  await using t = await openTestAuth();
  const { client } = await joined(t, "proxy");
  await client.listResources({ kind: "node" });
  await client.listResources({ kind: "role" });
  await expect(client.listResources({ kind: "user" })).rejects.toMatchObject({ code: "denied" });
  await expect(client.putResource({ json: "{}" })).rejects.toMatchObject({ code: "denied" });
});

test("a host's certificates name it, its role and its names, and are renewed with the same id", async () => {
  await using t = await openTestAuth();
  const { client, hostId, sshCertificate, tlsCertificate, cluster } = await joined(t, "node");
  const ssh = parseCertificateLine(sshCertificate);
  checkCertificate(ssh, { type: "host", authorities: cluster?.hostCaSsh ?? [], principal: `${hostId}.test`, now: t.now() });
  expect(fromSshCertificate(ssh)).toMatchObject({ kind: "host", id: hostId, role: "node", names: ["web1", "web1.example.com", "192.0.2.1"] });
  const tls = new X509Certificate(tlsCertificate);
  for (const name of [hostId, `${hostId}.test`, "web1", "web1.test", "web1.example.com", "node.platform.internal"])
    expect(tls.checkHost(name), name).toBeDefined();
  expect(tls.checkIP("192.0.2.1")).toBeDefined();
  for (const name of ["auth.platform.internal", "proxy.platform.internal", "web2"]) expect(tls.checkHost(name), name).toBeUndefined();
  expect(tls.validToDate.getTime() - t.now().getTime()).toBe(14 * 24 * 3_600_000);
  const renewed = await client.renewHost({ hostname: "web2", ...publicKeys(generateKeys()) });
  expect(renewed.hostId).toBe(hostId);
  expect(new X509Certificate(renewed.tlsCertificate).checkHost("web2")).toBeDefined();
  expect(await t.events("instance.renew")).toMatchObject([{ success: true, server_id: hostId, code: "TJ003I" }]);
});

test("a request of more than a megabyte is refused", async () => {
  await using t = await openTestAuth();
  await expect(t.connect().getInvite({ token: "x".repeat(1_000_001) })).rejects.toMatchObject({ code: "limit" });
});

test("a peer that speaks no TLS is cut off, and the service goes on", async () => {
  await using t = await openTestAuth();
  for (const bytes of ["GET / HTTP/1.1\r\n\r\n", "SSH-2.0-x\r\n", Buffer.alloc(20_000, 0x16)]) {
    const [near, far] = duplexPair();
    const closed = new Promise<void>((resolve) => far.once("close", resolve));
    near.on("error", () => {}).resume();
    t.auth.inject(far, "203.0.113.9");
    near.write(bytes);
    await closed;
  }
  await t.connect().getCluster({});
});

test("the proxy in the same process gets its identity without a token, and keeps its id and its SSH key", async () => {
  await using t = await openTestAuth();
  const [first, twin] = await Promise.all([t.auth.issueProxy(["proxy.example.com"]), t.auth.issueProxy(["proxy.example.com"])]);
  await t.restart();
  const second = await t.auth.issueProxy(["proxy.example.com"]);
  expect(second.hostId).toBe(first.hostId);
  const keyOf = ({ sshPrivateKey }: typeof first): string => publicLine(fromOpensshPrivate(sshPrivateKey), "");
  expect([twin, second].map(keyOf)).toEqual([keyOf(first), keyOf(first)]);
  const client = t.connect({ certificate: second.tlsCertificate, privateKey: second.tlsPrivateKey });
  await client.getAccess({});
  expect(new X509Certificate(second.tlsCertificate).checkHost("proxy.platform.internal")).toBeDefined();
  const renewed = await renewHost(client, { credentials: second, hostname: "control", names: [] });
  expect(keyOf(renewed)).toBe(keyOf(first));
  expect([renewed.sshCertificate, renewed.tlsPrivateKey]).not.toEqual([second.sshCertificate, second.tlsPrivateKey]);
});
