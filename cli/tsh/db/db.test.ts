import { once } from "node:events";
import { connect } from "node:net";
import { expect, test } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { until } from "../../../test/world/until.ts";
import type { Call } from "../../command.ts";
import { memoryIo } from "../../memory-io.ts";
import { noOptions } from "../../no-options.ts";
import { profileOf } from "../../profile/testing/profile-of.ts";
import { openDatabaseTunnel, usableDatabase } from "./database-tunnel.ts";
import { tunnelText } from "./db.ts";

const orders = { name: "orders", protocol: "postgres" };

test("a tunnel's text: where it is, a ready command, and the advice for a random port", () => {
  expect(tunnelText(orders, { address: "127.0.0.1:5432", isRandom: false, command: "psql x" })).toBe(
    "Database orders (postgres) is on 127.0.0.1:5432 until this command ends (Ctrl-C).\nConnect with: psql x",
  );
  expect(tunnelText({ name: "orders", protocol: "" }, { address: "127.0.0.1:41000", isRandom: true, command: "" })).toBe(
    "Database orders is on 127.0.0.1:41000 until this command ends (Ctrl-C).\nThe port is another one next time; for programs with stored settings choose it: --port=<port>",
  );
});

test("the text of a cluster's tunnel mentions the ports of its members", () => {
  const cache = { name: "cache", protocol: "redis", isCluster: true };
  expect(tunnelText(cache, { address: "127.0.0.1:7000", isRandom: false, command: "redis-cli -c" })).toMatch(
    /\nIts members have further local ports/,
  );
});

test("with a certificate for one database the name stands, and nothing is asked of the auth service", async () => {
  const profile = profileOf({ route: { kind: "db", name: "orders" } });
  expect(await usableDatabase({ io: memoryIo() }, profile, "orders")).toEqual({ name: "orders", protocol: "" });
});

test("each connection reads the login again, and its failure is printed without ending the others", async () => {
  const io = memoryIo();
  const call: Call = { io, args: [], options: noOptions };
  let reads = 0;
  const source = {
    current: async () => {
      reads += 1;
      throw new PlatformError("unauthenticated", `read ${reads}`, { hint: "log in" });
    },
  };
  await using local = await openDatabaseTunnel(call, { database: { ...orders, protocol: "mysql" }, source, user: "", name: "", port: 0 });
  for (const number of [1, 2]) {
    const socket = connect(local.port, "127.0.0.1");
    await once(socket.on("error", () => {}).resume(), "close");
    await until("it is printed", () => io.err().includes(`ERROR: read ${number}\nlog in\n`));
  }
});
