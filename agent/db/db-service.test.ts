import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { dbServiceSchema } from "../../core/config/db-service.ts";
import { insideAuthorities } from "../../test/inside/authorities.ts";
import { databaseAuthority } from "../../test/inside/database-authority.ts";
import { serviceDeps } from "../../test/inside/service-deps.ts";
import { socketPair } from "../../test/inside/socket-pair.ts";
import { prepareDatabases } from "./db-service.ts";

describe("the database service", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "db-service-"));
  });
  afterAll(async () => await rm(folder, { recursive: true, force: true }));

  const configured = (...databases: readonly object[]) => dbServiceSchema.parse({ databases }).databases;

  async function open(...databases: readonly object[]) {
    const authorities = await insideAuthorities();
    const credentials = await authorities.host("db-1");
    const { deps } = serviceDeps({ authorities, credentials, node: { name: "db-1", labels: {} } });
    const stop = new AbortController();
    const service = await prepareDatabases({ databases: configured(...databases), matchers: [] });
    return { service, stop, ...(await service.open(deps, stop.signal)) };
  }

  test("offers the databases of its configuration with labels and protocol", async () => {
    const orders = { name: "orders", protocol: "postgres", uri: "127.0.0.1:1", static_labels: { env: "test" } };
    const { service, offered, stop } = await open(orders, { name: "cache", protocol: "redis", uri: "127.0.0.1:1" });
    expect(service.name).toBe("db");
    expect(offered?.current()).toMatchObject([
      { kind: "db", name: "orders", labels: { env: "test" }, details: { protocol: "postgres" } },
      { kind: "db", name: "cache", labels: {}, details: { protocol: "redis" } },
    ]);
    stop.abort();
  });

  test("refuses a stream to another database before its reply", async () => {
    const { serve, stop } = await open({ name: "orders", protocol: "postgres", uri: "127.0.0.1:1" });
    const [near, far] = await socketPair();
    const parameters = { user: "", name: "", host: "", at: "" };
    const request = { kind: "db", target: "payroll", parameters, clientAddress: "", sessionId: "s", accessRevision: "" } as const;
    await expect(serve.db?.(far, request, { signal: stop.signal, established: () => {} })).rejects.toMatchObject({ code: "not_found" });
    for (const socket of [near, far]) socket.destroy();
    stop.abort();
  });

  test("reads the authorities of a server at the start; a file without any is refused with its name", async () => {
    const file = join(folder, "ca.pem");
    const database = { name: "orders", protocol: "postgres", uri: "127.0.0.1:1", tls: { ca_cert_file: file } };
    const prepare = async () => await prepareDatabases({ databases: configured(database), matchers: [] });
    await expect(prepare()).rejects.toMatchObject({
      code: "invalid",
      message: expect.stringMatching(/could not read tls.ca_cert_file of database orders: .*ENOENT/),
    });
    for (const text of [
      "",
      "-----BEGIN PRIVATE KEY-----\nsecret\n-----END PRIVATE KEY-----\n",
      `${"x".repeat(1_000_001)}-----BEGIN CERTIFICATE-----`,
    ]) {
      await writeFile(file, text);
      const refusal: unknown = await prepare().catch((thrown: unknown) => thrown);
      expect(refusal).toMatchObject({ code: "invalid", message: expect.stringContaining(file) });
      expect((refusal as Error).message).not.toContain("secret");
    }
    await writeFile(file, (await databaseAuthority("db")).pem);
    await expect(prepare()).resolves.toMatchObject({ name: "db" });
  });
});
