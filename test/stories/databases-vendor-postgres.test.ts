import { readFile, writeFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { User } from "../world/cluster-user.ts";
import { DatabaseWorld } from "../world/database-world.ts";
import { ifPossible, NotHere } from "../world/not-here.ts";
import { hasPostgres, type PostgresServer, startPostgres } from "../world/postgres-server.ts";
import { isolationSuite, type PostgresSuite, postgresSuites, regressionSuite, runSuite } from "../world/postgres-suites.ts";
import { output } from "../world/program.ts";
import { long } from "../world/rounds.ts";
import { databaseTunnel } from "../world/tsh-tunnel.ts";

describe.skipIf(!hasPostgres || !long)("PostgreSQL's own tests, through a tunnel and directly", () => {
  let world: DatabaseWorld;
  let server: PostgresServer;
  let suites: string | NotHere;
  let alice: User;

  beforeAll(async () => {
    suites = await ifPossible(postgresSuites);
    world = await DatabaseWorld.open();
    server = world.use(await startPostgres({ signed: await world.sign("db"), folder: world.folder("pg") }));
    const rules = world.folder("pg/data/pg_hba.conf");
    await writeFile(rules, `${await readFile(rules, "utf8")}hostnossl all all 127.0.0.1/32 trust\n`);
    await server.reload();
    await world.offer([{ name: "orders", protocol: "postgres", at: server.port }]);
    alice = await world.user("alice", { db_users: ["*"], db_names: ["*"] });
  });
  afterAll(async () => await world?.[Symbol.asyncDispose]());

  test.for([
    [isolationSuite, 100],
    [regressionSuite, 180],
  ] as const)("$0.name: the same results", { timeout: 3_000_000 }, async ([suite, least], { skip }) => {
    if (suites instanceof NotHere) return skip(suites.message);
    const directly = await runSuite(suite, { folder: await copyOf(suite, suites, "directly"), port: server.port });
    await using local = await databaseTunnel(alice, "orders");
    const through = await runSuite(suite, { folder: await copyOf(suite, suites, "through"), port: local.port });
    expect(Object.fromEntries(through)).toEqual(Object.fromEntries(directly));
    const passed = [...through.values()].filter((outcome) => outcome === "ok");
    expect(passed.length).toBeGreaterThanOrEqual(least);
  });

  async function copyOf({ name }: PostgresSuite, from: string, to: string): Promise<string> {
    const folder = world.folder(`${name}-${to}`);
    await output("cp", ["-r", `${from}/${name}`, folder]);
    await output("chmod", ["-R", "a+rwX", folder]);
    return folder;
  }
});
