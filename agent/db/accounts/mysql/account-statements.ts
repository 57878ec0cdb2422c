import { markerRole } from "../account-server.ts";
import { quoteAccount, quoteName, quoteSubject, quoteValue } from "./quote.ts";

/** What an account is to become. */
export interface RoleChange {
  readonly name: string;
  readonly lost: readonly string[];
  readonly won: readonly string[];
}

/** Statements for accounts of one kind of server. Each list is sent as one command, so that an agent that dies does not stop between two of them. */
export interface AccountStatements {
  /** A row: whether the account is ours (`1`), may log in (`1`), and has its roles without asking for them (`1`). The account exists. */
  readonly state: (name: string) => string;
  /** A row for each role of the account other than those of ours. */
  readonly roles: (name: string) => string;
  /** Accounts of ours that may log in, a row each. */
  readonly active: string;
  readonly create: (name: string, roles: readonly string[]) => readonly string[];
  readonly change: (change: RoleChange) => readonly string[];
  readonly enable: (name: string) => readonly string[];
  readonly disable: (name: string, roles: readonly string[]) => readonly string[];
  readonly drop: (name: string) => readonly string[];
  /** What the account itself has to run before its first session; undefined: nothing. */
  readonly own: ((name: string) => string) | undefined;
}

/** MySQL: the account has its roles itself, all of them by default, and the marker. */
export const mysqlStatements: AccountStatements = {
  state: (name) =>
    `select exists (select 1 from mysql.role_edges where to_user = ${quoteValue(name)} and to_host = '%' and from_user = ${quoteValue(markerRole)} and with_admin_option = 'N'), account_locked = 'N', 1 from mysql.user where user = ${quoteValue(name)} and host = '%'`,
  roles: (name) =>
    `select from_user from mysql.role_edges where to_user = ${quoteValue(name)} and to_host = '%' and from_user <> ${quoteValue(markerRole)}`,
  active: `select u.user from mysql.user u join mysql.role_edges e on e.to_user = u.user and e.to_host = u.host where u.host = '%' and u.account_locked = 'N' and e.from_user = ${quoteValue(markerRole)} and e.with_admin_option = 'N'`,
  create: (name, roles) => [
    `create role if not exists ${quoteName(markerRole)}`,
    `create user ${quoteAccount(name)} require subject ${quoteSubject(name)} account lock`,
    `grant ${quoteName(markerRole)} to ${quoteAccount(name)}`,
    ...(roles.length > 0 ? [`grant ${roles.map(quoteName).join(", ")} to ${quoteAccount(name)}`] : []),
    `set default role all to ${quoteAccount(name)}`,
    `alter user ${quoteAccount(name)} account unlock`,
  ],
  change: ({ name, lost, won }) => [
    ...(lost.length > 0 ? [`revoke ${lost.map(quoteName).join(", ")} from ${quoteAccount(name)}`] : []),
    ...(won.length > 0 ? [`grant ${won.map(quoteName).join(", ")} to ${quoteAccount(name)}`] : []),
    `set default role all to ${quoteAccount(name)}`,
  ],
  enable: (name) => [`alter user ${quoteAccount(name)} account unlock`],
  disable: (name, roles) => [
    `alter user ${quoteAccount(name)} account lock`,
    ...(roles.length > 0 ? [`revoke ${roles.map(quoteName).join(", ")} from ${quoteAccount(name)}`] : []),
  ],
  drop: (name) => [`drop user ${quoteAccount(name)}`],
  own: undefined,
};

/** Name of the one role of a MariaDB account that has all its others: only one role can be a default. It also shows that the account is ours. */
const collecting = (name: string): string => `platform-roles-${name}`;

/** MariaDB: the account has one role with all the others in it, and the marker while it is let in. Admins of roles are grantees of them too. */
export const mariadbStatements: AccountStatements = {
  state: (name) => {
    const has = (role: string): string =>
      `exists (select 1 from mysql.roles_mapping where user = ${quoteValue(name)} and host = '%' and role = ${quoteValue(role)} and admin_option = 'N')`;
    const isDefault = `default_role = ${quoteValue(collecting(name))}`;
    return `select ${has(collecting(name))}, ${has(markerRole)}, ${isDefault} from mysql.user where user = ${quoteValue(name)} and host = '%'`;
  },
  roles: (name) => `select role from mysql.roles_mapping where user = ${quoteValue(collecting(name))} and host = ''`,
  active: `select user from mysql.roles_mapping where role = ${quoteValue(markerRole)} and host = '%' and admin_option = 'N'`,
  create: (name, roles) => [
    `create role if not exists ${quoteName(markerRole)}`,
    `create role if not exists ${quoteName(collecting(name))}`,
    ...roles.map((role) => `grant ${quoteName(role)} to ${quoteName(collecting(name))}`),
    `create user ${quoteAccount(name)} require subject ${quoteSubject(name)} account lock`,
    `grant ${quoteName(collecting(name))} to ${quoteAccount(name)}`,
    ...mariadbEnable(name),
  ],
  change: ({ name, lost, won }) => [
    ...lost.map((role) => `revoke ${quoteName(role)} from ${quoteName(collecting(name))}`),
    ...won.map((role) => `grant ${quoteName(role)} to ${quoteName(collecting(name))}`),
  ],
  enable: mariadbEnable,
  disable: (name, roles) => [
    `alter user ${quoteAccount(name)} account lock`,
    ...roles.map((role) => `revoke ${quoteName(role)} from ${quoteName(collecting(name))}`),
    `revoke ${quoteName(markerRole)} from ${quoteAccount(name)}`,
  ],
  drop: (name) => [`drop user ${quoteAccount(name)}`, `drop role ${quoteName(collecting(name))}`],
  // For another account that takes the right to change every table of the server's own.
  own: (name) => `set default role ${quoteName(collecting(name))}`,
};

function mariadbEnable(name: string): readonly string[] {
  return [`grant ${quoteName(markerRole)} to ${quoteAccount(name)}`, `alter user ${quoteAccount(name)} account unlock`];
}
