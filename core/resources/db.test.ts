import fc from "fast-check";
import { expect, test } from "vitest";
import { dbSchema, parseDbUri } from "./db.ts";

test.for([
  ["postgres", "db.example.com:5433", [["db.example.com", 5433]]],
  ["postgres", "db.example.com", [["db.example.com", 5432]]],
  ["postgres", "postgres://db/", [["db", 5432]]],
  ["postgres", "[::1]:5432", [["::1", 5432]]],
  ["mysql", "10.0.0.5", [["10.0.0.5", 3306]]],
  [
    "mongodb",
    "mongodb://a:1,b/?replicaSet=rs0",
    [
      ["a", 1],
      ["b", 27_017],
    ],
  ],
  ["redis", "rediss://cache:6380?mode=standalone", [["cache", 6380]]],
  [
    "redis",
    "rediss://a:7000,b?mode=cluster",
    [
      ["a", 7000],
      ["b", 6379],
    ],
  ],
] as const)("%s at %s", ([protocol, uri, addresses]) => {
  expect(parseDbUri(protocol, uri)?.addresses.map(({ host, port }) => [host, port])).toEqual(addresses);
});

test("options of an address are read", () => {
  expect(parseDbUri("mongodb", "mongodb://a,b/?replicaSet=rs0&readPreference=secondary")?.options).toEqual(
    new Map([
      ["replicaSet", "rs0"],
      ["readPreference", "secondary"],
    ]),
  );
});

test("the servers of mongodb+srv stand in DNS, in the domain of its name", () => {
  expect(parseDbUri("mongodb", "mongodb+srv://cluster0.example.com/?readPreference=secondary")).toEqual({
    addresses: [{ host: "cluster0.example.com", port: 27_017 }],
    options: new Map([["readPreference", "secondary"]]),
    srv: "cluster0.example.com",
  });
  for (const uri of [
    "mongodb+srv://example.com",
    "mongodb+srv://a.example.com:27017",
    "mongodb+srv://a.example.com,b.example.com",
    "mongodb+srv://[::1]",
  ])
    expect(parseDbUri("mongodb", uri), uri).toBeUndefined();
  expect(parseDbUri("redis", "mongodb+srv://a.example.com")).toBeUndefined();
});

test.for([
  ["postgres", "a:1,b:2", "must be host:port"],
  ["postgres", "mysql://a:1", "must be host:port"],
  ["postgres", "alice:secret@a:1", "must be host:port; accounts and passwords do not belong there"],
  ["redis", "redis://a:1", "must be rediss://"],
  ["redis", "rediss://a:1,b:2", "rediss://host:port,host:port?mode=cluster"],
  ["mysql", "a:0", "must be host:port"],
  ["mysql", "a:70000", "must be host:port"],
  ["mysql", "a b", "must be host:port"],
] as const)("%s at %s is refused", ([protocol, uri, words]) => {
  const db = { kind: "db", version: "v3", metadata: { name: "orders" }, spec: { protocol, uri } };
  const { error } = dbSchema.safeParse(db);
  expect(error?.issues[0]).toMatchObject({ path: ["spec", "uri"], message: expect.stringContaining(words) });
  expect(error?.issues[0]?.message).not.toContain("secret");
});

test("any text is an address or is not, and never takes long", () => {
  fc.assert(
    fc.property(fc.constantFrom("postgres", "mysql", "mongodb", "redis"), fc.string({ maxLength: 1024 }), (protocol, uri) => {
      for (const { host, port } of parseDbUri(protocol, uri)?.addresses ?? []) {
        expect(host).not.toBe("");
        expect(port).toBeGreaterThan(0);
      }
    }),
  );
});

test("a text that is not a certificate is one problem, not two", () => {
  const issues = (ca_cert: string) =>
    dbSchema
      .safeParse({
        kind: "db",
        version: "v3",
        metadata: { name: "orders" },
        spec: { protocol: "postgres", uri: "db:5432", tls: { ca_cert } },
      })
      .error?.issues.map(({ message }) => message);
  expect(issues("-----BEGIN CERTIFICATE-----…")).toEqual(["must be certificates in PEM"]);
  expect(issues("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")).toEqual([
    "must be certificates in PEM: one of them cannot be read",
  ]);
});
