import { X509Certificate } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { connect as connectTcp } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openAuthClient } from "../../core/api/auth-client.ts";
import { trustByPin } from "../../core/api/trust.ts";
import { fromSshCertificate } from "../../core/identity/ssh-identity.ts";
import { parseCertificateLine } from "../../core/ssh/certificate.ts";
import { checkCertificate } from "../../core/ssh/check-certificate.ts";
import { addUser, openTestAuth } from "../../test/inside/open-auth.ts";
import { generateKeys, publicKeys } from "../../test/inside/user-keys.ts";
import { codeAt } from "../../test/world/one-time-code.ts";

test("a stranger learns the cluster over TLS, and nothing else", async () => {
  await using t = await openTestAuth();
  const stranger = t.connect();
  const cluster = await stranger.getCluster({});
  expect(cluster.clusterName).toBe("test");
  expect(cluster.caPins).toEqual([t.auth.caPin]);
  await expect(stranger.listResources({ kind: "user" })).rejects.toMatchObject({ code: "unauthenticated" });
  await expect(stranger.getAccess({})).rejects.toMatchObject({ code: "unauthenticated" });
});

test("a user logs in and gets certificates with the allowed logins, capped in time", async () => {
  await using t = await openTestAuth();
  const alice = await addUser(t, "alice", { roles: ["access"], logins: ["root", "alice"] });
  const keys = generateKeys();
  const code = codeAt(alice.otpauthUri, t.now());
  const answer = await t.connect().login({ user: "alice", password: alice.password, code, ttlSeconds: 999_999, ...publicKeys(keys) });
  const certificate = parseCertificateLine(answer.sshCertificate);
  checkCertificate(certificate, { type: "user", authorities: answer.cluster?.userCaSsh ?? [], principal: "root", now: t.now() });
  expect(fromSshCertificate(certificate)).toMatchObject({
    kind: "user",
    name: "alice",
    roles: ["access"],
    principals: { ssh: { login: ["root", "alice"] } },
  });
  const tls = new X509Certificate(answer.tlsCertificate);
  expect(tls.validToDate.getTime() - t.now().getTime()).toBe(30 * 3_600_000);
  expect(certificate.validBefore).toEqual(tls.validToDate);
});

test("authorities, users and the cluster's name survive a restart", async () => {
  await using t = await openTestAuth();
  const alice = await addUser(t, "alice", { roles: ["access"] });
  const pin = t.auth.caPin;
  await t.restart();
  expect(t.auth.caPin).toBe(pin);
  const code = codeAt(alice.otpauthUri, t.now());
  await t.connect().login({ user: "alice", password: alice.password, code, ...publicKeys(generateKeys()) });
});

test("the TCP listener serves its chain for the pin, and admin.json opens everything", async () => {
  await using t = await openTestAuth({ now: () => new Date() });
  const address = await t.auth.listen({ host: "127.0.0.1", port: 0 });
  const open = async () => connectTcp(address.port, address.host);
  const authority = await trustByPin({ open, pins: [t.auth.caPin] });
  expect(authority.trim()).toBe(t.auth.hostCaPem.trim());
  await expect(trustByPin({ open, pins: [`sha256:${"0".repeat(64)}`] })).rejects.toMatchObject({ code: "unauthenticated" });
  const path = join(t.dataDir, "auth", "admin.json");
  expect(statSync(path).mode & 0o777).toBe(0o600);
  const admin = JSON.parse(readFileSync(path, "utf8")) as { certificate: string; privateKey: string; ca: string[]; address: string };
  expect(admin.address).toBe(`127.0.0.1:${address.port}`);
  using connection = openAuthClient({ open, ca: admin.ca, credentials: admin });
  const { resources } = await connection.client.listResources({ kind: "role" });
  expect(resources.map(({ name }) => name)).toEqual(["access", "auditor", "editor"]);
});
