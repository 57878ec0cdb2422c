import { duplexPair } from "node:stream";
import { setImmediate as breathe } from "node:timers/promises";
import { expect, test } from "vitest";
import { type AuthConnection, openAuthClient } from "../../core/api/auth-client.ts";
import { openTestAuth } from "../../test/inside/open-auth.ts";

test("a client that closes while the service says goodbye throws nothing that nobody catches", async () => {
  const uncaught: unknown[] = [];
  const onUncaught = (thrown: unknown): void => void uncaught.push(thrown);
  const others = process.listeners("uncaughtException");
  process.removeAllListeners("uncaughtException").on("uncaughtException", onUncaught);
  try {
    await using t = await openTestAuth();
    const connections: AuthConnection[] = [];
    for (let count = 0; count < 20; count += 1) {
      const open = async () => {
        const [near, far] = duplexPair();
        t.auth.inject(far, "203.0.113.7");
        return near;
      };
      const connection = openAuthClient({ open, ca: [t.auth.hostCaPem] });
      await connection.client.getCluster({});
      connections.push(connection);
    }
    const closed = t.auth.close();
    for (const connection of connections) {
      await breathe();
      connection.close();
    }
    await closed;
    for (let turn = 0; turn < 20; turn += 1) await breathe();
  } finally {
    process.removeAllListeners("uncaughtException");
    for (const listener of others) process.on("uncaughtException", listener);
  }
  expect(uncaught).toEqual([]);
});

test("a connection that was on its way to a service that retires makes its calls all the same", async () => {
  await using t = await openTestAuth();
  const [early, late] = [t.connect(), t.connect()];
  const first = early.getCluster({});
  const retired = t.auth.retire();
  expect((await first).clusterName).toBe("test");
  await retired;
  expect((await late.getCluster({})).clusterName).toBe("test");
});
