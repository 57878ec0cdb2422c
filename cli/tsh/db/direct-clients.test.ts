import fc from "fast-check";
import { expect, test } from "vitest";
import { announcedAddress, directHostPort } from "./direct-address.ts";
import { clientIdentity, directCommands, directVariables } from "./direct-clients.ts";

const files = clientIdentity("/h/.tsh", { host: "p.example.com", port: 443 }, "orders");
const address = { host: "p.example.com", port: 5432 };
const login = (protocol: string, database = "sales") => ({ protocol, user: "reader", database });

test("the files of a login", () => {
  const folder = "/h/.tsh/p.example.com_443";
  const certs = `${folder}/certs/db/orders`;
  expect(files).toEqual({ ca: `${folder}/ca.pem`, certificate: `${certs}.crt`, key: `${certs}.key`, both: `${certs}.pem` });
});

test.for<readonly [protocol: string, programs: readonly string[], holds: readonly string[]]>([
  ["postgres", ["psql"], ["sslmode=verify-full", "host=p.example.com", "port=5432", "user=reader", "dbname=sales", `sslcert='${files.certificate}'`]],
  ["mysql", ["mariadb", "mysql"], ["--protocol=TCP", "--host=p.example.com", "--user=reader", `--ssl-ca=${files.ca}`, `--ssl-key=${files.key}`]],
  ["mongodb", ["mongosh"], ["mongodb://p.example.com:5432/sales?", "tls=true", "directConnection=true"]],
  ["redis", ["redis-cli"], ["--tls", "--cacert", files.ca, "--cert", files.certificate, "-n sales"]],
  ["another", [], []],
])("the clients of %s present the certificate, and verify the port's", ([protocol, programs, holds]) => {
  const commands = directCommands({ login: login(protocol), address, files });
  expect(commands.map(({ program }) => program)).toEqual(programs);
  const text = commands.map(({ args }) => args.join(" ")).join(" ");
  for (const part of holds) expect(text).toContain(part);
});

test("variables are for libpq alone", () => {
  expect(directVariables({ login: login("postgres", ""), address, files })).toEqual({
    PGHOST: "p.example.com",
    PGPORT: "5432",
    PGUSER: "reader",
    PGSSLMODE: "verify-full",
    PGSSLROOTCERT: files.ca,
    PGSSLCERT: files.certificate,
    PGSSLKEY: files.key,
    PGGSSENCMODE: "disable",
  });
  expect(directVariables({ login: login("redis"), address, files })).toBeUndefined();
});

const answer = (db: object): string => JSON.stringify({ proxy: { db } });
test.for<readonly [text: string, protocol: string, address: string]>([
  [answer({ postgres_public_addr: "p.example.com:5432" }), "postgres", "p.example.com:5432"],
  [answer({ mongo_public_addr: "[2001:db8::1]:1" }), "mongodb", "[2001:db8::1]:1"],
  [answer({ mysql_public_addr: "" }), "mysql", ""],
  [answer({ redis_public_addr: 6379 }), "redis", ""],
  [answer({ mysql_public_addr: "-oProxyCommand=x y" }), "mysql", ""],
  [answer({ postgres_public_addr: "p.example.com:5432" }), "constructor", ""],
  [JSON.stringify({ proxy: null }), "postgres", ""],
  ["<html>", "postgres", ""],
])("the proxy's answer %j has for %s the address %j", ([text, protocol, expected]) => {
  expect(announcedAddress(text, protocol)).toBe(expected);
});

test("whatever a proxy answers, the address is one, or there is none", () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.json(),
        fc.string().map((one) => answer({ postgres_public_addr: one })),
      ),
      (text) => {
        const found = announcedAddress(text, "postgres");
        expect(found === "" || directHostPort(found) !== undefined).toBe(true);
      },
    ),
  );
});
