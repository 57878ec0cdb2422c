import { createHash } from "node:crypto";
import type { DbUserRule } from "../../../../core/access/db-user-rule.ts";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import { type AccountServer, type Deactivation, mostSwept, type WantedAccount } from "../account-server.ts";
import { checkAccount, foreignAccount } from "../name-faults.ts";
import { type AccountStatements, mariadbStatements, mysqlStatements } from "./account-statements.ts";
import type { MysqlClient } from "./mysql-client.ts";
import { mysqlNames, quoteValue } from "./quote.ts";

type Client = Pick<MysqlClient, "isMariadb" | "isOpen" | "query" | "close">;

/** The lock under which agents change accounts, and the longest wait for it, s. */
const changeLock = "platform-accounts";
const waitSeconds = 8;
/** Maximum number of agents that mark an account as used; a lock of MySQL has one holder. */
const maxMarks = 16;

interface Found {
  readonly isActive: boolean;
  /** Its roles are in force without a statement of its own. */
  readonly isComplete: boolean;
  readonly roles: readonly string[];
}

export interface MysqlAccountsOptions {
  readonly adminUser: string;
  /** A connection as the account itself. Throws PlatformError. */
  readonly logIn: (account: string) => Promise<Pick<Client, "query" | "close">>;
}

/**
 * Accounts of a MySQL or MariaDB server. Its statements cannot be in transactions: each step is one command, under a lock that all agents of the server share. An
 * account in use is marked by a lock of this connection, which the server drops with it.
 */
export class MysqlAccounts implements AccountServer {
  readonly #client: Client;
  readonly #adminUser: string;
  readonly #logIn: MysqlAccountsOptions["logIn"];
  readonly #statements: AccountStatements;
  /** Our mark of each account in use. */
  readonly #marks = new Map<string, string>();

  constructor(client: Client, { adminUser, logIn }: MysqlAccountsOptions) {
    this.#client = client;
    this.#adminUser = adminUser;
    this.#logIn = logIn;
    this.#statements = client.isMariadb ? mariadbStatements : mysqlStatements;
  }

  get isOpen(): boolean {
    return this.#client.isOpen;
  }

  close(): void {
    this.#client.close();
  }

  async activate(account: WantedAccount): Promise<"ready" | "busy"> {
    checkAccount(account, mysqlNames(this.#client.isMariadb ? "mariadb" : "mysql"), this.#adminUser);
    return await this.#change(async () => {
      const { name, roles } = account;
      const found = await this.#find(name);
      if (found === undefined) await this.#client.query("the creation of the account", ...this.#statements.create(name, roles));
      else if (!(await this.#adapt(account, found))) return "busy";
      await this.#mark(name);
      if (found?.isComplete !== true) await this.#complete(name);
      return "ready";
    });
  }

  async deactivate(name: string, mode: DbUserRule["mode"]): Promise<Deactivation> {
    return await this.#change(async () => {
      const mark = this.#marks.get(name);
      if (mark !== undefined) await this.#client.query("the mark of the account", `do release_lock(${quoteValue(mark)})`);
      this.#marks.delete(name);
      return await this.#endUse(name, mode);
    });
  }

  async sweep(): Promise<readonly string[]> {
    const rows = await this.#client.query("the list of accounts", this.#statements.active);
    const swept: string[] = [];
    for (const [name] of rows) {
      if (swept.length >= mostSwept) break;
      if (typeof name !== "string" || this.#marks.has(name)) continue;
      if ((await this.#change(async () => await this.#endUse(name, "keep"))) === "disabled") swept.push(name);
    }
    return swept;
  }

  async #complete(name: string): Promise<void> {
    const statement = this.#statements.own?.(name);
    if (statement === undefined) return;
    const own = await this.#logIn(name);
    try {
      await own.query("the default role of the account", statement);
    } finally {
      own.close();
    }
  }

  /** Gives an account of ours these roles and lets it in. False: it has sessions with other roles. */
  async #adapt({ name, roles }: WantedAccount, found: Found): Promise<boolean> {
    const [lost, won] = [found.roles.filter((role) => !roles.includes(role)), roles.filter((role) => !found.roles.includes(role))];
    const isSame = lost.length === 0 && won.length === 0;
    if (found.isActive && !isSame && ((await this.#isMarked(name)) || (await this.#connections(name)) > 0)) return false;
    if (!isSame) await this.#client.query("its roles", ...this.#statements.change({ name, lost, won }));
    if (!found.isActive) await this.#client.query("the login of the account", ...this.#statements.enable(name));
    return true;
  }

  /** This connection no longer uses the account. */
  async #endUse(name: string, mode: DbUserRule["mode"]): Promise<Deactivation> {
    if (await this.#isMarked(name)) return "used";
    const found = await this.#find(name);
    if (found === undefined) return "done";
    if ((await this.#connections(name)) > 0) return "busy";
    if (mode === "best_effort_drop" && (await this.#drop(name))) return "deleted";
    if (!found.isActive && found.roles.length === 0) return "done";
    await this.#client.query("to disable the account", ...this.#statements.disable(name, found.roles));
    return "disabled";
  }

  /** False: it is the definer of views or procedures, or the server refuses for another reason. */
  async #drop(name: string): Promise<boolean> {
    try {
      await this.#client.query("to drop the account", ...this.#statements.drop(name));
      return true;
    } catch (thrown) {
      if (!this.isOpen) throw thrown;
      return false;
    }
  }

  /** Undefined: the account does not exist. Throws `denied` for one that is not ours, and for others of its name that the server would use in its place. */
  async #find(name: string): Promise<Found | undefined> {
    const sql = `select host, user from mysql.user where user in (${quoteValue(name)}, '')`;
    const rows = await this.#client.query("the account", sql);
    if (rows.some(([, user]) => user === "")) throw anonymousAccounts();
    const hosts = rows.map(([host]) => host);
    if (hosts.length === 0) return undefined;
    const [state] = await this.#client.query("the account", this.#statements.state(name));
    if (hosts.length > 1 || hosts[0] !== "%" || state?.[0] !== "1") throw foreignAccount(name);
    const roles = await this.#client.query("the roles of the account", this.#statements.roles(name));
    return { isActive: state[1] === "1", isComplete: state[2] === "1", roles: roles.flatMap(([role]) => role ?? []).sort() };
  }

  async #connections(name: string): Promise<number> {
    const sql = `select count(*) from information_schema.processlist where cast(user as binary) = ${quoteValue(name)}`;
    const [row] = await this.#client.query("the sessions of the account", sql);
    return Number(row?.[0] ?? 1);
  }

  async #mark(name: string): Promise<void> {
    if (this.#marks.has(name)) return;
    for (const mark of marksOf(name)) {
      const [row] = await this.#client.query("the mark of the account", `select get_lock(${quoteValue(mark)}, 0)`);
      if (row?.[0] !== "1") continue;
      this.#marks.set(name, mark);
      return;
    }
    for (const mark of marksOf(name)) await this.#refuseForeign(mark);
    throw new PlatformError("limit", `the account ${name} is used by ${maxMarks} agents already`);
  }

  /** Whether another agent has marked the account. Anyone may take such a lock, so that those of other accounts do not count. */
  async #isMarked(name: string): Promise<boolean> {
    const own = this.#marks.get(name);
    const others = marksOf(name).filter((mark) => mark !== own);
    const [row] = await this.#client.query(
      "the mark of the account",
      `select count(*) from information_schema.processlist where cast(user as binary) = ${quoteValue(this.#adminUser)}
       and id in (${others.map((mark) => `is_used_lock(${quoteValue(mark)})`).join(", ")})`,
    );
    return row?.[0] !== "0";
  }

  /** Makes one change while no other agent makes any. */
  async #change<T>(work: () => Promise<T>): Promise<T> {
    const [row] = await this.#client.query("the lock of all agents", `select get_lock(${quoteValue(changeLock)}, ${waitSeconds})`);
    if (row?.[0] !== "1") {
      await this.#refuseForeign(changeLock);
      throw new PlatformError("unavailable", `another agent has held the lock ${changeLock} at the server for ${waitSeconds} s`);
    }
    try {
      return await work();
    } finally {
      if (this.isOpen) await this.#client.query("the lock of all agents", `do release_lock(${quoteValue(changeLock)})`);
    }
  }

  /** Throws `unavailable`, with the holder's account and connection, if an account other than the agents' own holds one of their locks. */
  async #refuseForeign(lock: string): Promise<void> {
    const sql = `select user, host, id from information_schema.processlist where id = is_used_lock(${quoteValue(lock)})`;
    const [row] = await this.#client.query("the holder of a lock", sql);
    const [user, host, id] = row ?? [];
    if (row === undefined || user === this.#adminUser) return;
    throw new PlatformError(
      "unavailable",
      `the account ${user}@${host} (connection ${id}) holds the lock ${lock} at the server, which is the agents' own`,
      {
        hint: `an admin of the server can end that connection: kill ${id}`,
      },
    );
  }
}

/** A server prefers such an account to one with any address, even for a user with a certificate. */
function anonymousAccounts(): PlatformError {
  return new PlatformError("unavailable", "the server has accounts without a name, which it may take in place of those that agents make", {
    hint: "drop them: select host from mysql.user where user = ''; drop user ''@'<host>'",
  });
}

/** Names of the locks that mark an account, at most 64 characters each. */
function marksOf(name: string): readonly string[] {
  const hash = createHash("sha256").update(name).digest("hex").slice(0, 32);
  return Array.from({ length: maxMarks }, (_, index) => `platform-use-${hash}-${index}`);
}
