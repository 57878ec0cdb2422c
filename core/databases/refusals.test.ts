import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { Redis } from "ioredis";
import { MongoClient } from "mongodb";
import { createConnection } from "mysql2/promise";
import pg from "pg";
import { expect, test } from "vitest";
import { PlatformError } from "../errors/platform-error.ts";
import { refusals } from "./refusals.ts";

type Protocol = keyof typeof refusals;

/** A port of the loopback at which every client of a protocol is refused. */
async function refusingPort(protocol: Protocol, error: PlatformError): Promise<{ readonly port: number } & AsyncDisposable> {
  const stop = new AbortController();
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (socket) => void refusals[protocol](socket, error, stop.signal));
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const denied = new PlatformError("denied", "access denied: alice may not", { hint: "ask bob" });

test("pg is refused with SQLSTATE, message and hint; one that requires TLS gets a no", async () => {
  await using at = await refusingPort("postgres", denied);
  const connecting = async (ssl: boolean): Promise<void> => {
    const client = new pg.Client({ host: "127.0.0.1", port: at.port, user: "reader", ssl });
    await client.on("error", () => {}).connect();
  };
  const said = { code: "28000", severity: "FATAL", message: "access denied: alice may not", hint: "ask bob" };
  await expect(connecting(false)).rejects.toMatchObject(said);
  await expect(connecting(true)).rejects.toMatchObject({ message: expect.stringContaining("does not support SSL") });
});

test("mysql2 is refused in place of the greeting, with the number of the protocol", async () => {
  await using at = await refusingPort("mysql", denied);
  await expect(createConnection({ host: "127.0.0.1", port: at.port, user: "reader" })).rejects.toMatchObject({
    errno: 1045,
    message: "access denied: alice may not (ask bob)",
  });
});

test("the driver of MongoDB greets, and gets the reason as the answer to its first command", async () => {
  await using at = await refusingPort("mongodb", denied);
  const client = new MongoClient(`mongodb://127.0.0.1:${at.port}/?directConnection=true&serverSelectionTimeoutMS=10000`);
  try {
    await expect(client.db("shop").collection("list").findOne()).rejects.toMatchObject({
      code: 13,
      codeName: "Unauthorized",
      message: "access denied: alice may not: ask bob",
    });
  } finally {
    await client.close();
  }
});

test("ioredis gets the reason as the answer to its command", async () => {
  await using at = await refusingPort("redis", denied);
  const client = new Redis({ host: "127.0.0.1", port: at.port, enableReadyCheck: false, retryStrategy: () => null, disableClientInfo: true });
  client.on("error", () => {});
  await expect(client.get("k")).rejects.toMatchObject({ message: "NOPERM access denied: alice may not (ask bob)" });
  client.disconnect();
});
