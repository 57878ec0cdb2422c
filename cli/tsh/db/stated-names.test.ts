import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { memoryIo } from "../../memory-io.ts";
import { noOptions } from "../../no-options.ts";
import type { Profile } from "../../profile/profile.ts";
import { profileOf } from "../../profile/testing/profile-of.ts";
import { saveDatabaseLogins } from "./database-logins.ts";
import { namesForTunnel, statedNames } from "./stated-names.ts";

let home = "";
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "platform-stated-names-"));
  await saveDatabaseLogins(home, { cluster: "test", user: "alice" }, [
    { name: "orders", protocol: "postgres", user: "writer", database: "sales", port: 21_000, direct: "" },
  ]);
});
afterAll(async () => await rm(home, { recursive: true }));

const profile = (users: readonly string[], names: readonly string[] = []): Profile => profileOf({ principals: { db: { user: users, name: names } } });

test.for([
  ["flags first", { dbUser: "a", dbName: "b" }, "orders", ["x"], { user: "a", name: "b" }],
  ["then the login to the database", {}, "orders", ["x"], { user: "writer", name: "sales" }],
  ["then the only account of the roles", {}, "shop", ["x"], { user: "x", name: "" }],
  ["of several the client states one", {}, "shop", ["x", "y"], { user: "", name: "" }],
  ["an identity file has its own", { identity: "file" }, "orders", ["robot"], { user: "robot", name: "" }],
] as const)("%s", async ([, given, name, users, names]) => {
  const texts: Readonly<Record<string, string>> = given;
  const options = { ...noOptions, text: (key: string) => texts[key] };
  expect(await statedNames({ io: memoryIo({ TSH_HOME: home }), options }, profile(users), { name, protocol: "postgres" })).toEqual(names);
});

test("the only logical database of the roles is stated where agents enforce it, after those of flags and login", async () => {
  const named = async (protocol: string, names: readonly string[], name = "shop", dbName?: string) => {
    const options = { ...noOptions, text: (key: string) => (key === "dbName" ? dbName : undefined) };
    return (await statedNames({ io: memoryIo({ TSH_HOME: home }), options }, profile(["x"], names), { name, protocol })).name;
  };
  expect(await named("postgres", ["sold"])).toBe("sold");
  expect(await named("mongodb", ["sold"])).toBe("sold");
  expect(await named("mysql", ["sold"])).toBe("");
  expect(await named("postgres", ["sold", "other"])).toBe("");
  expect(await named("postgres", ["sold"], "orders")).toBe("sales");
  expect(await named("postgres", ["sold"], "orders", "given")).toBe("given");
});

test("a schema of MySQL is stated by the client alone", () => {
  const names = { user: "reader", name: "shop" };
  expect(namesForTunnel({ protocol: "mysql" }, names)).toEqual({ user: "reader", name: "" });
  expect(namesForTunnel({ protocol: "postgres" }, names)).toEqual(names);
});
