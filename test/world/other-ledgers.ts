import { Redis } from "ioredis";
import { createConnection } from "mysql2/promise";
import { codeOf, keepNumbers, type NumberLedger, patienceMs } from "./ledger.ts";

const [host, timeout] = ["127.0.0.1", patienceMs] as const;

/** At MariaDB or MySQL, as `writer` in the table `ledger` of the schema `shop`: a transaction for each number. */
export function keepMysqlLedger(port: number): NumberLedger {
  return keepNumbers(async (ended) => {
    const connection = await createConnection({ host, port, user: "writer", database: "shop", connectTimeout: timeout });
    connection.on("error", ended);
    const write = async (n: number): Promise<void> => {
      for (const sql of ["begin", `insert into ledger values (${n})`, "commit"]) await connection.query({ sql, timeout });
    };
    return { write, end: async () => connection.destroy() };
  }, toldByMysql);
}

/** Refusals share their codes: the text is a part of it. */
function toldByMysql(thrown: unknown): string {
  return `${codeOf(thrown)} ${thrown instanceof Error ? thrown.message : ""}`;
}

/** At Redis, as `writer` in the list `ledger`. */
export function keepRedisLedger(port: number, password: string): NumberLedger {
  return keepNumbers(async (ended) => {
    const login = { username: "writer", password, lazyConnect: true, connectTimeout: timeout, commandTimeout: timeout };
    const client = new Redis({ host, port, ...login, retryStrategy: () => null, maxRetriesPerRequest: 0, autoResendUnfulfilledCommands: false });
    client.on("error", ended);
    await client.connect();
    return { write: async (n) => void (await client.rpush("ledger", n)), end: async () => client.disconnect() };
  });
}
