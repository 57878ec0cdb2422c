import { mkdir, mkdtempDisposable, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { TlsCredentials } from "../../profile/profile.ts";
import { saveProfile } from "../../profile/save-profile.ts";
import { storeCertificate } from "../../profile/store-certificate.ts";
import { profileOf } from "../../profile/testing/profile-of.ts";
import { execCredential } from "./exec-credential.ts";
import { type KubePlace, kubeCertificate, storedKubeCertificate } from "./kube-certificate.ts";
import { localCertificates } from "./local-certificates.ts";

const proxy = { host: "proxy.example.com", port: 443 };

async function issued(now = new Date()): Promise<TlsCredentials> {
  return (await localCertificates([], now)).server;
}

async function place(folder: string): Promise<KubePlace & { readonly file: string }> {
  const file = join(folder, "proxy.example.com_443", "certs", "kube", "prod.pem");
  await saveProfile(folder, profileOf({ proxy }), "line");
  await mkdir(dirname(file), { recursive: true });
  return { home: folder, proxy, kube: "prod", file };
}

test("forty at once get one certificate, and later ones read it", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "platform-kube-certificate-"));
  // As after a login: without a folder for certificates.
  await saveProfile(folder.path, profileOf({ proxy }), "line");
  const where = { home: folder.path, proxy, kube: "prod" };
  let count = 0;
  const renew = async () => {
    count += 1;
    const certificate = await issued();
    await storeCertificate(folder.path, proxy, { kind: "kube", name: "prod", ...certificate });
    return certificate;
  };
  const all = await Promise.all(Array.from({ length: 40 }, () => kubeCertificate(where, renew)));
  expect(count).toBe(1);
  expect(new Set(all.map(({ certificate }) => certificate)).size).toBe(1);
  expect(await kubeCertificate(where, () => expect.fail("asked again"))).toEqual(all[0]);
});

test("after a logout it is the renewal that fails, and nothing is made", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "platform-kube-certificate-"));
  const failure = new PlatformError("unauthenticated", "not logged in");
  const asked = kubeCertificate({ home: folder.path, proxy, kube: "prod" }, () => Promise.reject(failure));
  await expect(asked).rejects.toBe(failure);
  expect(await readdir(folder.path)).toEqual([]);
});

test("when it fails, those that waited fail with the same words, and the next one tries again", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "platform-kube-certificate-"));
  const where = await place(folder.path);
  let count = 0;
  const fail = async (): Promise<never> => {
    count += 1;
    throw new PlatformError("unauthenticated", "the login expired", { hint: "tsh login" });
  };
  const all = await Promise.allSettled(Array.from({ length: 10 }, () => kubeCertificate(where, fail)));
  expect(count).toBe(1);
  for (const one of all)
    expect(one).toMatchObject({ status: "rejected", reason: { code: "unauthenticated", message: "the login expired", hint: "tsh login" } });
  await expect(kubeCertificate(where, fail)).rejects.toMatchObject({ code: "unauthenticated" });
  expect(count).toBe(2);
});

test.for<readonly [what: string, contents: () => Promise<string>]>([
  ["nothing", async () => ""],
  ["an expired one", async () => both(await issued(new Date(Date.now() - 40 * 86_400_000)))],
  ["half a file", async () => both(await issued()).slice(0, 700)],
  ["one without its key", async () => (await issued()).certificate],
  [
    "something else",
    async () => "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----\nAA\n-----END PRIVATE KEY-----\n",
  ],
])("%s is not a certificate to use", async ([, contents]) => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "platform-kube-certificate-"));
  const where = await place(folder.path);
  await writeFile(where.file, await contents());
  expect(await storedKubeCertificate(where, new Date())).toBeUndefined();
  await rm(where.file);
  expect(await storedKubeCertificate(where, new Date())).toBeUndefined();
});

function both({ certificate, privateKey }: { readonly certificate: string; readonly privateKey: string }): string {
  return `${certificate}${privateKey}`;
}

test("the answer for kubectl is in the version that it asks for, and otherwise in the one that all know", async () => {
  const certificate = await issued(new Date("2026-01-01T00:00:00Z"));
  const answer = (info?: string) => JSON.parse(execCredential(certificate, info)) as { readonly apiVersion: string; readonly status: unknown };
  expect(answer()).toEqual({
    kind: "ExecCredential",
    apiVersion: "client.authentication.k8s.io/v1beta1",
    spec: {},
    status: {
      expirationTimestamp: "2026-01-31T00:00:00Z",
      clientCertificateData: certificate.certificate,
      clientKeyData: certificate.privateKey,
    },
  });
  expect(answer('{"apiVersion":"client.authentication.k8s.io/v1"}').apiVersion).toBe("client.authentication.k8s.io/v1");
  for (const odd of ["", "{", "7", '{"apiVersion":"evil/v9"}']) expect(answer(odd).apiVersion).toBe("client.authentication.k8s.io/v1beta1");
});
