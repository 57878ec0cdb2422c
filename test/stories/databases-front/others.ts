import { MongoClient } from "mongodb";
import { describe, expect, test } from "vitest";
import { type DatabaseFront, type DirectConfig, portOf } from "../../world/database-front.ts";
import { noRedis } from "../../world/database-servers.ts";
import { mongosh } from "../../world/mongosh.ts";
import { because, ifPossible, NotHere } from "../../world/not-here.ts";
import { type Finished, run } from "../../world/program.ts";
import { noPymongo, pymongo } from "../../world/pymongo.ts";
import { redisClients } from "../../world/redis-clients.ts";

/** Stock clients of Redis, Valkey and MongoDB. */
export function testOtherClients(front: () => DatabaseFront): void {
  const mongoUri = ({ direct, ca, cert }: DirectConfig): string =>
    `mongodb://${direct}/?directConnection=true&tls=true&tlsCAFile=${ca}&tlsCertificateKeyFile=${cert.replace(/crt$/, "pem")}`;

  test.skipIf(noRedis !== undefined)(
    `Redis: redis-cli by the command that tsh prints, with the account's own password${because(noRedis)}`,
    async () => {
      const { direct_command: command } = await front().logIn("cache");
      const cli = async (...more: readonly string[]): Promise<Finished> =>
        await run("sh", ["-c", `${command} --no-auth-warning --user reader --pass hunter2 ${more.join(" ")}`], { env: front().env() });
      expect((await cli("SET", "k", "v")).stdout).toBe("OK\n");
      expect((await cli("-3", "GET", "k")).stdout).toMatch(/v\n/);
      const [host, port] = ["127.0.0.1", command.match(/-p (\d+)/)?.[1] ?? ""];
      const bare = await run("redis-cli", ["-h", host, "-p", port, "--tls", "--insecure", "PING"]);
      expect(`${bare.stdout}${bare.stderr}`).toMatch(/NOAUTH no client certificate/);
    },
  );

  const redisServers = [
    { title: "Redis 7, by a password", name: "cache", password: "hunter2", here: () => noRedis },
    { title: "Valkey 9, by the certificate alone", name: "cache-9", password: undefined, here: () => front().newest.valkey },
  ];
  describe.each(redisServers)("$title", ({ name, password, here }) => {
    test.for(Object.entries(redisClients))("%s is the account", async ([, client], { skip }) => {
      const server = here();
      if (server instanceof NotHere) return skip(server.message);
      const tls = await front().config(name);
      const who = await ifPossible(() => client({ port: portOf(tls), password, tls }));
      if (who instanceof NotHere) return skip(who.message);
      expect(who).toBe("reader");
    });
  });

  test("pymongo", async ({ skip }) => {
    if (noPymongo !== undefined) return skip(noPymongo.message);
    const tls = await front().config("docs", "--db-name=orders");
    expect(await pymongo(mongoUri(tls), "orders")).toMatch(/^of python\n/);
  });

  test("mongosh", async ({ skip }) => {
    const shell = await ifPossible(mongosh);
    if (shell instanceof NotHere) return skip(shell.message);
    const tls = await front().config("docs", "--db-name=orders");
    const text = 'const orders = db.getSiblingDB("orders"); orders.shell.insertOne({ name: "of mongosh" }); print(orders.shell.findOne().name)';
    const done = await run(shell, ["--quiet", mongoUri(tls), "--eval", text], { env: front().env(), limitMs: 60_000 });
    expect(done).toMatchObject({ status: 0, stdout: "of mongosh\n" });
  });

  test("MongoDB (a server of ours): the driver by certificate, without and with directConnection; a refusal comes at once", async () => {
    const config = await front().logIn("docs", "--db-name=orders");
    const tls = { tls: true, tlsCAFile: config.ca, tlsCertificateKeyFile: config.cert.replace(/crt$/, "pem"), serverSelectionTimeoutMS: 20_000 };
    for (const directConnection of [true, false]) {
      const client = await MongoClient.connect(`mongodb://${config.direct}/`, { ...tls, directConnection });
      const list = client.db("orders").collection("list");
      await list.insertOne({ name: "seven" });
      expect(await list.findOne({ name: "seven" })).toMatchObject({ name: "seven" });
      await client.close();
    }
    const began = performance.now();
    const bare = new MongoClient(`mongodb://${config.direct}/`, { tls: true, tlsCAFile: config.ca, directConnection: true });
    await expect(bare.db("orders").collection("list").findOne({})).rejects.toMatchObject({ code: 18 });
    expect(performance.now() - began).toBeLessThan(10_000);
    await bare.close();
  });
}
