import { X509Certificate } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSecureContext } from "node:tls";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { openTestAuth, type TestAuth } from "../../test/inside/open-auth.ts";
import type { Call } from "../command.ts";
import { memoryIo } from "../memory-io.ts";
import { databaseFormats, isDatabaseFormat, signDatabase } from "./sign-database.ts";

describe("tctl auth sign for a database's server", () => {
  let t: TestAuth;
  let root: string;
  let folder: string;
  beforeAll(async () => {
    t = await openTestAuth();
    await t.auth.listen({ host: "127.0.0.1", port: 0 });
    root = await mkdtemp(join(tmpdir(), "sign-database-"));
  });
  afterAll(async () => {
    await t[Symbol.asyncDispose]();
    await rm(root, { recursive: true, force: true });
  });
  beforeEach(async () => {
    folder = await mkdtemp(join(root, "out-"));
  });

  function call(hosts: readonly string[], { overwrite = false, dataDir = t.dataDir } = {}): Call {
    const texts: Readonly<Record<string, string>> = { out: join(folder, "server"), dataDir };
    return {
      io: memoryIo(),
      args: [],
      options: {
        text: (name) => texts[name],
        list: (name) => (name === "host" ? hosts : []),
        values: () => [],
        flag: (name) => name === "overwrite" && overwrite,
        count: () => 0,
      },
    };
  }
  const file = async (ending: string): Promise<string> => await readFile(join(folder, `server${ending}`), "utf8");

  test.for(["db", "postgres", "mysql", "redis"] as const)(
    "%s: a key, a certificate and the authority of clients, for their owner alone",
    async (format) => {
      const { text } = await signDatabase(call(["db.internal", "10.0.0.7"]), { format, ttlSeconds: 3_600 });
      expect((await readdir(folder)).toSorted()).toEqual(["server.cas", "server.crt", "server.key"]);
      for (const name of await readdir(folder)) expect((await stat(join(folder, name))).mode & 0o777, name).toBe(0o600);
      const made = new X509Certificate(await file(".crt"));
      expect([made.subject, made.subjectAltName]).toEqual(["CN=db.internal", "DNS:db.internal, IP Address:10.0.0.7"]);
      // Node refuses a key that does not belong to the certificate.
      createSecureContext({ cert: await file(".crt"), key: await file(".key"), ca: await file(".cas") });
      expect(made.checkIssued(new X509Certificate(await file(".cas")))).toBe(false);
      expect(JSON.stringify(text)).toContain(join(folder, "server.crt"));
      expect(JSON.stringify(text)).not.toContain("PRIVATE KEY");
    },
  );

  test("mongodb: key and certificate in one file, with the organization of its members", async () => {
    await signDatabase(call(["mongo-1"]), { format: "mongodb", ttlSeconds: 0 });
    expect((await readdir(folder)).toSorted()).toEqual(["server.cas", "server.crt"]);
    const both = await file(".crt");
    expect(new X509Certificate(both).subject).toBe("CN=mongo-1\nO=test");
    createSecureContext({ cert: both, key: both });
  });

  test("without a name nothing is asked and nothing is written", async () => {
    await expect(signDatabase(call([], { dataDir: "/nowhere" }), { format: "db", ttlSeconds: 0 })).rejects.toMatchObject({
      code: "invalid",
      hint: expect.stringContaining("--host=<name>"),
    });
    expect(await readdir(folder)).toEqual([]);
  });

  test("a file that is there stays, unless it is to be replaced", async () => {
    await writeFile(join(folder, "server.cas"), "mine");
    await expect(signDatabase(call(["db"]), { format: "db", ttlSeconds: 0 })).rejects.toMatchObject({ code: "already_exists" });
    expect([await readdir(folder), await file(".cas")]).toEqual([["server.cas"], "mine"]);
    await signDatabase(call(["db"], { overwrite: true }), { format: "db", ttlSeconds: 0 });
    expect(await file(".cas")).toContain("BEGIN CERTIFICATE");
  });

  test("a name that the auth service refuses leaves no file", async () => {
    await expect(signDatabase(call(["a b"]), { format: "db", ttlSeconds: 0 })).rejects.toMatchObject({ code: "invalid" });
    expect(await readdir(folder)).toEqual([]);
  });
});

test("formats of databases, and no other ones", () => {
  expect(databaseFormats.every((format) => isDatabaseFormat(format))).toBe(true);
  for (const other of ["file", "openssh", "", "DB", undefined]) expect(isDatabaseFormat(other)).toBe(false);
});
