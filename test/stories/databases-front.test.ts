import { MongoClient } from "mongodb";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type DatabaseFront, openDatabaseFront } from "../world/database-front.ts";
import { until } from "../world/until.ts";
import { testMysqlClients } from "./databases-front/mysql.ts";
import { testOtherClients } from "./databases-front/others.ts";
import { testPostgresClients } from "./databases-front/postgres.ts";

/* The clients of all protocols share a cluster. */
describe("databases for stock clients, without tsh between them and the proxy", () => {
  let front: DatabaseFront;

  beforeAll(async () => {
    front = await openDatabaseFront();
  });
  afterAll(async () => await front?.[Symbol.asyncDispose]());

  testPostgresClients(() => front);
  testMysqlClients(() => front);
  testOtherClients(() => front);

  test("a lock refuses the next connection, and ends the running ones with the reason", async () => {
    const { direct_command: command } = await front.logIn("docs", "--db-name=orders");
    expect(command).toContain("mongosh");
    const config = await front.logIn("docs", "--db-name=orders");
    const tls = { tls: true, tlsCAFile: config.ca, tlsCertificateKeyFile: config.cert.replace(/crt$/, "pem"), directConnection: true };
    const client = await MongoClient.connect(`mongodb://${config.direct}/`, tls);
    await client.db("orders").collection("list").findOne({});
    await front.cluster.admin("lock", "--user=alice", "--message=audit");
    await until("the driver is refused", async () => {
      try {
        await client.db("orders").collection("list").findOne({});
        return false;
      } catch (thrown) {
        return String(thrown).includes("audit");
      }
    });
    await client.close();
  });
});
