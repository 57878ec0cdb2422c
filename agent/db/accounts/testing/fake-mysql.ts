import { PlatformError } from "../../../../core/errors/platform-error.ts";
import type { Row } from "../mysql/mysql-client.ts";

interface Account {
  host: string;
  locked: boolean;
  defaultRole: string;
  readonly roles: Set<string>;
}

const role = (): Account => ({ host: "", locked: true, defaultRole: "", roles: new Set() });

/** As much of MySQL, or MariaDB, as the statements about accounts need: accounts and roles by name, locks by name, connections. */
export class FakeMysql {
  readonly accounts = new Map<string, Account>();
  readonly connected: string[] = [];
  /** Accounts that cannot be dropped. */
  readonly definers = new Set<string>();
  readonly isMariadb: boolean;
  readonly #locks = new Map<string, { readonly id: number; readonly as: string }>();
  #sessions = 0;

  constructor(isMariadb: boolean) {
    this.isMariadb = isMariadb;
  }

  add(name: string, host: string): void {
    this.accounts.set(name, { ...role(), host, locked: false });
  }

  addRole(name: string): void {
    this.accounts.set(name, role());
  }

  /** A connection, of the admin or of an account. */
  connect(as = "platform-admin"): {
    readonly isMariadb: boolean;
    readonly isOpen: boolean;
    query(what: string, ...statements: readonly string[]): Promise<readonly Row[]>;
    close(): void;
  } {
    this.#sessions += 1;
    const id = this.#sessions;
    let isOpen = true;
    return {
      isMariadb: this.isMariadb,
      get isOpen() {
        return isOpen;
      },
      query: async (what, ...statements) => {
        if (!isOpen) throw new PlatformError("unavailable", "the connection ended");
        return statements.flatMap((sql) => this.#run(sql, { id, as, what }));
      },
      close: () => {
        isOpen = false;
        for (const [name, holder] of this.#locks) if (holder.id === id) this.#locks.delete(name);
      },
    };
  }

  #run(sql: string, by: { readonly id: number; readonly as: string; readonly what: string }): readonly Row[] {
    const names = [...sql.matchAll(/`((?:[^`]|``)*)`/g)].map(([, name = ""]) => name.replaceAll("``", "`")).filter((name) => name !== "%");
    const values = [...sql.matchAll(/x'([0-9a-f]*)'/g)].map(([, hex = ""]) => Buffer.from(hex, "hex").toString());
    if (/(?:get|release|is_used)_lock/.test(sql)) return this.#lock(sql, values, by);
    if (sql.startsWith("select")) return this.#select(sql, values);
    return this.#write(sql, names, by);
  }

  #lock(sql: string, names: readonly string[], by: { readonly id: number; readonly as: string }): readonly Row[] {
    const [name = "", ...more] = names;
    const holder = this.#locks.get(name);
    if (sql.startsWith("select user, host, id")) return holder === undefined ? [] : [[holder.as, "localhost", String(holder.id)]];
    if (sql.includes("is_used_lock")) return [[String(more.filter((one) => this.#locks.get(one)?.as === name).length)]];
    if (sql.includes("release_lock")) this.#locks.delete(name);
    if (sql.includes("release_lock")) return [];
    // Steps of agents do not overlap in tests: among them, the lock of all is free when one asks for it.
    if (holder !== undefined && holder.id !== by.id) return [["0"]];
    this.#locks.set(name, { id: by.id, as: by.as });
    return [["1"]];
  }

  #select(sql: string, values: readonly string[]): readonly Row[] {
    const [first = "", second = "", third = ""] = values;
    const has = (name: string, one: string): string => (this.accounts.get(name)?.roles.has(one) === true ? "1" : "0");
    if (sql.includes("processlist")) return [[String(this.connected.filter((one) => one === first).length)]];
    if (sql.startsWith("select host, user")) {
      const found = this.accounts.get(first);
      const nameless: readonly Row[] = this.accounts.has("") ? [["localhost", ""]] : [];
      return [...(found === undefined ? [] : [[found.host, first]]), ...nameless];
    }
    if (sql.startsWith("select exists")) {
      const account = this.accounts.get(this.isMariadb ? first : third);
      const isOurs = has(first, second);
      if (!this.isMariadb) return [[isOurs, account?.locked === false ? "1" : "0", "1"]];
      return [[isOurs, has(first, values[3] ?? ""), account?.defaultRole === second ? "1" : "0"]];
    }
    if (/^select (?:from_user|role)/.test(sql))
      return [...(this.accounts.get(first)?.roles ?? [])].filter((one) => one !== second).map((one) => [one]);
    const active = [...this.accounts].filter(([, account]) => account.roles.has(first) && account.host === "%" && !account.locked);
    return active.map(([name]) => [name]);
  }

  #write(sql: string, names: readonly string[], { as, what }: { readonly as: string; readonly what: string }): readonly Row[] {
    const last = names.at(-1) ?? "";
    const others = names.slice(0, -1);
    if (sql.startsWith("create role")) this.accounts.set(last, this.accounts.get(last) ?? role());
    else if (sql.startsWith("create user")) this.accounts.set(last, { ...role(), host: "%" });
    else if (sql.startsWith("grant")) for (const one of others) this.#known(what, last).roles.add(this.#known(what, one) && one);
    else if (sql.startsWith("revoke")) for (const one of others) this.#known(what, last).roles.delete(one);
    else if (sql.startsWith("alter user")) this.#known(what, last).locked = sql.endsWith(" lock");
    else if (sql.startsWith("drop")) this.#drop(what, last);
    else if (sql.startsWith("set default role") && !sql.includes(" to ")) this.#known(what, as).defaultRole = last;
    return [];
  }

  #known(what: string, name: string): Account {
    const found = this.accounts.get(name);
    if (found !== undefined) return found;
    throw new PlatformError("unavailable", `the server refused ${what}: ${name} does not exist`);
  }

  #drop(what: string, name: string): void {
    if (this.definers.has(name)) throw new PlatformError("unavailable", `the server refused ${what}: it is a definer`);
    this.accounts.delete(name);
  }
}
