import { generateKeyPairSync } from "node:crypto";
import { chmod, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import "reflect-metadata";
import { X509CertificateGenerator } from "@peculiar/x509";
import { afterEach, beforeEach, expect, test } from "vitest";
import { toSshCertificate } from "../identity/ssh-identity.ts";
import { certificateLine, signCertificate } from "../ssh/certificate.ts";
import { generateSshKey, toOpensshPrivate } from "../ssh/keys.ts";
import { loadCredentials, saveCredentials } from "./credential-store.ts";
import type { HostCredentials } from "./host-credentials.ts";

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "platform-store-"));
  file = join(folder, "agent", "credentials.json");
});
afterEach(() => rm(folder, { recursive: true }));

async function credentials(): Promise<HostCredentials> {
  const ssh = generateSshKey();
  const hostId = "7e55a0a1-3a70-4cf0-8f0e-0f3b1f2d9a11";
  const validBefore = new Date(Date.now() + 3_600_000);
  const fields = toSshCertificate({ kind: "host", id: hostId, role: "node", cluster: "example", names: [], validBefore });
  const sshCertificate = certificateLine(
    signCertificate({ fields, key: ssh.privateKey, authority: generateSshKey().privateKey, validAfter: new Date() }),
  );
  const { tlsPrivateKey, tlsCertificate } = await tlsPair(validBefore);
  const lists = { hostCaPem: ["a"], userCaPem: ["b"], hostCaSsh: ["c"], userCaSsh: ["d"] };
  return {
    hostId,
    role: "node",
    cluster: "example",
    sshPrivateKey: toOpensshPrivate(ssh.privateKey),
    sshCertificate,
    tlsPrivateKey,
    tlsCertificate,
    ...lists,
  };
}

async function tlsPair(notAfter: Date) {
  const keys = await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, ["sign", "verify"]);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: "CN=x",
    notAfter,
    keys,
    signingAlgorithm: { name: "ECDSA", hash: "SHA-256" },
  });
  const der = Buffer.from(await crypto.subtle.exportKey("pkcs8", keys.privateKey));
  const tlsPrivateKey = `-----BEGIN PRIVATE KEY-----\n${der.toString("base64")}\n-----END PRIVATE KEY-----\n`;
  return { tlsPrivateKey, tlsCertificate: certificate.toString("pem") };
}

test("saved credentials are loaded, and only their owner may read them", async () => {
  expect(await loadCredentials(file)).toBeUndefined();
  const saved = await credentials();
  await saveCredentials(file, saved);
  expect(await loadCredentials(file)).toEqual(saved);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect((await stat(join(folder, "agent"))).mode & 0o777).toBe(0o700);
});

test("a newer file replaces the old one atomically; a leftover of a crash does not prevent it", async () => {
  await saveCredentials(file, await credentials());
  await writeFile(`${file}.${process.pid}.new`, "half");
  const newer = await credentials();
  await saveCredentials(file, newer);
  expect(await loadCredentials(file)).toEqual(newer);
  expect(await readdir(join(folder, "agent"))).toEqual(["credentials.json"]);
});

test.for([0o640, 0o604, 0o620, 0o666])("a file of mode %o is refused", async (mode) => {
  await saveCredentials(file, await credentials());
  await chmod(file, mode);
  await expect(loadCredentials(file)).rejects.toMatchObject({ code: "invalid", hint: expect.stringContaining("chmod 600") });
});

test("a symbolic link is refused", async () => {
  await saveCredentials(file, await credentials());
  await symlink(file, join(folder, "link.json"));
  await expect(loadCredentials(join(folder, "link.json"))).rejects.toMatchObject({ code: "invalid" });
});

test("a file torn at any byte is refused with what to do, and its keys stay out of the error", async () => {
  await saveCredentials(file, await credentials());
  const whole = await readFile(file);
  for (const length of [0, 1, Math.floor(whole.length / 2), whole.length - 2]) {
    await writeFile(file, whole.subarray(0, length));
    const error = await loadCredentials(file).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "invalid", message: expect.stringContaining("damaged"), hint: expect.stringContaining("join token") });
    expect(JSON.stringify(error) + String((error as Error).cause)).not.toContain("PRIVATE KEY");
  }
});

test("keys and certificates that do not belong together are refused", async () => {
  const one = await credentials();
  const otherSsh = { ...one, sshPrivateKey: (await credentials()).sshPrivateKey };
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const otherTls = { ...one, tlsPrivateKey: privateKey.export({ type: "pkcs8", format: "pem" }).toString() };
  for (const mixed of [otherSsh, otherTls]) {
    await saveCredentials(file, mixed);
    await expect(loadCredentials(file)).rejects.toMatchObject({ code: "invalid", message: expect.stringContaining("damaged") });
  }
});
