import { spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { hasProgram } from "../../../test/world/has-program.ts";
import { clientFile, removeClientSettings, writeClientSettings } from "./client-files.ts";

let home = "";
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "platform-client-files-"));
});
afterEach(async () => await rm(home, { recursive: true }));

const orders = { name: "orders", protocol: "postgres", user: "reader", database: "orders", port: 21_000, direct: "" };
const shop = { name: "shop", protocol: "mysql", user: "it#r \\n", database: "my shop", port: 21_001, direct: "" };
const files = { ca: "/h/ca.pem", certificate: "/h/certs/db/o.crt", key: "/h/certs/db/o.key", both: "/h/certs/db/o.pem" };
const whose = { cluster: "test", files };

test("a service of libpq: the file, beside what stands there", async () => {
  await writeFile(join(home, ".pg_service.conf"), "# mine\n[old]\nhost=db\n");
  const file = await writeClientSettings({ HOME: home }, whose, orders);
  expect(file).toBe(join(home, ".pg_service.conf"));
  expect(await readFile(file ?? "", "utf8")).toBe(
    "# mine\n[old]\nhost=db\n[test-orders]\nhost=127.0.0.1\nport=21000\nuser=reader\ndbname=orders\nsslmode=disable\ngssencmode=disable\n",
  );
  expect((await stat(file ?? "")).mode & 0o777).toBe(0o600);
  await removeClientSettings({ HOME: home }, "test", ["orders"]);
  expect(await readFile(file ?? "", "utf8")).toBe("# mine\n[old]\nhost=db\n");
  await expect(stat(join(home, ".my.cnf"))).rejects.toMatchObject({ code: "ENOENT" });
  expect(clientFile("postgres", { HOME: home, PGSERVICEFILE: "/x" })).toBe("/x");
});

test("groups of MySQL and MariaDB: only MariaDB's clients read skip-ssl, only mysql the database", async () => {
  const file = (await writeClientSettings({ HOME: home }, whose, shop)) ?? "";
  expect(await readFile(file, "utf8")).toBe(
    '[client_test-shop]\nhost=127.0.0.1\nport=21001\nprotocol=tcp\nuser="it#r \\\\n"\n[client-mariadb_test-shop]\nskip-ssl\n[mysql_test-shop]\ndatabase="my shop"\n',
  );
  await writeClientSettings({ HOME: home }, whose, { ...shop, database: "" });
  expect(await readFile(file, "utf8")).toMatch(/\[mysql_test-shop\]\n$/);
  await removeClientSettings({ HOME: home }, "test", ["shop"]);
  expect(await readFile(file, "utf8")).toBe("");
});

test("a second service for the proxy's own port, which goes with the port and with the login", async () => {
  const direct = "db.example.com:5432";
  const file = (await writeClientSettings({ HOME: home }, whose, { ...orders, direct })) ?? "";
  expect(await readFile(file, "utf8")).toContain(
    "[test-orders.direct]\nhost=db.example.com\nport=5432\nuser=reader\ndbname=orders\nsslmode=verify-full\nsslrootcert=/h/ca.pem\nsslcert=/h/certs/db/o.crt\nsslkey=/h/certs/db/o.key\ngssencmode=disable\n",
  );
  await writeClientSettings({ HOME: home }, whose, orders);
  expect(await readFile(file, "utf8")).not.toContain("direct");
  await writeClientSettings({ HOME: home }, whose, { ...orders, direct });
  await removeClientSettings({ HOME: home }, "test", ["orders"]);
  expect(await readFile(file, "utf8")).toBe("");
  const options = (await writeClientSettings({ HOME: home }, whose, { ...shop, user: "reader", direct: "db.example.com:3036" })) ?? "";
  expect(await readFile(options, "utf8")).toContain(
    "[client_test-shop.direct]\nhost=db.example.com\nport=3036\nprotocol=tcp\nuser=reader\nssl-ca=/h/ca.pem\nssl-cert=/h/certs/db/o.crt\nssl-key=/h/certs/db/o.key\n[client-mariadb_test-shop.direct]\nssl-verify-server-cert\n",
  );
});

test("a name that an option file cannot hold is refused before anything is written", async () => {
  await expect(writeClientSettings({ HOME: home }, whose, { ...shop, user: `a"b` })).rejects.toMatchObject({ code: "invalid" });
  await expect(stat(join(home, ".my.cnf"))).rejects.toMatchObject({ code: "ENOENT" });
  expect(await writeClientSettings({ HOME: home }, whose, { ...shop, protocol: "redis" })).toBeUndefined();
});

test.runIf(hasProgram("mariadb"))("mariadb reads the values as they were meant", async () => {
  const file = (await writeClientSettings({ HOME: home }, whose, shop)) ?? "";
  const args = [`--defaults-file=${file}`, "--defaults-group-suffix=_test-shop", "--print-defaults"];
  const { stdout } = spawnSync("mariadb", args, { encoding: "utf8" });
  for (const one of ["--port=21001", "--protocol=tcp", "--user=it#r \\n", "--skip-ssl", "--database=my shop"]) expect(stdout).toContain(one);
});

test.runIf(hasProgram("psql"))("psql finds the service", async () => {
  await writeClientSettings({ HOME: home }, whose, { ...orders, port: 1 });
  const { stderr } = spawnSync("psql", ["service=test-orders", "-c", "select 1"], {
    encoding: "utf8",
    env: { ...process.env, HOME: home, PGSERVICEFILE: join(home, ".pg_service.conf") },
  });
  expect(stderr).toContain("port 1 failed: Connection refused");
});
