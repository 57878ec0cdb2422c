import { X509Certificate } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { PlatformError } from "../../core/errors/platform-error.ts";
import type { DbProtocol } from "../../core/resources/db.ts";
import type { Role } from "../../core/resources/role.ts";
import { type InsideAuthorities, insideAuthorities } from "../../test/inside/authorities.ts";
import { databaseRole, lockOf, testDatabase } from "../../test/inside/database-user.ts";
import { serviceDeps } from "../../test/inside/service-deps.ts";
import type { Access } from "../access/access-source.ts";
import { databaseJudge } from "./database-judge.ts";
import type { DatabaseNames } from "./engine.ts";

describe("the agent's own decision about a database", () => {
  let own: InsideAuthorities;
  let credentials: Awaited<ReturnType<InsideAuthorities["host"]>>;
  let alice: Buffer;
  beforeAll(async () => {
    own = await insideAuthorities();
    credentials = await own.host("db-1");
    alice = derOf(await own.user("alice"));
  });

  interface Options {
    readonly certificate?: Buffer | undefined;
    readonly protocol?: DbProtocol;
    /** On arrival, and at the login. */
    readonly access?: Partial<Access>;
    readonly later?: ((access: Access) => Promise<Access>) | undefined;
    readonly now?: () => Date;
  }

  async function judge({ certificate = alice, protocol = "postgres", access, later, now }: Options = {}) {
    let first: Access | undefined;
    const base = serviceDeps({
      authorities: own,
      credentials,
      node: { name: "db-1", labels: {} },
      access: { roles: [databaseRole()], ...access },
    });
    first = await base.deps.access.at("");
    const answer = async (): Promise<Access> => (later === undefined ? (first as Access) : await later(first as Access));
    const deps = { ...base.deps, access: { ...base.deps.access, at: answer, fresh: answer }, ...(now && { now }) };
    const made = databaseJudge({ certificate, database: testDatabase(protocol), clientAddress: "192.0.2.7:40000" }, deps);
    return { ...made, first };
  }

  test("where a role demands a code, only a certificate that one confirmed for this database opens a session, by the role that allows the account", async () => {
    const careful = { ...databaseRole({ users: ["writer"], options: { require_session_mfa: true } }), metadata: { name: "careful" } };
    const access = { roles: [databaseRole(), careful] };
    const marked = async (name: string, validBefore?: Date): Promise<Buffer> => {
      const mfa = { device: "otp", kind: "db", name, until: "2036-11-20T20:00:00.000Z" };
      const facts = { roles: ["access", "careful"], mfa, route: { kind: "db", name: "orders" }, ...(validBefore && { validBefore }) };
      return derOf(await own.user("alice", facts));
    };
    const plain = derOf(await own.user("alice", { roles: ["access", "careful"] }));
    const [writer, reader] = [
      { user: "writer", name: "shop" },
      { user: "reader", name: "shop" },
    ];
    const without = await judge({ certificate: plain, access });
    expect(() => without.arrive(writer, without.first)).toThrow(expect.objectContaining({ code: "mfa_required" }));
    await expect(without.login(writer)).rejects.toMatchObject({ code: "mfa_required", hint: expect.stringContaining("tsh proxy db orders") });
    await expect(without.login(reader)).resolves.toMatchObject({ identity: { name: "alice" } });
    await expect((await judge({ certificate: await marked("orders"), access })).login(writer)).resolves.toMatchObject({
      identity: { name: "alice", validBefore: new Date("2036-11-20T20:00:00.000Z") },
    });
    await expect((await judge({ certificate: await marked("payroll"), access })).login(writer)).rejects.toMatchObject({ code: "denied" });
    const over = await marked("orders", new Date(Math.floor(Date.now() / 1000) * 1000 - 1_000));
    await expect((await judge({ certificate: over, access })).login(writer)).rejects.toMatchObject({ code: "unauthenticated" });
  });

  test.for<readonly [DbProtocol, DatabaseNames, "allowed" | RegExp]>([
    ["postgres", { user: "reader", name: "shop" }, "allowed"],
    ["postgres", { user: "writer", name: "shop" }, /may not connect as writer on orders: no role lists this database user/],
    ["postgres", { user: "reader", name: "payroll" }, /may not use database payroll/],
    ["postgres", { user: "Reader", name: "shop" }, /may not connect as Reader/],
    ["postgres", { user: "", name: "shop" }, /may not connect as/],
    ["postgres", { user: "*", name: "shop" }, /may not connect as \*/],
    ["mongodb", { user: "reader", name: "payroll" }, /may not use database payroll/],
    ["redis", { user: "reader", name: "1" }, /may not use database 1/],
    // The server's own rights bind the schema.
    ["mysql", { user: "reader", name: "payroll" }, "allowed"],
    ["mysql", { user: "writer", name: "shop" }, /may not connect as writer/],
  ])("%s as %j: %s", async ([protocol, names, expected]) => {
    const { arrive, login, first } = await judge({ protocol });
    if (expected === "allowed") {
      expect(arrive(names, first).identity.name).toBe("alice");
      await expect(login(names)).resolves.toMatchObject({ identity: { name: "alice" } });
      return;
    }
    const refusal = expect.objectContaining({ code: "denied", message: expect.stringMatching(expected) });
    expect(() => arrive(names, first)).toThrow(refusal);
    await expect(login(names)).rejects.toEqual(refusal);
  });

  test("a user who may reach the database at all arrives without names, and is denied the account later", async () => {
    const { arrive, login, first } = await judge();
    expect(arrive({}, first).identity.name).toBe("alice");
    await expect(login({ user: "root", name: "shop" })).rejects.toMatchObject({ code: "denied" });
    const stranger = await judge({ access: { roles: [databaseRole({ labels: { env: "prod" } })] } });
    expect(() => stranger.arrive({}, stranger.first)).toThrow(/role access does not allow its labels/);
  });

  const names = { user: "reader", name: "shop" };
  test.for<readonly [what: string, later: Options["later"], code: string]>([
    ["a lock", async (access) => ({ ...access, locks: [lockOf("alice")] }), "denied"],
    ["the removal of the role's right", async (access) => ({ ...access, roles: [databaseRole({ users: ["other"] })] }), "denied"],
    ["a role that this agent cannot read", async (access) => ({ ...access, unreadable: ["access"] }), "denied"],
    ["a rotation that no longer trusts the user's key", async (access) => ({ ...access, userCaPem: [] }), "unauthenticated"],
    ["an auth service that is out of reach", () => Promise.reject(new PlatformError("unavailable", "away")), "unavailable"],
  ])("%s between the greeting and the login counts", async ([, later, code]) => {
    const { arrive, login, mayUse, first } = await judge({ later });
    expect(arrive(names, first).identity.name).toBe("alice");
    await expect(login(names)).rejects.toMatchObject({ code });
    expect(mayUse(names)).toBe(false);
  });

  test("an expiry between the greeting and the login counts; after the login it is for the rules of the session", async () => {
    let now = new Date();
    const [late, entered] = [await judge({ now: () => now }), await judge({ now: () => now })];
    late.arrive(names, late.first);
    await entered.login(names);
    now = new Date(Date.now() + 2 * 3_600_000);
    await expect(late.login(names)).rejects.toMatchObject({ code: "unauthenticated", message: expect.stringContaining("expired") });
    expect(entered.mayUse(names)).toBe(true);
  });

  test("other logical databases on the same connection: as the roles of the login say, and none before it", async () => {
    const { login, mayUse } = await judge({ access: { roles: [databaseRole({ names: ["shop", "stock"], deny: { db_names: ["stock"] } })] } });
    expect(mayUse({ user: "reader", name: "shop" })).toBe(false);
    await login({ user: "reader", name: "shop" });
    for (const [name, expected] of [
      ["shop", true],
      ["stock", false],
      ["payroll", false],
      ["", false],
      ["*", false],
    ] as const)
      expect(mayUse({ user: "reader", name }), name).toBe(expected);
    expect(mayUse({ user: "root", name: "shop" })).toBe(false);
  });

  test("the verdict about a name is remembered until the next login, a bounded number of them and no long names", async () => {
    const decisions: string[] = [];
    let role = databaseRole({ names: ["*"] });
    const watched = (): Role => ({
      ...role,
      get spec() {
        decisions.push("looked");
        return role.spec;
      },
    });
    const { login, mayUse } = await judge({ later: async (access) => ({ ...access, roles: [watched()] }) });
    const looks = (...asked: readonly string[]): readonly boolean[] =>
      asked.map((name) => {
        decisions.length = 0;
        expect(mayUse({ user: "reader", name }), name).toBe(role.spec.deny === undefined);
        return decisions.length > 0;
      });
    await login({ user: "reader", name: "shop" });
    expect(looks("stock", "stock", "payroll", "stock")).toEqual([true, false, true, false]);
    expect(looks("x".repeat(300), "x".repeat(300))).toEqual([true, true]);
    expect(mayUse({ user: "root", name: "stock" })).toBe(false);
    for (let count = 0; count < 200; count += 1) mayUse({ user: "reader", name: `d${count}` });
    expect(looks("stock", "d199")).toEqual([true, false]);
    role = databaseRole({ names: ["*"], deny: { db_names: ["stock"] } });
    await login({ user: "reader", name: "shop" });
    expect(looks("stock")).toEqual([true]);
  });

  test("all logical databases: only where a role allows every one, and none denies any", async () => {
    const all = databaseRole({ names: ["*"] });
    for (const [role, expected] of [
      [all, true],
      [databaseRole({ names: ["shop"] }), false],
      [databaseRole({ names: ["*"], deny: { db_names: ["payroll"] } }), false],
    ] as const) {
      const { login, mayUse } = await judge({ access: { roles: [role] } });
      await login(names);
      expect(mayUse({ user: "reader", name: "*" })).toBe(expected);
    }
  });

  test("lock: strict asks for the newest locks once more", async () => {
    let asked = 0;
    const later = async (access: Access): Promise<Access> => {
      asked += 1;
      return asked === 2 ? { ...access, locks: [lockOf("alice")] } : access;
    };
    const { login } = await judge({ later, access: { roles: [databaseRole({ options: { lock: "strict" } })] } });
    await expect(login(names)).rejects.toMatchObject({ code: "denied" });
    expect(asked).toBe(2);
  });
});

function derOf({ tlsCertificate }: { readonly tlsCertificate: string }): Buffer {
  return new X509Certificate(tlsCertificate).raw;
}
