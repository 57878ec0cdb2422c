import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import { type InsideAuthorities, insideAuthorities } from "../../test/inside/authorities.ts";
import type { Profile } from "./profile.ts";
import { certificateFiles, credentialsFor, decodeName, encodeName, type ResourceCertificate, readCertificates } from "./resource-certificates.ts";

const folder = await mkdtemp(join(tmpdir(), "platform-certs-"));
afterAll(() => rm(folder, { recursive: true }));
const read = (path: string) => readFile(path, "utf8");

async function write(certificates: readonly ResourceCertificate[]): Promise<void> {
  for (const [path, text] of certificateFiles(certificates)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
}

test("certificates are read as they were written, by kind and name; other files are ignored", async () => {
  expect(await readCertificates(join(folder, "none"), read)).toEqual([]);
  const names = ["orders", "Orders", "a/b", "..", ".hidden", "bücher shop", "100%", "x.key"];
  const certificates = names.map((name) => ({ kind: "app", name, certificate: `crt of ${name}`, privateKey: `key of ${name}` }));
  const all = [...certificates, { kind: "db", name: "orders", certificate: "crt", privateKey: "key" }];
  await write(all);
  await writeFile(join(folder, "app", "Big.crt"), "x");
  await writeFile(join(folder, "README"), "x");
  const found = await readCertificates(folder, read);
  expect(found).toHaveLength(all.length);
  expect(found).toEqual(expect.arrayContaining(all));
});

test("no character of a name is lost in its file's name, and the name is a single, visible, plain file", () => {
  // Three characters for each byte, and at most 255 with the ending.
  const name = fc.string({ unit: "grapheme", minLength: 1, maxLength: 20 }).filter((text) => Buffer.byteLength(text) <= 80);
  fc.assert(
    fc.property(name, name, (one, two) => {
      const [first, second] = [encodeName(one), encodeName(two)];
      expect(decodeName(first)).toBe(one);
      expect(first).toMatch(/^[a-z0-9_%-][a-z0-9_.%-]*$/);
      expect(first === second).toBe(one === two);
    }),
  );
});

test.for(["", "x".repeat(252), "\ud800"])("a name that no file can have is refused: %j", (name) => {
  expect(() => encodeName(name)).toThrow(expect.objectContaining({ code: "invalid" }));
});

test.for(["%", "%zz", "A", "%41b%", "%2f/", "", "%61"])("a file %j that no name is encoded to is ignored", (file) => {
  expect(decodeName(file)).toBeUndefined();
});

test("a valid certificate for the resource is presented there; an expired one, and one for another resource, leave the login's", async () => {
  const authorities: InsideAuthorities = await insideAuthorities();
  const [own, orders] = [await authorities.user("alice"), await authorities.user("alice", { route: { kind: "app", name: "orders" } })];
  const held = { kind: "app", name: "orders", certificate: orders.tlsCertificate, privateKey: orders.tlsPrivateKey };
  const secrets = { sshPrivateKey: "", sshCertificate: "", tlsPrivateKey: own.tlsPrivateKey, tlsCertificate: own.tlsCertificate };
  const profile = { facts: {} as Profile["facts"], secrets, hostCaPem: [], certificates: [held] };
  const chosen = (kind: string, name: string, now = new Date(), from: Profile = profile): string =>
    credentialsFor(from, { kind, name }, now).certificate;
  expect(chosen("app", "orders")).toBe(orders.tlsCertificate);
  expect(chosen("app", "orders", new Date(Date.now() + 7_200_000))).toBe(own.tlsCertificate);
  expect(chosen("app", "other")).toBe(own.tlsCertificate);
  expect(chosen("db", "orders")).toBe(own.tlsCertificate);
  const { certificates: _none, ...plain } = profile;
  expect(chosen("app", "orders", new Date(), plain)).toBe(own.tlsCertificate);
});
