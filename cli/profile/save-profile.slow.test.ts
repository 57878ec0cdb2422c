import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { insideAuthorities } from "../../test/inside/authorities.ts";
import { rounds } from "../../test/world/rounds.ts";
import { loadFacts, loadProfile } from "./choose-profile.ts";
import type { Profile } from "./profile.ts";
import { listProfiles } from "./profile-folder.ts";
import { leftProfiles, removeProfile, saveProfile } from "./save-profile.ts";
import { dropCertificates, storeCertificate } from "./store-certificate.ts";
import { profileOf } from "./testing/profile-of.ts";

let home = "";
beforeEach(async () => {
  home = join(await mkdtemp(join(tmpdir(), "platform-save-profile-")), "tsh");
});
afterEach(async () => {
  await rm(join(home, ".."), { recursive: true });
});

const proxy = { host: "p", port: 3080 };
const login = (user: string): Profile => {
  const { secrets, ...profile } = profileOf({ proxy, user, cluster: "test.cluster" });
  return { ...profile, secrets: { ...secrets, tlsPrivateKey: `key of ${user}`, tlsCertificate: `certificate of ${user}` } };
};
const users = ["alice", "bob", "carol"];
const interruptedLeft = [".p_3080.0123456789ab", ".p_3080.0123456789ab.old"];
const leave = async (): Promise<void> => {
  for (const name of interruptedLeft) {
    await mkdir(join(home, name), { recursive: true });
    await writeFile(join(home, name, "tls.key"), "KEY");
  }
};

test("several logins at once all succeed, and leave one of them whole", async () => {
  for (let round = 0; round < rounds(20, 3); round += 1) {
    await Promise.all(users.map((user) => saveProfile(home, login(user), "line")));
    const { facts, secrets } = await loadProfile(home);
    expect(secrets).toMatchObject({ tlsPrivateKey: `key of ${facts.user}\n`, tlsCertificate: `certificate of ${facts.user}\n` });
    expect((await readdir(home)).sort()).toEqual(["current", "p_3080"]);
  }
});

test("readers during logins, and while certificates for resources are stored, find a whole login", async () => {
  await saveProfile(home, login("alice"), "line");
  let isOver = false;
  const write = async (): Promise<void> => {
    for (let round = 0; round < rounds(40, 8); round += 1) {
      await saveProfile(home, login(users[round % users.length] ?? ""), "line");
      for (const mark of ["one", "two"]) await storeCertificate(home, proxy, { kind: "app", name: "shop", certificate: mark, privateKey: mark });
    }
    isOver = true;
  };
  const read = async (): Promise<void> => {
    while (!isOver) {
      const { facts, secrets, certificates = [] } = await loadProfile(home);
      expect(secrets).toMatchObject({ tlsPrivateKey: `key of ${facts.user}\n`, tlsCertificate: `certificate of ${facts.user}\n` });
      for (const { certificate, privateKey } of certificates) expect(certificate).toBe(privateKey);
      expect((await loadFacts(home)).cluster).toBe("test.cluster");
      expect(await listProfiles(home)).toMatchObject([{ name: "p_3080", facts: { cluster: "test.cluster" } }]);
    }
  };
  await Promise.all([write(), read(), read(), read()]);
});

test("the answer kept for kubectl is private at its creation, and goes with its certificate: by a logout of either kind, and by another login", async () => {
  const { tlsCertificate, tlsPrivateKey } = await (await insideAuthorities()).user("alice", { route: { kind: "kube", name: "Prod" } });
  const folder = join(home, "p_3080", "certs", "kube");
  const store = () => storeCertificate(home, proxy, { kind: "kube", name: "Prod", certificate: tlsCertificate, privateKey: tlsPrivateKey });
  await saveProfile(home, login("alice"), "line");
  const before = process.umask(0);
  try {
    await store();
  } finally {
    process.umask(before);
  }
  const modes = (await readdir(folder)).sort().map(async (file) => `${file} ${((await stat(join(folder, file))).mode & 0o777).toString(8)}`);
  expect(await Promise.all(modes)).toEqual(["%50rod.crt 600", "%50rod.exec 600", "%50rod.key 600"]);
  expect(await readFile(join(folder, "%50rod.exec"), "utf8")).toContain(JSON.stringify(tlsPrivateKey));
  // As a version before kept it.
  await writeFile(join(folder, "%50rod.pem"), "KEY");
  await dropCertificates(home, proxy, { kind: "kube", names: ["prod"] });
  expect(await readdir(folder)).toHaveLength(4);
  await dropCertificates(home, proxy, { kind: "kube", names: ["Prod"] });
  expect(await readdir(folder)).toEqual([]);
  // Nothing would write it again.
  await writeFile(join(folder, "%50rod.pem"), "KEY");
  await store();
  expect(await readdir(folder)).not.toContain("%50rod.pem");
  await dropCertificates(home, proxy, { kind: "kube" });
  expect(await readdir(folder)).toEqual([]);
  await store();
  await saveProfile(home, login("bob"), "line");
  await expect(readdir(folder)).rejects.toMatchObject({ code: "ENOENT" });
  await store();
  await removeProfile(home, "p_3080");
  expect(await readdir(home)).toEqual([]);
});

test("a login that cannot be made the current one leaves the one before as it was", async () => {
  await saveProfile(home, login("alice"), "line");
  await rm(join(home, "current"));
  await mkdir(join(home, "current", "in-the-way"), { recursive: true });
  await expect(saveProfile(home, login("bob"), "line")).rejects.toMatchObject({
    code: "invalid",
    hint: expect.stringContaining("nothing was changed"),
  });
  expect((await loadFacts(home, proxy)).user).toBe("alice");
  expect((await readdir(home)).sort()).toEqual(["current", "p_3080"]);
});

test("a certificate that cannot be written leaves the one before", async () => {
  await saveProfile(home, login("alice"), "line");
  const held = { kind: "app", name: "shop", certificate: "one\n", privateKey: "one\n" };
  await storeCertificate(home, proxy, held);
  const folder = join(home, "p_3080", "certs", "app");
  await rm(join(folder, "shop.key"));
  await mkdir(join(folder, "shop.key", "in-the-way"), { recursive: true });
  await expect(storeCertificate(home, proxy, { ...held, certificate: "two\n" })).rejects.toMatchObject({ code: "invalid" });
  expect(await readFile(join(folder, "shop.crt"), "utf8")).toBe("one\n");
  expect((await readdir(folder)).sort()).toEqual(["shop.crt", "shop.key"]);
});

test("a certificate that arrives after a logout is not stored", async () => {
  await saveProfile(home, login("alice"), "line");
  await removeProfile(home, "p_3080");
  const held = { kind: "app", name: "shop", certificate: "one\n", privateKey: "one\n" };
  await expect(storeCertificate(home, proxy, held)).rejects.toMatchObject({ code: "unauthenticated" });
  expect(await readdir(home)).toEqual([]);
});

test.for(["SIGINT", "SIGTERM", "SIGHUP"] as const)("%s during a login leaves the login before, and no keys", async (signal) => {
  await saveProfile(home, login("alice"), "line");
  // Once its folder is there: keys are being written then.
  const script = `
    const { watch } = await import("node:fs");
    const { saveProfile } = await import(${JSON.stringify(new URL("save-profile.ts", import.meta.url).href)});
    const { profileOf } = await import(${JSON.stringify(new URL("testing/profile-of.ts", import.meta.url).href)});
    const watcher = watch(${JSON.stringify(home)}, (_event, name) => {
      if (!name?.startsWith(".p_3080.")) return;
      watcher.close();
      process.kill(process.pid, "${signal}");
    });
    await saveProfile(${JSON.stringify(home)}, profileOf({ proxy: { host: "p", port: 3080 }, user: "bob", cluster: "test.cluster" }), "line");`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], { stdio: "ignore" });
  expect(await once(child, "exit")).toEqual([null, signal]);
  expect((await readdir(home)).sort()).toEqual(["current", "p_3080"]);
  expect((await loadFacts(home)).user).toBe("alice");
});

test("what a killed login left goes with the next login there, and with a logout", async () => {
  await leave();
  expect(await leftProfiles(home)).toEqual(["p_3080"]);
  await saveProfile(home, login("alice"), "line");
  expect((await readdir(home)).sort()).toEqual(["current", "p_3080"]);
  await leave();
  await removeProfile(home, "p_3080");
  expect(await readdir(home)).toEqual([]);
  await leave();
  expect(await removeProfile(home, "p_3080")).toBe(true);
  expect(await readdir(home)).toEqual([]);
});

test("certificates that cannot be removed are an error that names their folder", async () => {
  await saveProfile(home, login("alice"), "line");
  const folder = join(home, "p_3080", "certs", "app");
  await mkdir(join(folder, "shop.crt"), { recursive: true });
  for (const names of [["shop"], undefined]) {
    const dropped = dropCertificates(home, proxy, { kind: "app", ...(names !== undefined && { names }) });
    await expect(dropped).rejects.toMatchObject({
      code: "invalid",
      message: expect.stringContaining(`could not remove the certificates in ${folder}`),
    });
  }
});
