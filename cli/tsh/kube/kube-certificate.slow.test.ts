import { mkdir, mkdtempDisposable, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { encodeExecFile } from "../../profile/exec-credential.ts";
import type { TlsCredentials } from "../../profile/profile.ts";
import { saveProfile } from "../../profile/save-profile.ts";
import { storeCertificate } from "../../profile/store-certificate.ts";
import { profileOf } from "../../profile/testing/profile-of.ts";
import { type KubePlace, kubeCertificate, storedKubeCertificate } from "./kube-certificate.ts";
import { localCertificates } from "./local-certificates.ts";

const proxy = { host: "proxy.example.com", port: 443 };

async function issued(now = new Date()): Promise<TlsCredentials> {
  return (await localCertificates([], now)).server;
}

async function place(folder: string): Promise<KubePlace & { readonly file: string }> {
  const file = join(folder, "proxy.example.com_443", "certs", "kube", "prod.exec");
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
  ["an expired one", async () => encodeExecFile(await issued(new Date(Date.now() - 40 * 86_400_000)))],
  ["half a file", async () => encodeExecFile(await issued()).slice(0, 700)],
])("%s is not a certificate to use", async ([, contents]) => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "platform-kube-certificate-"));
  const where = await place(folder.path);
  await writeFile(where.file, await contents());
  expect(await storedKubeCertificate(where, new Date())).toBeUndefined();
  await rm(where.file);
  expect(await storedKubeCertificate(where, new Date())).toBeUndefined();
});
