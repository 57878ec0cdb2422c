import { expect, test } from "vitest";
import { dbSchema } from "../resources/db.ts";
import { dbServiceSchema } from "./db-service.ts";

const inFile = (protocol: string, admin_user: unknown) =>
  dbServiceSchema.safeParse({ databases: [{ name: "orders", protocol, uri: "db:1", admin_user }] });
const inCluster = (protocol: string, admin_user: unknown) =>
  dbSchema.safeParse({ kind: "db", version: "v3", metadata: { name: "orders" }, spec: { protocol, uri: "db:1", admin_user } });

test.for([
  ["postgres", { name: "platform-admin" }, true, true],
  ["mysql", { name: "platform-admin", default_database: "platform" }, true, true],
  // The file is the agent's own word: there it cannot be any account of the server.
  ["postgres", { name: "postgres" }, false, true],
  ["mysql", { name: "root" }, false, true],
  ["redis", { name: "platform-admin" }, false, false],
  ["mongodb", { name: "platform-admin" }, false, false],
  ["postgres", { name: "" }, false, false],
  ["postgres", { name: "*" }, false, false],
  ["postgres", { name: "platform-\n" }, false, false],
  ["postgres", { name: "platform-admin", password: "x" }, false, false],
] as const)("admin_user of %s: %j", ([protocol, admin, file, cluster]) => {
  expect(inFile(protocol, admin).success).toBe(file);
  expect(inCluster(protocol, admin).success).toBe(cluster);
});

test("the message of the file says what to do", () => {
  expect(inFile("postgres", { name: "postgres" }).error?.issues).toMatchObject([
    { path: ["databases", 0, "admin_user", "name"], message: expect.stringContaining("must begin with platform-") },
  ]);
});
