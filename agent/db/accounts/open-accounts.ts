import type { DbUserRule } from "../../../core/access/db-user-rule.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { Log } from "../../../core/log/log.ts";
import type { DbProtocol } from "../../../core/resources/db.ts";
import type { Database, DatabaseAdmin, ServerCredentials } from "../database.ts";
import type { DatabaseEvent, ServerAccess } from "../engine.ts";
import { dialServer, serverRoad } from "../server-road.ts";
import { AccountHold, type HeldAccount } from "./account-hold.ts";
import type { AccountServer } from "./account-server.ts";
import type { AdminFaults } from "./admin-faults.ts";

/** One session that needs an account of its user's own. */
export interface OwnAccountAsk {
  readonly database: Database;
  /** The user's name, as certified. */
  readonly account: string;
  readonly rule: DbUserRule;
  /** A certificate as the admin_user, or as the account itself. Throws PlatformError. */
  readonly credentials: (account: string, asAdmin: boolean) => Promise<ServerCredentials>;
  /** Never throws. */
  readonly record: (event: DatabaseEvent) => Promise<void>;
}

/** Makes the account of a session, or lets it in, until it is released. Throws `denied`, `unavailable`. */
export type HoldAccount = (ask: OwnAccountAsk) => Promise<HeldAccount>;

/** Time for a login as admin_user, ms. */
const openMs = 15_000;

/** The accounts of all sessions of an agent. When the signal aborts, waits for servers end. */
export function openAccounts({ log, faults }: { readonly log: Log; readonly faults: AdminFaults }, signal: AbortSignal): HoldAccount {
  const holds = new Map<string, AccountHold>();
  return async ({ database, account, rule, credentials, record }) => {
    const { adminUser } = database;
    if (adminUser === undefined) throw new Error("a database without admin_user makes no accounts");
    const key = JSON.stringify([database.name, database.uri, adminUser, account]);
    const known = holds.get(key);
    const onIdle = (): void => {
      if (holds.get(key) === hold) holds.delete(key);
    };
    const hold = known ?? new AccountHold({ name: account, database: database.name, log, onIdle, signal });
    holds.set(key, hold);
    const open = async (): Promise<AccountServer> => {
      // A certificate that the auth service refuses is not a fault of the server.
      const asAdmin = await credentials(adminUser.name, true);
      const road: Road = async (name, limit) => {
        const own = { user: name, credentials: name === adminUser.name ? asAdmin : await credentials(name, false) };
        return serverRoad(database, { ...own, dial: async (address) => await dialServer(database, address, limit) }, limit);
      };
      return await faults.watch(database, async () => await openServer(database.protocol, road, adminUser));
    };
    return await hold.enter({ rule, open, record });
  };
}

/** The way to the server as this account; the signal ends the login only. */
type Road = (account: string, signal: AbortSignal) => Promise<ServerAccess>;
type Open = (road: Road, admin: DatabaseAdmin) => Promise<AccountServer>;

async function openServer(protocol: DbProtocol, road: Road, admin: DatabaseAdmin): Promise<AccountServer> {
  const open = openers[protocol];
  if (open === undefined) throw new PlatformError("unsupported", `agents do not make accounts of ${protocol}`);
  return await open(road, admin);
}

/** Each is loaded with its first account. */
const openers: { readonly [Protocol in DbProtocol]?: Open } = {
  postgres: async (road, { name, database = "postgres" }) => {
    const { PostgresClient } = await import("./postgres/postgres-client.ts");
    const { PostgresAccounts } = await import("./postgres/postgres-accounts.ts");
    const signal = AbortSignal.timeout(openMs);
    return new PostgresAccounts(await PostgresClient.open(await road(name, signal), database, signal), name);
  },
  mysql: async (road, { name: adminUser, database = "" }) => {
    const { MysqlClient } = await import("./mysql/mysql-client.ts");
    const { MysqlAccounts } = await import("./mysql/mysql-accounts.ts");
    const logIn = async (account: string, schema = "") => {
      const signal = AbortSignal.timeout(openMs);
      return await MysqlClient.open(await road(account, signal), schema, signal);
    };
    return new MysqlAccounts(await logIn(adminUser, database), { adminUser, logIn: async (account) => await logIn(account) });
  },
};
