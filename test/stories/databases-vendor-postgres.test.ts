import { readFile, writeFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { User } from "../world/cluster-user.ts";
import { DatabaseWorld } from "../world/database-world.ts";
import { because, ifPossible, NotHere } from "../world/not-here.ts";
import { noPostgres, type PostgresServer, startPostgres } from "../world/postgres-server.ts";
import { isolationSuite, type PostgresSuite, postgresSuites, regressionSuite, runSuite } from "../world/postgres-suites.ts";
import { output } from "../world/program.ts";
import { long } from "../world/rounds.ts";
import { databaseTunnel } from "../world/tsh-tunnel.ts";

const missing = noPostgres ?? (long ? undefined : new NotHere("PostgreSQL's own tests run in make test-long"));

describe.skipIf(missing !== undefined)(`PostgreSQL's own tests, through a tunnel and directly${because(missing)}`, () => {
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
    const passed = (outcomes: ReadonlyMap<string, string>): number => [...outcomes.values()].filter((outcome) => outcome === "ok").length;
    process.stdout.write(`${suite.name} of PostgreSQL: ${passed(directly)} of ${directly.size} passed directly, ${passed(through)} through us\n`);
    expect(Object.fromEntries(through)).toEqual(Object.fromEntries(directly));
    expect(passed(through)).toBeGreaterThanOrEqual(least);
  });

  async function copyOf({ name }: PostgresSuite, from: string, to: string): Promise<string> {
    const folder = world.folder(`${name}-${to}`);
    await output("cp", ["-r", `${from}/${name}`, folder]);
    await output("chmod", ["-R", "a+rwX", folder]);
    return folder;
  }
});
