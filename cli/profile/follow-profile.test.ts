import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { insideAuthorities } from "../../test/inside/authorities.ts";
import { memoryIo } from "../memory-io.ts";
import { noOptions } from "../no-options.ts";
import { loadProfile } from "./choose-profile.ts";
import { followProfile } from "./follow-profile.ts";
import type { Profile } from "./profile.ts";
import { removeProfile, saveProfile, useProfile } from "./save-profile.ts";
import { dropCertificates, storeCertificate } from "./store-certificate.ts";
import { profileOf } from "./testing/profile-of.ts";

const proxy = { host: "p.example.com", port: 3080 };

function login(certificate: string, { user = "alice", host = proxy.host } = {}): Profile {
  const profile = profileOf({ proxy: { ...proxy, host }, others: [{ host: "other.example.com", port: 443 }], user });
  return { ...profile, secrets: { ...profile.secrets, tlsCertificate: certificate } };
}

let home = "";
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "platform-follow-"));
});
afterEach(async () => await rm(home, { recursive: true }));

const options = noOptions;
const call = () => ({ io: memoryIo({ TSH_HOME: home }), options });
const certificateOf = async (source: { current(): Promise<Profile> }): Promise<string> => (await source.current()).secrets.tlsCertificate.trim();

test.for(["app", "db", "kube"])(
  "a newer login of the same user counts from its moment on, and so does a certificate for one resource (%s)",
  async (kind) => {
    await saveProfile(home, login("one"), "line");
    const source = await followProfile(call(), await loadProfile(home));
    expect(await certificateOf(source)).toBe("one");
    expect(await source.current()).toBe(await source.current());
    await saveProfile(home, login("two"), "line");
    expect(await certificateOf(source)).toBe("two");
    const authorities = await insideAuthorities();
    for (const name of ["alice", "newer"]) {
      const { tlsCertificate, tlsPrivateKey } = await authorities.user(name);
      const held = { kind, name: "orders", certificate: `${tlsCertificate.trim()}\n`, privateKey: `${tlsPrivateKey.trim()}\n` };
      await storeCertificate(home, proxy, held);
      expect((await source.current()).certificates).toEqual([held]);
    }
    await dropCertificates(home, proxy, { kind, names: ["orders", "none"] });
    expect((await source.current()).certificates).toBeUndefined();
  },
);

test("another current profile changes nothing, neither does the name of another proxy of the cluster", async () => {
  await saveProfile(home, login("one"), "line");
  const source = await followProfile(call(), await loadProfile(home));
  const elsewhere = await followProfile(call(), await loadProfile(home, { host: "other.example.com", port: 443 }));
  await saveProfile(home, login("foreign", { host: "q.example.com" }), "line");
  await saveProfile(home, login("two"), "line");
  await useProfile(home, "q.example.com_3080");
  expect(await certificateOf(source)).toBe("two");
  expect(await certificateOf(elsewhere)).toBe("two");
  expect((await elsewhere.current()).facts.proxy.host).toBe("other.example.com");
});

test("a login of another user and a logout end it with the reason; a new login continues it", async () => {
  await saveProfile(home, login("one"), "line");
  const source = await followProfile(call(), await loadProfile(home));
  await saveProfile(home, login("bob's", { user: "bob" }), "line");
  await expect(source.current()).rejects.toMatchObject({
    code: "unauthenticated",
    message: "the login at p.example.com:3080 is now bob's, and this command runs as alice",
  });
  await removeProfile(home, "p.example.com_3080");
  await expect(source.current()).rejects.toMatchObject({ code: "unauthenticated" });
  await saveProfile(home, login("three"), "line");
  expect(await certificateOf(source)).toBe("three");
});

test("a profile that is missing for a moment, as while a login replaces it, is read again", async () => {
  await saveProfile(home, login("one"), "line");
  const source = await followProfile(call(), await loadProfile(home));
  const [folder, aside] = [join(home, "p.example.com_3080"), join(home, "aside")];
  await saveProfile(home, login("two"), "line");
  await rename(folder, aside);
  const reading = certificateOf(source);
  await rename(aside, folder);
  expect(await reading).toBe("two");
});

test("all certificates of a kind go, and nothing else", async () => {
  await saveProfile(home, login("one"), "line");
  for (const kind of ["app", "db"]) await storeCertificate(home, proxy, { kind, name: "orders", certificate: "crt", privateKey: "key" });
  await dropCertificates(home, proxy, { kind: "db" });
  await dropCertificates(home, proxy, { kind: "none" });
  expect((await loadProfile(home)).certificates?.map(({ kind }) => kind)).toEqual(["app"]);
  await writeFile(join(home, "file"), "");
  await expect(storeCertificate(join(home, "file"), proxy, { kind: "db", name: "x", certificate: "c", privateKey: "k" })).rejects.toMatchObject({
    code: "invalid",
  });
});
