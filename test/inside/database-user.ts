import type { Database } from "../../agent/db/database.ts";
import type { DbProtocol } from "../../core/resources/db.ts";
import type { Lock } from "../../core/resources/lock.ts";
import { type Role, type RoleOptions, roleSchema } from "../../core/resources/role.ts";

/** A database `orders` with the label `env=test`. */
export function testDatabase(protocol: DbProtocol, port = 1): Database {
  return {
    name: "orders",
    protocol,
    uri: `127.0.0.1:${port}`,
    addresses: [{ host: "127.0.0.1", port }],
    options: new Map(),
    labels: { env: "test" },
    origin: "static",
    tls: { mode: "verify-full", caPem: [], trustsSystem: false },
  };
}

export interface DatabaseRole {
  readonly labels?: Readonly<Record<string, string>>;
  readonly users?: readonly string[];
  readonly names?: readonly string[];
  readonly deny?: object;
  readonly options?: RoleOptions;
}

/** The role `access`: by default `reader` and the logical database `shop`, where `env=test`. */
export function databaseRole({ labels = { env: "test" }, users = ["reader"], names = ["shop"], deny, options = {} }: DatabaseRole = {}): Role {
  const allow = { db_labels: labels, db_users: users, db_names: names };
  return roleSchema.parse({ kind: "role", version: "v7", metadata: { name: "access" }, spec: { options, allow, ...(deny && { deny }) } });
}

export function lockOf(user: string): Lock {
  return { kind: "lock", version: "v2", metadata: { name: "l" }, spec: { target: { user } } };
}
