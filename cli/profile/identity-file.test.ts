import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import { PlatformError } from "../../core/errors/platform-error.ts";
import type { UserIdentity } from "../../core/identity/identity.ts";
import { toSshCertificate } from "../../core/identity/ssh-identity.ts";
import { certificateLine, signCertificate } from "../../core/ssh/certificate.ts";
import { generateSshKey, toOpensshPrivate } from "../../core/ssh/keys.ts";
import { insideAuthorities } from "../../test/inside/authorities.ts";
import { decodeIdentityFile, encodeIdentityFile, type IdentityParts, loadIdentityFile } from "./identity-file.ts";

const proxy = { host: "proxy.example.com", port: 443 };
const validBefore = new Date(Math.floor(Date.now() / 1000) * 1000 + 600_000);
const identity: UserIdentity = {
  kind: "user",
  name: "robot",
  roles: ["access"],
  traits: { team: ["db"] },
  principals: { ssh: { login: ["deploy"] } },
  cluster: "example",
  validBefore,
};
const [key, ca] = [generateSshKey(), generateSshKey()];
const certificate = signCertificate({
  fields: toSshCertificate(identity),
  key: key.privateKey,
  authority: ca.privateKey,
  validAfter: new Date(Date.now() - 60_000),
});
const { kind: _kind, name, ...certified } = identity;
const authorities = await insideAuthorities(identity.cluster);
const tls = await authorities.user(name, certified);
const parts: IdentityParts = {
  secrets: {
    sshPrivateKey: toOpensshPrivate(key.privateKey),
    sshCertificate: certificateLine(certificate),
    tlsPrivateKey: tls.tlsPrivateKey,
    tlsCertificate: tls.tlsCertificate,
  },
  cluster: "example",
  hostCaPem: [authorities.hostCaPem],
  hostCaSsh: [ca.publicLine],
};
const text = encodeIdentityFile(parts);
const dir = await mkdtemp(join(tmpdir(), "platform-identity-"));
afterAll(() => rm(dir, { recursive: true }));

const decode = (file: string) => decodeIdentityFile(file, { file: "robot.pem", proxy });

test("what was written is read as a profile of the proxy", () => {
  const { facts, hostCaPem } = decode(text);
  const { principals, traits } = identity;
  expect(facts).toMatchObject({ proxy, user: "robot", cluster: "example", roles: ["access"], traits, principals, validUntil: validBefore });
  expect(facts.hostCaSsh.map((line) => line.split(" ")[1])).toEqual([ca.publicLine.split(" ")[1]]);
  expect(hostCaPem).toHaveLength(1);
});

test("a file for one resource has no SSH parts, and says for which", async () => {
  const route = { kind: "app", name: "orders" };
  const limited = await authorities.user(name, { ...certified, route });
  const secrets = { sshPrivateKey: "", sshCertificate: "", tlsPrivateKey: limited.tlsPrivateKey, tlsCertificate: limited.tlsCertificate };
  const { facts, secrets: read } = decode(encodeIdentityFile({ ...parts, secrets }));
  expect(facts).toMatchObject({ user: "robot", route, validUntil: validBefore });
  expect(read).toMatchObject({ sshPrivateKey: "", sshCertificate: "" });
  expect(() => decode(encodeIdentityFile({ ...parts, secrets: { ...secrets, tlsCertificate: tls.tlsCertificate } }))).toThrow(/it holds no SSH key/);
});

const without = (pattern: RegExp): string => text.replace(pattern, "");
test.for([
  [without(/-----BEGIN OPENSSH[\s\S]*?-----END OPENSSH PRIVATE KEY-----\n/), /it holds no SSH key/],
  [without(/-----BEGIN PRIVATE[\s\S]*?-----END PRIVATE KEY-----\n/), /it holds no TLS key/],
  [without(/-----BEGIN CERTIFICATE[\s\S]*-----END CERTIFICATE-----\n/), /it holds no certificate/],
  [without(/^\S+-cert-v01@openssh\.com .*\n/m), /it holds no SSH certificate/],
  [without(/^@cert-authority .*\n/m), /it names no host authority/],
  [text.replace(parts.secrets.sshPrivateKey.trim(), toOpensshPrivate(generateSshKey().privateKey).trim()), /do not belong together/],
  ["", /it holds no SSH key/],
] as const)("a part that is missing or another's is named: %#", ([file, words]) => {
  expect(() => decode(file)).toThrow(words);
});

test("whatever is cut or changed: a profile, or a refusal that quotes nothing of the file", () => {
  const secret = parts.secrets.sshPrivateKey.split("\n")[3] ?? "";
  fc.assert(
    fc.property(fc.nat(text.length), fc.nat(80), fc.string({ maxLength: 40 }), (at, length, instead) => {
      try {
        decode(text.slice(0, at) + instead + text.slice(at + length));
      } catch (thrown) {
        if (!(thrown instanceof PlatformError)) throw thrown;
        expect(thrown.code).toBe("invalid");
        expect(thrown.message).not.toContain(secret.slice(0, 20));
      }
    }),
  );
});

test("a file that others may read is refused, and so is one that is too long or not there", async () => {
  const file = join(dir, "robot.pem");
  await writeFile(file, text, { mode: 0o600 });
  expect((await loadIdentityFile(file, proxy)).facts.user).toBe("robot");
  await chmod(file, 0o640);
  await expect(loadIdentityFile(file, proxy)).rejects.toThrow(/other users may read or change it \(mode 0640\)/);
  await chmod(file, 0o600);
  await writeFile(file, "x".repeat(1_048_577));
  await expect(loadIdentityFile(file, proxy)).rejects.toThrow(/too long/);
  await expect(loadIdentityFile(join(dir, "none"), proxy)).rejects.toThrow(/could not read the identity file/);
});
