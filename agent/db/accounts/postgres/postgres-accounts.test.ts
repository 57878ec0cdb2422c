import { createHash } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import { accountServerContract } from "../account-server.contract.ts";
import { markerRole } from "../account-server.ts";
import { FakePostgres } from "../testing/fake-postgres.ts";
import { PostgresAccounts } from "./postgres-accounts.ts";

const readers = { name: "alice", roles: ["readers"] };
const writers = { name: "alice", roles: ["writers"] };

describe("accounts of a PostgreSQL server", () => {
  let server: FakePostgres;
  let one: PostgresAccounts;
  let other: PostgresAccounts;
  beforeEach(() => {
    server = new FakePostgres();
    for (const role of ["readers", "writers"]) server.add(role);
    [one, other] = [new PostgresAccounts(server.connect(), "platform-admin"), new PostgresAccounts(server.connect(), "platform-admin")];
  });
  const alice = () => {
    const role = server.roles.get("alice");
    return role && { login: role.login, roles: [...role.memberOf].sort() };
  };

  test("made with its mark and roles, disabled without them, let in again with others", async () => {
    expect(await one.activate(readers)).toBe("ready");
    expect(alice()).toEqual({ login: true, roles: [markerRole, "readers"] });
    expect(await one.deactivate("alice", "keep")).toBe("disabled");
    expect(alice()).toEqual({ login: false, roles: [markerRole] });
    expect(await one.deactivate("alice", "keep")).toBe("done");
    expect(await one.activate(writers)).toBe("ready");
    expect(alice()).toEqual({ login: true, roles: [markerRole, "writers"] });
  });

  test("dropped, or disabled where it owns objects", async () => {
    await one.activate(readers);
    expect(await one.deactivate("alice", "best_effort_drop")).toBe("deleted");
    expect(alice()).toBeUndefined();
    await one.activate(readers);
    server.owners.add("alice");
    expect(await one.deactivate("alice", "best_effort_drop")).toBe("disabled");
    expect(alice()).toEqual({ login: false, roles: [markerRole] });
  });

  accountServerContract(() => ({ one, other, connected: server.connected, isOpen: (name) => server.roles.get(name)?.login === true }));

  test("locks that another account of the server holds keep nobody out, and no account in", async () => {
    const mallory = server.connect("mallory");
    const hash = createHash("sha256").update("alice").digest().readInt32BE(0);
    for (const [first, second] of [
      [1886151028, 0],
      [1886151028, hash],
      [hash, 1],
    ] as const) {
      await mallory.query("it", `select pg_advisory_lock(${first}, ${second})`);
    }
    expect(await one.activate(readers)).toBe("ready");
    expect(await one.deactivate("alice", "keep")).toBe("disabled");
  });

  test("only what is ours is touched", async () => {
    server.add("carol", { login: true });
    server.add("root", { login: true, superuser: true });
    server.roles.get("root")?.memberOf.add(markerRole);
    for (const name of ["carol", "root"]) {
      await expect(one.activate({ name, roles: ["readers"] }), name).rejects.toMatchObject({
        code: "denied",
        message: expect.stringContaining("no agent has made it"),
      });
      await expect(one.deactivate(name, "best_effort_drop"), name).rejects.toMatchObject({ code: "denied" });
      expect(server.roles.get(name)?.login).toBe(true);
    }
    for (const name of ["platform-admin", "Platform-Admin", markerRole, "public", "pg_monitor", "a".repeat(64)])
      await expect(one.activate({ name, roles: [] }), name).rejects.toMatchObject({ code: "denied" });
    for (const role of ["platform-admin", markerRole])
      await expect(one.activate({ name: "dan", roles: [role] }), role).rejects.toMatchObject({ code: "denied" });
    expect(server.roles.has("dan")).toBe(false);
  });

  test("a role that the server does not have is named", async () => {
    await expect(one.activate({ name: "alice", roles: ["nobody"] })).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("nobody"),
    });
  });
});
