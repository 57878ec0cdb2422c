import { expect, test } from "vitest";
import { databaseOf } from "./database.ts";

const metadata = { name: "orders", labels: { env: "test" } };

test("a resource without TLS settings: everything is verified, by the cluster's authority alone", () => {
  expect(databaseOf({ metadata, spec: { protocol: "postgres", uri: "db.internal" } })).toEqual({
    name: "orders",
    protocol: "postgres",
    uri: "db.internal",
    addresses: [{ host: "db.internal", port: 5432 }],
    options: new Map(),
    labels: { env: "test" },
    origin: "dynamic",
    tls: { mode: "verify-full", serverName: undefined, caPem: [], trustsSystem: false },
  });
});

test("TLS settings, members and options of an address", () => {
  const tls = { mode: "verify-ca", server_name: "db", ca_cert: "PEM", trust_system_cert_pool: true } as const;
  const uri = "mongodb://one,two:27018/?replicaSet=rs0";
  expect(databaseOf({ metadata: { name: "orders" }, spec: { protocol: "mongodb", uri, tls } })).toMatchObject({
    addresses: [
      { host: "one", port: 27_017 },
      { host: "two", port: 27_018 },
    ],
    options: new Map([["replicaSet", "rs0"]]),
    labels: {},
    tls: { mode: "verify-ca", serverName: "db", caPem: ["PEM"], trustsSystem: true },
  });
});

test.for([
  ["postgres", "mysql://db"],
  ["postgres", "one,two"],
  ["mysql", "db:0"],
  ["redis", "redis://user:secret@db"],
  ["mongodb", ""],
] as const)("an address that cannot be read: %s at %j", ([protocol, uri]) => {
  expect(databaseOf({ metadata, spec: { protocol, uri } })).toBeUndefined();
});
