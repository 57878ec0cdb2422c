import { afterEach, beforeEach, expect, test } from "vitest";
import { joinFacts, joinHost, openTestAuth, type TestAuth } from "../../test/inside/open-auth.ts";
import { memoryIo } from "../memory-io.ts";
import { runTctl } from "./tctl.ts";

let t: TestAuth;
beforeEach(async () => {
  t = await openTestAuth({ now: () => new Date() });
  await t.auth.listen({ host: "127.0.0.1", port: 0 });
});
afterEach(async () => await t[Symbol.asyncDispose]());

/** Runs tctl as on the auth host. */
async function tctl(args: readonly string[], input?: string): Promise<{ status: number; out: string; err: string }> {
  const io = memoryIo({ PLATFORM_DATA_DIR: t.dataDir }, input);
  const status = await runTctl(args, io);
  return { status, out: io.out(), err: io.err() };
}

const manifest = (uri: string, more = ""): string =>
  `kind: db\nversion: v3\nmetadata: { name: orders, labels: { env: prod } }\nspec:\n  protocol: postgres\n  uri: ${uri}\n${more}`;

test("a database is created, read, changed and removed by its reference", async () => {
  expect(await tctl(["create"], manifest("10.0.0.5:5432"))).toMatchObject({ status: 0, out: 'db "orders" has been created\n' });
  expect(await tctl(["create"], manifest("10.0.0.6:5432"))).toMatchObject({ status: 6, err: expect.stringContaining("orders") });
  for (const reference of ["db/orders", "dbs/orders", "database/orders", "databases/orders"])
    expect(JSON.parse((await tctl(["get", reference, "--format=json"])).out)).toMatchObject({ kind: "db", spec: { uri: "10.0.0.5:5432" } });
  expect(await tctl(["create", "-f"], manifest("10.0.0.6:5432"))).toMatchObject({ status: 0, out: 'db "orders" has been updated\n' });
  expect((await tctl(["get", "db", "--format=text"])).out).toMatch(
    /^Name +Protocol +Address +Labels\n[- ]+\norders +postgres +10\.0\.0\.6:5432 +env=prod\n$/,
  );
  expect(await tctl(["create", "-f"], (await tctl(["get", "db/orders"])).out)).toMatchObject({ status: 0 });
  expect(await tctl(["rm", "db/orders"])).toMatchObject({ status: 0 });
  expect(await tctl(["get", "db/orders"])).toMatchObject({ status: 5 });
  const events = await t.events("db.create", "db.update", "db.delete");
  expect(events.map(({ event, code, name }) => [event, code, name])).toEqual([
    ["db.create", "TDB03I", "orders"],
    ["db.update", "TDB04I", "orders"],
    ["db.update", "TDB04I", "orders"],
    ["db.delete", "TDB05I", "orders"],
  ]);
});

test.for<[string, string, RegExp]>([
  ["an unknown protocol", manifest("a:1").replace("postgres", "oracle"), /must be one of postgres, mysql, mongodb, redis/],
  ["an address with a password", manifest("alice:secret@a:1"), /accounts and passwords do not belong there/],
  [
    "an authority that is not a certificate",
    manifest(
      "a:1",
      "  tls:\n    mode: verify-full\n    ca_cert: |\n      -----BEGIN CERTIFICATE-----\n      bm90\n      -----END CERTIFICATE-----\n",
    ),
    /ca_cert: must be certificates in PEM/,
  ],
])("%s is refused before it is stored", async ([, text, reason]) => {
  const { status, err } = await tctl(["create"], text);
  expect([status, err]).toEqual([2, expect.stringMatching(reason)]);
  expect((await tctl(["get", "db", "--format=names"])).out.trim()).toBe("");
});

test("tctl db ls lists what agents offer, with the reason of an unhealthy one", async () => {
  const { secret } = await t.admin.createToken({ roles: ["db"] });
  const proxy = await joinHost(t, "p1", { role: "proxy" });
  for (const [hostname, details] of [
    ["db-1", { health: "healthy" }],
    ["db-2", { health: "unhealthy", health_error: "no connection to 10.0.0.5:5432: connection refused" }],
  ] as const) {
    const { hostId } = await t.connect().join(joinFacts("node", secret, { hostname, services: ["db"] }));
    await proxy.client.reportNode({ hostId, hostname, services: ["db"], version: "1.0.0", connected: true });
    const orders = { kind: "db", name: "orders", labels: { env: "prod" }, details: { protocol: "postgres", ...details } };
    await proxy.client.reportOffered({ hostId, offered: hostname === "db-1" ? [orders, { ...orders, name: "logs" }] : [orders] });
  }
  expect((await tctl(["db", "ls"])).out).toBe(
    [
      "Database Protocol Health  Healthy agents Labels",
      "-------- -------- ------- -------------- --------",
      "logs     postgres healthy 1 of 1         env=prod",
      "orders   postgres healthy 1 of 2         env=prod",
      "",
      "Unhealthy Agent on Reason",
      "--------- -------- --------------------------------------------------",
      "orders    db-2     no connection to 10.0.0.5:5432: connection refused",
      "",
    ].join("\n"),
  );
  expect((await tctl(["db", "ls", "--search=log", "--format=names"])).out).toBe("logs\n");
  expect((await tctl(["db", "ls", "env=test", "--format=json"])).out.trim()).toBe("[]");
  expect((await tctl(["db", "ls", "env=prod", "orders", "--format=yaml"])).out).toContain("hostname: db-2");
  expect(await tctl(["db", "ls", "--query=status =="])).toMatchObject({ status: 2 });
});
