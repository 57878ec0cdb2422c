import { createHash } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import { accountServerContract } from "../account-server.contract.ts";
import { markerRole } from "../account-server.ts";
import { FakeMysql } from "../testing/fake-mysql.ts";
import { MysqlAccounts } from "./mysql-accounts.ts";
import { quoteValue } from "./quote.ts";

const readers = { name: "alice", roles: ["readers"] };
const writers = { name: "alice", roles: ["writers"] };

describe.for([["MySQL"], ["MariaDB"]])("accounts of %s", ([kind]) => {
  const isMariadb = kind === "MariaDB";
  let server: FakeMysql;
  let one: MysqlAccounts;
  let other: MysqlAccounts;
  beforeEach(() => {
    server = new FakeMysql(isMariadb);
    for (const role of ["readers", "writers"]) server.addRole(role);
    const logIn = async (account: string) => server.connect(account);
    const accounts = (): MysqlAccounts => new MysqlAccounts(server.connect(), { adminUser: "platform-admin", logIn });
    [one, other] = [accounts(), accounts()];
  });
  const alice = () => {
    const account = server.accounts.get("alice");
    const roles = isMariadb ? server.accounts.get("platform-roles-alice")?.roles : account?.roles;
    return account && { locked: account.locked, roles: [...(roles ?? [])].filter((role) => role !== markerRole) };
  };

  test("made with its roles in force, locked without them, let in again with others", async () => {
    expect(await one.activate(readers)).toBe("ready");
    expect(alice()).toEqual({ locked: false, roles: ["readers"] });
    expect(server.accounts.get("alice")?.defaultRole).toBe(isMariadb ? "platform-roles-alice" : "");
    expect(await one.deactivate("alice", "keep")).toBe("disabled");
    expect(alice()).toEqual({ locked: true, roles: [] });
    expect(await one.deactivate("alice", "keep")).toBe("done");
    expect(await one.activate(writers)).toBe("ready");
    expect(alice()).toEqual({ locked: false, roles: ["writers"] });
  });

  test("dropped with all that was made for it, or disabled where the server refuses", async () => {
    const before = server.accounts.size;
    await one.activate(readers);
    expect(await one.deactivate("alice", "best_effort_drop")).toBe("deleted");
    // The marker stays.
    expect(server.accounts.size).toBe(before + 1);
    await one.activate(readers);
    server.definers.add("alice");
    expect(await one.deactivate("alice", "best_effort_drop")).toBe("disabled");
    expect(alice()).toEqual({ locked: true, roles: [] });
  });

  accountServerContract(() => ({
    one,
    other,
    connected: server.connected,
    isOpen: (name) => server.accounts.get(name)?.locked === false,
  }));

  test("marks that another account of the server holds do not count; the holder of a lock that is in the way is named", async () => {
    const mallory = server.connect("mallory");
    const take = async (name: string) => await mallory.query("it", `select get_lock(${quoteValue(name)}, 0)`);
    const hash = createHash("sha256").update("alice").digest("hex").slice(0, 32);
    for (let index = 0; index < 15; index += 1) await take(`platform-use-${hash}-${index}`);
    expect(await one.activate(readers)).toBe("ready");
    expect(await one.deactivate("alice", "keep")).toBe("disabled");
    const named = {
      code: "unavailable",
      message: expect.stringContaining("mallory@localhost (connection 3)"),
      hint: expect.stringContaining("kill 3"),
    };
    await take(`platform-use-${hash}-15`);
    await expect(one.activate(readers)).rejects.toMatchObject(named);
    mallory.close();
    await server.connect("mallory").query("it", `select get_lock(${quoteValue("platform-accounts")}, 0)`);
    await expect(one.activate(readers)).rejects.toMatchObject({ code: "unavailable", message: expect.stringContaining("mallory@localhost") });
  });

  test("only what is ours is touched, and nothing that the server would take in its place", async () => {
    server.add("carol", "%");
    server.add("dan", "localhost");
    for (const name of ["carol", "dan"]) {
      await expect(one.activate({ name, roles: [] }), name).rejects.toMatchObject({
        code: "denied",
        message: expect.stringContaining("no agent has made it"),
      });
      await expect(one.deactivate(name, "best_effort_drop"), name).rejects.toMatchObject({ code: "denied" });
      expect(server.accounts.get(name)?.locked).toBe(false);
    }
    for (const name of ["platform-admin", "root", "a".repeat(65)])
      await expect(one.activate({ name, roles: [] }), name).rejects.toMatchObject({ code: "denied" });
    await expect(one.activate({ name: "erin", roles: ["PLATFORM-ADMIN"] })).rejects.toMatchObject({ code: "denied" });
    server.add("", "localhost");
    await expect(one.activate(readers)).rejects.toMatchObject({ code: "unavailable", message: expect.stringContaining("without a name") });
    expect(alice()).toBeUndefined();
  });

  test("a role that the server does not have: the account stays out, and the next session with a right one repairs it", async () => {
    await expect(one.activate({ name: "alice", roles: ["nobody"] })).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("nobody"),
    });
    expect(alice()?.locked ?? true).toBe(true);
    expect(await other.activate(readers)).toBe("ready");
    expect(alice()).toEqual({ locked: false, roles: ["readers"] });
  });
});
