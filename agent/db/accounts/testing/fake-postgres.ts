import { PlatformError } from "../../../../core/errors/platform-error.ts";
import type { Row } from "../postgres/postgres-client.ts";

interface Role {
  login: boolean;
  superuser: boolean;
  readonly memberOf: Set<string>;
}

/** As much of a PostgreSQL server as the statements about accounts need: roles, advisory locks, connections. Transactions are not undone. */
export class FakePostgres {
  readonly roles = new Map<string, Role>();
  /** Accounts with a connection, once for each. */
  readonly connected: string[] = [];
  /** Accounts that own objects. */
  readonly owners = new Set<string>();
  /** Holders of advisory locks, `<first number>, <second number>`. */
  readonly #locks = new Map<string, { readonly id: number; readonly as: string }>();
  #sessions = 0;

  add(name: string, { login = false, superuser = false }: { readonly login?: boolean; readonly superuser?: boolean } = {}): void {
    this.roles.set(name, { login, superuser, memberOf: new Set() });
  }

  /** A connection, of the admin or of an account. */
  connect(as = "platform-admin"): {
    readonly isOpen: boolean;
    query(what: string, sql: string, parameters?: readonly string[]): Promise<readonly Row[]>;
    close(): void;
  } {
    this.#sessions += 1;
    const id = this.#sessions;
    let isOpen = true;
    return {
      get isOpen() {
        return isOpen;
      },
      query: async (what, sql, parameters = []) => {
        if (!isOpen) throw new PlatformError("unavailable", "the connection ended");
        return this.#run({ id, as }, { what, sql, parameters });
      },
      close: () => {
        isOpen = false;
        for (const [key, holder] of this.#locks) if (holder.id === id) this.#locks.delete(key);
      },
    };
  }

  #run(
    by: { readonly id: number; readonly as: string },
    { what, sql, parameters: [first = "", second = ""] }: { what: string; sql: string; parameters: readonly string[] },
  ): readonly Row[] {
    const names = [...sql.matchAll(/"((?:[^"]|"")*)"/g)].map(([, name = ""]) => name.replaceAll('""', '"'));
    const lock = /pg_(\w+)\((-?\d+, -?\d+)\)/.exec(sql);
    if (lock !== null) return [[this.#lock(by, lock[1] ?? "", lock[2] ?? "") ? "t" : "f"]];
    if (sql.includes("pg_locks")) return [[String(this.#marks(by, Number(first)))]];
    const [name = ""] = names;
    if (sql.startsWith("create role")) return this.#create(names, sql);
    if (sql.startsWith("alter role")) return this.#let(what, name, !sql.includes("nologin"));
    if (sql.startsWith("drop role")) return this.#drop(what, name);
    const account = names.pop() ?? "";
    if (sql.startsWith("grant")) return this.#change(what, account, (role) => names.forEach((one) => void role.memberOf.add(this.#known(what, one))));
    if (sql.startsWith("revoke")) return this.#change(what, account, (role) => names.forEach((one) => void role.memberOf.delete(one)));
    if (sql.startsWith("select 1 from pg_roles")) return this.roles.has(first) ? [["1"]] : [];
    if (sql.startsWith("select count(*)")) return [[String(this.connected.filter((one) => one === first).length)]];
    if (sql.startsWith("select distinct")) return [...(this.roles.get(first)?.memberOf ?? [])].filter((one) => one !== second).map((one) => [one]);
    if (sql.startsWith("select r.rolname")) return this.#left(first);
    const role = this.roles.get(first);
    return sql.startsWith("select") && role !== undefined ? [[role.login ? "t" : "f", !role.superuser && role.memberOf.has(second) ? "t" : "f"]] : [];
  }

  #create(names: readonly string[], sql: string): readonly Row[] {
    const [name = "", group] = names;
    this.add(name, { login: !sql.includes("nologin") });
    if (group !== undefined) this.roles.get(name)?.memberOf.add(group);
    return [];
  }

  #drop(what: string, name: string): readonly Row[] {
    if (this.owners.has(name)) throw new PlatformError("unavailable", `the server refused ${what}: some objects depend on it`);
    this.roles.delete(name);
    return [];
  }

  #change(what: string, name: string, change: (role: Role) => void): readonly Row[] {
    const role = this.roles.get(name);
    if (role === undefined) throw new PlatformError("unavailable", `the server refused ${what}: role ${name} does not exist`);
    change(role);
    return [];
  }

  #let(what: string, name: string, login: boolean): readonly Row[] {
    return this.#change(what, name, (role) => {
      role.login = login;
    });
  }

  #known(what: string, name: string): string {
    if (this.roles.has(name)) return name;
    throw new PlatformError("unavailable", `the server refused ${what}: role ${name} does not exist`);
  }

  #left(marker: string): readonly Row[] {
    return [...this.roles]
      .filter(([name, { login, memberOf }]) => login && memberOf.has(marker) && !this.connected.includes(name))
      .map(([name]) => [name]);
  }

  /** Locks of transactions have no holder between two statements. */
  #lock(by: { readonly id: number; readonly as: string }, kind: string, key: string): boolean {
    const holder = this.#locks.get(key);
    if (holder !== undefined && holder.id !== by.id) {
      if (kind.startsWith("try")) return false;
      throw new PlatformError("unavailable", "canceling statement due to lock timeout");
    }
    if (kind.includes("unlock")) this.#locks.delete(key);
    else if (!kind.includes("xact")) this.#locks.set(key, by);
    return true;
  }

  /** Locks with this first number that other connections of the same account hold. */
  #marks(by: { readonly id: number; readonly as: string }, first: number): number {
    const found = [...this.#locks].filter(([key, { id, as }]) => Number.parseInt(key, 10) >>> 0 === first && as === by.as && id !== by.id);
    return found.length;
  }
}
