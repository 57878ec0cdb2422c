import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { bundlesOf, exportedKeys } from "../../../core/api/trusted-keys.ts";
import { toSshCertificate } from "../../../core/identity/ssh-identity.ts";
import { type AuthorityKindRow, authorityExports, authorityKinds, authorityNames } from "../../../core/kinds/authority-kinds.ts";
import { rotationSchema } from "../../../core/resources/rotation.ts";
import { generateSshKey } from "../../../core/ssh/keys.ts";
import { openSqlite } from "../../storage/sqlite.ts";
import type { RotationStep } from "../rotation/next-phase.ts";
import { listRotations } from "../rotation/rotate.ts";
import { openAuthorities, trustedKeys } from "./open-authorities.ts";

const now = new Date("2026-11-20T12:00:00Z");
const facts = { cluster: "example.com", now };
const later: AuthorityKindRow = { title: "later authority", keys: "x509", newSignsFrom: "update_servers", exports: { "tls-later": "pem" } };
const step = (phase: "init" | "update_servers" | "standby", keys: RotationStep["keys"]) => (): RotationStep => ({
  state: { phase, mode: "manual" },
  keys,
});

async function openStorage() {
  const dir = await mkdtempDisposable(join(tmpdir(), "platform-authorities-"));
  const storage = openSqlite({ path: join(dir.path, "state.sqlite") });
  const close = async (): Promise<void> => {
    await storage.close();
    await dir.remove();
  };
  return { storage, [Symbol.asyncDispose]: close };
}

test("one more row of the table is one more authority: kept, trusted, rotated and listed like the others", async () => {
  await using opened = await openStorage();
  const { storage } = opened;
  const before = await openAuthorities(storage, facts);
  const table = { ...authorityKinds, later };
  const authorities = await openAuthorities(storage, { ...facts, table });
  expect(authorities.all.map(({ kind }) => kind)).toEqual([...authorityNames, "later"]);
  expect([authorities.user.pin, authorities.host.pin]).toEqual([before.user.pin, before.host.pin]);
  const bundle = () => trustedKeys(authorities).authorities.find(({ kind }) => kind === "later");
  const [old] = bundle()?.pem ?? [];
  expect(bundle()).toEqual({ kind: "later", pem: [expect.stringContaining("BEGIN CERTIFICATE")], ssh: [] });
  await authorities.step("later", step("init", "make"), now);
  expect(bundle()?.pem).toEqual([old, expect.any(String)]);
  await authorities.step("later", step("update_servers", "swap"), now);
  expect(bundle()?.pem).toEqual([expect.any(String), old]);
  const rotations = await listRotations({ authorities, storage });
  expect(rotations.map(({ authority, phase }) => [authority, phase])).toEqual([
    ["user", "standby"],
    ["host", "standby"],
    ["db", "standby"],
    ["db_client", "standby"],
    ["jwt", "standby"],
    ["later", "update_servers"],
  ]);
  for (const rotation of rotations) rotationSchema.parse(rotation);
  expect(rotations[5]?.keys[0]).not.toHaveProperty("ssh_fingerprint");
  await authorities.step("later", step("standby", "drop"), now);
  expect(bundle()?.pem).toHaveLength(1);
  expect(bundle()?.pem).not.toEqual([old]);
  // What is stored is found again, and by another process.
  const again = await openAuthorities(storage, { ...facts, table });
  expect(trustedKeys(again)).toEqual(trustedKeys(authorities));
});

test("a process that does not know the row goes on with the others", async () => {
  await using opened = await openStorage();
  const { storage } = opened;
  const newer = await openAuthorities(storage, { ...facts, table: { ...authorityKinds, later } });
  const older = await openAuthorities(storage, facts);
  expect(older.all.map(({ pin }) => pin)).toEqual(newer.all.filter(({ kind }) => kind !== "later").map(({ pin }) => pin));
  await newer.step("user", step("init", "make"), now);
  await older.refresh();
  expect(older.user.trusted.map(({ pin }) => pin)).toEqual(newer.user.trusted.map(({ pin }) => pin));
});

test("the stored form of users' and hosts' authorities is that of the version before", async () => {
  await using opened = await openStorage();
  await openAuthorities(opened.storage, facts);
  const entries = (await opened.storage.list("/authority/")).filter(({ key }) => !/[/](db|jwt)/.test(key));
  expect(entries.map(({ key }) => key)).toEqual(["/authority/host", "/authority/user"]);
  for (const { value } of entries) expect(Object.keys(JSON.parse(value))).toEqual(["ssh_private_key", "tls_private_key", "tls_certificate"]);
});

test("an authority without an SSH key signs no SSH certificate", async () => {
  await using opened = await openStorage();
  const authorities = await openAuthorities(opened.storage, { ...facts, table: { ...authorityKinds, later } });
  const identity = { kind: "user", name: "alice", roles: [], traits: {}, principals: {}, cluster: "example.com", validBefore: now } as const;
  const request = { sshPublicKey: generateSshKey().publicLine, now };
  expect(() => authorities.issueSsh("later" as "user", toSshCertificate(identity), request)).toThrow(/no SSH key/);
});

test("the lists of the version before and those of every kind export the same keys", async () => {
  await using opened = await openStorage();
  const keys = trustedKeys(await openAuthorities(opened.storage, facts));
  const older = bundlesOf({ ...keys, authorities: [] });
  expect(authorityExports.map(({ type }) => type)).toEqual(["host", "user", "db", "db-client", "jwt", "tls-host", "tls-user"]);
  for (const one of authorityExports.filter(({ authority }) => authority === "user" || authority === "host")) {
    expect(exportedKeys(bundlesOf(keys), one)).toEqual(exportedKeys(older, one));
    expect(exportedKeys(older, one)).toHaveLength(1);
  }
  expect(exportedKeys([], { type: "tls-host", authority: "host", form: "pem" })).toEqual([]);
});
