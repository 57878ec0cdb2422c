import type { Agent } from "./cluster-agent.ts";
import { type Mariadb, noMariadb, startMariadb } from "./database-servers.ts";
import { DatabaseWorld } from "./database-world.ts";
import { ifPossible, NotHere } from "./not-here.ts";
import { type Mysql, startMysql } from "./sid-servers.ts";

/** MariaDB and MySQL behind one agent, as `shop-mariadb` and `shop-mysql`; those that this machine cannot run are not there. */
export interface MysqlWorld {
  readonly world: DatabaseWorld;
  readonly mariadb: Mariadb | NotHere;
  readonly mysql: Mysql | NotHere;
  readonly agent: Agent;
}

/** `setup`: SQL statements, each of which both servers run first. */
export async function openMysqlWorld(setup: readonly string[]): Promise<MysqlWorld> {
  await using held = new AsyncDisposableStack();
  const world = held.use(await DatabaseWorld.open());
  const signed = await world.sign("mysql");
  const [mariadb, mysql] = await Promise.all([
    noMariadb ?? startMariadb({ signed, folder: world.folder("mariadb") }),
    ifPossible(() => startMysql({ signed, folder: world.folder("mysql") })),
  ]);
  const offered: { name: string; protocol: "mysql"; at: number }[] = [];
  for (const [name, server] of [["shop-mariadb", mariadb] as const, ["shop-mysql", mysql] as const]) {
    if (server instanceof NotHere) continue;
    world.use(server);
    for (const statements of setup) await server.sql(statements);
    offered.push({ name, protocol: "mysql", at: server.port });
  }
  const agent = await world.offer(offered);
  held.move();
  return { world, mariadb, mysql, agent };
}
