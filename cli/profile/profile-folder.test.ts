import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { loadFacts, loadProfile } from "./choose-profile.ts";
import { type Profile, requireValid } from "./profile.ts";
import { knownAuthorities, listProfiles, profileName } from "./profile-folder.ts";
import { removeProfile, saveProfile } from "./save-profile.ts";
import { pem, profileOf } from "./testing/profile-of.ts";

function profileAt(host: string, user = "alice"): Profile {
  const [traits, principals] = [{ logins: ["root"] }, { ssh: { login: ["root"] } }];
  return profileOf({ proxy: { host, port: 3080 }, user, cluster: "test.cluster", traits, principals });
}

let home = "";
beforeEach(async () => {
  home = join(await mkdtemp(join(tmpdir(), "platform-profile-")), "tsh");
});
afterEach(async () => {
  await rm(join(home, ".."), { recursive: true });
});

test("what was saved is loaded, folders are 0700 and files 0600", async () => {
  const profile = profileAt("p.example.com");
  await saveProfile(home, profile, "ssh-ed25519 AAAA alice");
  expect(await loadProfile(home)).toEqual({
    ...profile,
    secrets: { sshPrivateKey: "KEY\n", sshCertificate: "CERT\n", tlsPrivateKey: "TLSKEY\n", tlsCertificate: "TLSCERT\n" },
  });
  const folder = join(home, "p.example.com_3080");
  for (const path of [home, folder]) expect((await stat(path)).mode & 0o777).toBe(0o700);
  for (const file of await readdir(folder)) expect((await stat(join(folder, file))).mode & 0o777).toBe(0o600);
  expect((await readdir(folder)).sort()).toEqual(["ca.pem", "id", "id-cert.pub", "id.pub", "known_hosts", "profile.json", "tls.crt", "tls.key"]);
  expect((await stat(join(home, "current"))).mode & 0o777).toBe(0o600);
  expect(await readFile(join(folder, "known_hosts"), "utf8")).toBe(
    "@cert-authority *.test.cluster,p.example.com,[p.example.com]:* ssh-ed25519 AAAA test.cluster\n",
  );
});

test("a second login replaces the first as a whole and leaves nothing beside it", async () => {
  await saveProfile(home, profileAt("p"), "a");
  await saveProfile(home, profileAt("p", "bob"), "b");
  expect((await loadFacts(home)).user).toBe("bob");
  expect((await readdir(home)).sort()).toEqual(["current", "p_3080"]);
});

test("certificates for single resources stand by kind and name beside that of the login, and go with the next login", async () => {
  const certificates = ["Orders", "a/b"].map((name) => ({ kind: "app", name, certificate: `crt ${name}\n`, privateKey: `key ${name}\n` }));
  await saveProfile(home, { ...profileAt("p"), certificates }, "a");
  const folder = join(home, "p_3080", "certs", "app");
  expect((await readdir(folder)).sort()).toEqual(["%4frders.crt", "%4frders.key", "a%2fb.crt", "a%2fb.key"]);
  for (const file of await readdir(folder)) expect((await stat(join(folder, file))).mode & 0o777).toBe(0o600);
  expect((await loadProfile(home)).certificates).toEqual(certificates);
  await rm(join(folder, "a%2fb.key"));
  await expect(loadProfile(home)).rejects.toMatchObject({ code: "invalid", message: expect.stringContaining("a%2fb.key is damaged: it is missing") });
  await saveProfile(home, profileAt("p"), "a");
  expect((await loadProfile(home)).certificates).toBeUndefined();
});

test("a profile of the version before is read, and that version reads what is written now", async () => {
  await saveProfile(home, profileAt("p"), "a");
  const file = join(home, "p_3080", "profile.json");
  const facts = JSON.parse(await readFile(file, "utf8")) as Record<string, unknown>;
  expect(facts).toMatchObject({ version: 1, logins: ["root"], principals: { ssh: { login: ["root"] } } });
  const { principals: _new, ...older } = facts;
  await writeFile(file, JSON.stringify(older));
  expect((await loadFacts(home)).principals).toEqual({ ssh: { login: ["root"] } });
});

test("a login holds at the other proxies of its cluster: the one that is named is tried first", async () => {
  const profile = profileAt("one");
  const others = [
    { host: "two", port: 443 },
    { host: "three", port: 443 },
  ];
  await saveProfile(home, { ...profile, facts: { ...profile.facts, others } }, "a");
  expect((await loadProfile(home)).facts).toMatchObject({ proxy: { host: "one" }, others });
  const named = await loadProfile(home, { host: "two", port: 443 });
  expect(named.facts).toMatchObject({ proxy: { host: "two" }, others: [{ host: "one" }, { host: "three" }], user: "alice" });
  await expect(loadProfile(home, { host: "four", port: 443 })).rejects.toMatchObject({ code: "unauthenticated" });
});

test("several proxies live side by side; the last login is the current one", async () => {
  await saveProfile(home, profileAt("one"), "a");
  await saveProfile(home, profileAt("::1"), "b");
  expect((await loadFacts(home)).proxy.host).toBe("::1");
  expect((await loadFacts(home, { host: "one", port: 3080 })).proxy.host).toBe("one");
  expect((await listProfiles(home)).map(({ name, current }) => [name, current])).toEqual([
    ["--1_3080", true],
    ["one_3080", false],
  ]);
  expect(await knownAuthorities(home, { host: "one", port: 3080 })).toEqual([pem]);
  expect(await removeProfile(home, profileName({ host: "::1", port: 3080 }))).toBe(true);
  await expect(loadFacts(home)).rejects.toMatchObject({ code: "unauthenticated" });
  expect(await removeProfile(home, "missing_1")).toBe(false);
});

test("nobody logged in is an error that says how to log in", async () => {
  await expect(loadProfile(home)).rejects.toMatchObject({ code: "unauthenticated", hint: expect.stringContaining("tsh login") });
  expect(await listProfiles(home)).toEqual([]);
});

test("an expired login is refused with the command that renews it", () => {
  const { facts } = profileAt("p");
  expect(() => requireValid(facts, new Date("2030-01-01T00:00:00Z"))).toThrow(/expired at 2030/);
  expect(() => requireValid(facts, new Date("2029-12-31T23:59:59Z"))).not.toThrow();
});

describe("damaged files are an error that names the file, never a crash", () => {
  test.for([
    ["profile.json", ""],
    ["profile.json", "{"],
    ["profile.json", "null"],
    ["profile.json", "[]"],
    ["profile.json", '{"version":2}'],
    ["profile.json", '{"version":1,"proxy":"p:3080"}'],
    [
      "profile.json",
      '{"version":1,"proxy":"p:3080","user":"u","cluster":"c","roles":"x","traits":{},"logins":[],"hostCaSsh":[],"validUntil":"2030-01-01T00:00:00Z"}',
    ],
    [
      "profile.json",
      '{"version":1,"proxy":"q:1","user":"u","cluster":"c","roles":[],"traits":{},"logins":[],"hostCaSsh":[],"validUntil":"2030-01-01T00:00:00Z"}',
    ],
    [
      "profile.json",
      '{"version":1,"proxy":"p:3080","user":"u","cluster":"c","roles":[],"traits":{},"logins":[],"hostCaSsh":[],"validUntil":"never"}',
    ],
    [
      "profile.json",
      '{"version":1,"proxy":"p:3080","user":"u","cluster":"c","roles":[],"traits":{},"principals":{"ssh":["root"]},"hostCaSsh":[],"validUntil":"2030-01-01T00:00:00Z"}',
    ],
    ["id", ""],
    ["ca.pem", "garbage"],
    ["../current", "../../etc_1"],
  ] as const)("%s holding %j", async ([file, text]) => {
    await saveProfile(home, profileAt("p"), "a");
    await writeFile(join(home, "p_3080", file), text);
    const name = file.replace("../", "");
    await expect(loadProfile(home)).rejects.toMatchObject({
      code: "invalid",
      message: expect.stringContaining(name),
      hint: expect.stringContaining("tsh login"),
    });
  });

  test("and a missing file too", async () => {
    await saveProfile(home, profileAt("p"), "a");
    await rm(join(home, "p_3080", "tls.key"));
    await expect(loadProfile(home)).rejects.toMatchObject({ code: "invalid", message: expect.stringContaining("tls.key is damaged: it is missing") });
  });
});
