import { createHash, randomInt } from "node:crypto";
import type { DbUserRule } from "../../../../core/access/db-user-rule.ts";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import { type AccountServer, type Deactivation, markerRole, mostSwept, type WantedAccount } from "../account-server.ts";
import { checkAccount, foreignAccount } from "../name-faults.ts";
import type { PostgresClient } from "./postgres-client.ts";
import { postgresNames, quoteName } from "./quote-name.ts";

interface Found {
  readonly canLogin: boolean;
  /** Other than the marker. */
  readonly roles: readonly string[];
}

/**
 * Accounts of a PostgreSQL server. Each step is one transaction under a lock that all agents share, and that only their admin can take: that of the role that
 * marks accounts. An account in use is marked by an advisory lock of this connection, which every agent can see and the server drops with the connection. Anyone
 * may take advisory locks: the second number cannot be predicted, and locks of other accounts do not count.
 */
export class PostgresAccounts implements AccountServer {
  readonly #client: Pick<PostgresClient, "isOpen" | "query" | "close">;
  readonly #adminUser: string;
  /** Accounts in use, with the second number of their locks. */
  readonly #used = new Map<string, number>();
  #hasMarker = false;

  constructor(client: Pick<PostgresClient, "isOpen" | "query" | "close">, adminUser: string) {
    this.#client = client;
    this.#adminUser = adminUser;
  }

  get isOpen(): boolean {
    return this.#client.isOpen;
  }

  close(): void {
    this.#client.close();
  }

  async activate(account: WantedAccount): Promise<"ready" | "busy"> {
    checkAccount(account, postgresNames, this.#adminUser);
    return await this.#change(async () => {
      const { name, roles } = account;
      const found = await this.#find(name);
      if (found === undefined)
        await this.#run("the creation of the account", `create role ${quoteName(name)} login in role ${quoteName(markerRole)}`);
      const now = found?.roles ?? [];
      const isSame = now.join("\0") === roles.join("\0");
      if (found?.canLogin === true && !isSame && (await this.#isInUse(name))) return "busy";
      if (!isSame) await this.#setRoles(account, now);
      if (found?.canLogin === false) await this.#run("the login of the account", `alter role ${quoteName(name)} login`);
      await this.#mark(name);
      return "ready";
    });
  }

  async deactivate(name: string, mode: DbUserRule["mode"]): Promise<Deactivation> {
    return await this.#change(async () => {
      const number = this.#used.get(name);
      if (number !== undefined) await this.#ask("the mark of the account", `select pg_advisory_unlock(${lockOf(name)}, ${number})`);
      this.#used.delete(name);
      return await this.#endUse(name, mode);
    });
  }

  async sweep(): Promise<readonly string[]> {
    const rows = await this.#ask(
      "the list of accounts",
      `select r.rolname from pg_roles r join pg_auth_members m on m.member = r.oid join pg_roles g on g.oid = m.roleid
       where g.rolname = $1 and not m.admin_option and r.rolcanlogin and not r.rolsuper
         and not exists (select from pg_stat_activity a where a.usesysid = r.oid) limit ${mostSwept}`,
      [markerRole],
    );
    const swept: string[] = [];
    for (const [name] of rows) {
      if (typeof name !== "string" || this.#used.has(name)) continue;
      if ((await this.#change(async () => await this.#endUse(name, "keep"))) === "disabled") swept.push(name);
    }
    return swept;
  }

  /** This connection no longer uses the account. */
  async #endUse(name: string, mode: DbUserRule["mode"]): Promise<Deactivation> {
    if (!(await this.#isAlone(name))) return "used";
    const found = await this.#find(name);
    if (found === undefined) return "done";
    if ((await this.#connections(name)) > 0) return "busy";
    if (mode === "best_effort_drop" && (await this.#drop(name))) return "deleted";
    if (!found.canLogin && found.roles.length === 0) return "done";
    if (found.roles.length > 0) await this.#run("to revoke its roles", `revoke ${found.roles.map(quoteName).join(", ")} from ${quoteName(name)}`);
    await this.#run("to disable the account", `alter role ${quoteName(name)} nologin password null`);
    return "disabled";
  }

  /** False: it owns objects, or the server refuses for another reason. */
  async #drop(name: string): Promise<boolean> {
    await this.#run("a savepoint", "savepoint before_drop");
    try {
      await this.#run("to drop the account", `drop role ${quoteName(name)}`);
      return true;
    } catch (thrown) {
      if (!this.isOpen) throw thrown;
      await this.#run("to go back to a savepoint", "rollback to savepoint before_drop");
      return false;
    }
  }

  async #setRoles({ name, roles }: WantedAccount, now: readonly string[]): Promise<void> {
    const [lost, won] = [now.filter((role) => !roles.includes(role)), roles.filter((role) => !now.includes(role))];
    if (lost.length > 0) await this.#run("to revoke its roles", `revoke ${lost.map(quoteName).join(", ")} from ${quoteName(name)}`);
    if (won.length > 0) await this.#run(`the roles ${won.join(", ")}`, `grant ${won.map(quoteName).join(", ")} to ${quoteName(name)}`);
    const more = (await this.#rolesOf(name)).filter((role) => !roles.includes(role));
    if (more.length === 0) return;
    throw new PlatformError("denied", `the account ${name} has roles at the server that somebody else has granted: ${more.join(", ")}`, {
      hint: "an admin of the server can revoke them",
    });
  }

  /** Two agents may make it at the same time. */
  async #makeMarker(): Promise<void> {
    const isThere = async (): Promise<boolean> =>
      (await this.#ask("the role that marks accounts", "select 1 from pg_roles where rolname = $1", [markerRole])).length > 0;
    if (this.#hasMarker || (await isThere())) return;
    try {
      await this.#run("the role that marks accounts", `create role ${quoteName(markerRole)} nologin`);
    } catch (thrown) {
      if (!this.isOpen || !(await isThere())) throw thrown;
    }
  }

  /** Undefined: the account does not exist. Throws `denied` for one that is not ours. */
  async #find(name: string): Promise<Found | undefined> {
    const [row] = await this.#ask(
      "the account",
      `select r.rolcanlogin, not r.rolsuper and exists (select from pg_auth_members m join pg_roles g on g.oid = m.roleid
         where m.member = r.oid and g.rolname = $2 and not m.admin_option) from pg_roles r where r.rolname = $1`,
      [name, markerRole],
    );
    if (row === undefined) return undefined;
    if (row[1] !== "t") throw foreignAccount(name);
    return { canLogin: row[0] === "t", roles: await this.#rolesOf(name) };
  }

  async #rolesOf(name: string): Promise<readonly string[]> {
    const rows = await this.#ask(
      "the roles of the account",
      `select distinct g.rolname from pg_auth_members m join pg_roles g on g.oid = m.roleid join pg_roles r on r.oid = m.member
       where r.rolname = $1 and g.rolname <> $2`,
      [name, markerRole],
    );
    return rows.flatMap(([role]) => role ?? []).sort();
  }

  async #isInUse(name: string): Promise<boolean> {
    return !(await this.#isAlone(name)) || (await this.#connections(name)) > 0;
  }

  async #mark(name: string): Promise<void> {
    if (this.#used.has(name)) return;
    const number = randomInt(1, 2 ** 31);
    const [row] = await this.#ask("the mark of the account", `select pg_try_advisory_lock(${lockOf(name)}, ${number})`);
    if (row?.[0] !== "t") throw new PlatformError("unavailable", `the mark of the account ${name} is taken at the server`, { hint: "connect again" });
    this.#used.set(name, number);
  }

  /** Whether no other agent has marked the account, in any logical database. */
  async #isAlone(name: string): Promise<boolean> {
    const [row] = await this.#ask(
      "the mark of the account",
      `select count(*) from pg_locks l join pg_stat_activity a on a.pid = l.pid
       where l.locktype = 'advisory' and l.objsubid = 2 and l.granted and l.classid::bigint = $1::bigint and a.usename = current_user and l.pid <> pg_backend_pid()`,
      [String(Number(lockOf(name)) >>> 0)],
    );
    return row?.[0] === "0";
  }

  async #connections(name: string): Promise<number> {
    const [row] = await this.#ask("the sessions of the account", "select count(*) from pg_stat_activity where usename = $1", [name]);
    return Number(row?.[0] ?? 1);
  }

  /**
   * Makes one change, in a transaction, while no other agent makes any. A comment locks its role against other comments until the end of the transaction, and
   * needs the right to grant the role. (Removing a comment that does not exist changes nothing.)
   */
  async #change<T>(work: () => Promise<T>): Promise<T> {
    await this.#makeMarker();
    await this.#run("a transaction", "begin");
    try {
      await this.#run("the lock of all agents", `comment on role ${quoteName(markerRole)} is null`);
      const result = await work();
      await this.#run("the end of a transaction", "commit");
      this.#hasMarker = true;
      return result;
    } catch (thrown) {
      this.#hasMarker = false;
      if (this.isOpen) await this.#run("the end of a transaction", "rollback");
      throw thrown;
    }
  }

  async #ask(what: string, sql: string, parameters: readonly string[] = []) {
    return await this.#client.query(what, sql, parameters);
  }

  async #run(what: string, sql: string): Promise<void> {
    await this.#client.query(what, sql);
  }
}

/** The first number of the locks of an account. */
function lockOf(name: string): string {
  return String(createHash("sha256").update(name).digest().readInt32BE(0));
}
