import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { expect, test } from "vitest";
import { refusals } from "../../../core/databases/refusals.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { dbProtocols } from "../../../core/resources/db.ts";
import { until } from "../../../test/world/until.ts";
import type { Call } from "../../command.ts";
import { memoryIo } from "../../memory-io.ts";
import { noOptions } from "../../no-options.ts";
import type { LocalPort } from "../served/local-port.ts";
import { openDatabaseTunnel } from "./database-tunnel.ts";

const denied = new PlatformError("denied", "access denied: \u001b[2Jalice may not", { hint: "ask bob" });

/** A tunnel of which every stream is refused, and what it has printed. */
async function refusedTunnel(protocol: string, clientPrints = false): Promise<{ readonly local: LocalPort; readonly printed: () => string }> {
  const io = memoryIo();
  const call: Call = { io, args: [], options: noOptions };
  const source = {
    current: async () => {
      throw denied;
    },
  };
  const local = await openDatabaseTunnel(call, { database: { name: "orders", protocol }, source, user: "", name: "", port: 0, clientPrints });
  return { local, printed: () => io.err() };
}

async function read(socket: Socket): Promise<string> {
  return Buffer.concat((await socket.toArray()) as Buffer[]).toString("latin1");
}

const startup = Buffer.from("\0\0\0\x16\0\x03\0\0user\0reader\0\0", "latin1");
const ping = Buffer.from("240000000700000000000000dd07000000000000000f0000001070696e67000100000000", "hex");

test.for([
  ["postgres", startup, /^E.*C28000\0Maccess denied: \\x1b\[2Jalice may not\0Hask bob\0\0$/s],
  ["mysql", Buffer.alloc(0), /^.{7}access denied: \\x1b\[2Jalice may not \(ask bob\)$/s],
  ["mongodb", ping, /errmsg.*access denied: \\x1b\[2Jalice may not: ask bob.*Unauthorized/s],
  ["redis", Buffer.from("PING\r\n"), /^-NOPERM access denied: \\x1b\[2Jalice may not \(ask bob\)\r\n$/],
] as const)("%s: a client whose stream is refused gets the reason, which is printed too", async ([protocol, first, reason]) => {
  const { local, printed } = await refusedTunnel(protocol);
  await using _ = local;
  const socket = connect(local.port, "127.0.0.1");
  socket.write(first);
  expect(await read(socket)).toMatch(reason);
  expect(printed()).toBe("ERROR: access denied: \\x1b[2Jalice may not\nask bob\n");
});

test.for([
  ["postgres", startup, ""],
  ["", Buffer.alloc(0), "ERROR: access denied: \\x1b[2Jalice may not\nask bob\n"],
] as const)("%s: where the client prints it, a refusal that it can be given is not printed a second time", async ([protocol, first, printed]) => {
  const tunnel = await refusedTunnel(protocol, true);
  await using local = tunnel.local;
  const socket = connect(local.port, "127.0.0.1");
  socket.write(first);
  await read(socket);
  expect(tunnel.printed()).toBe(printed);
});

test("every protocol of databases has a refusal", () => {
  expect(Object.keys(refusals).toSorted()).toEqual([...dbProtocols].toSorted());
});

test("a request to cancel gets no answer, and nothing is printed; nor is one that comes in pieces answered", async () => {
  const { local, printed } = await refusedTunnel("postgres");
  await using _ = local;
  const cancel = Buffer.from("0000001004d2162e0000002a01020304", "hex");
  expect(await read(connect(local.port, "127.0.0.1").setNoDelay().end(cancel))).toBe("");
  expect(printed()).toBe("");
  const socket = connect(local.port, "127.0.0.1");
  socket.write(cancel.subarray(0, 6));
  await until("its stream is refused", () => printed() !== "");
  socket.write(cancel.subarray(6));
  expect(await read(socket)).toBe("");
});

test("a client of an unknown protocol sees the end of its connection alone", async () => {
  const { local, printed } = await refusedTunnel("");
  await using _ = local;
  expect(await read(connect(local.port, "127.0.0.1"))).toBe("");
  expect(printed()).toMatch(/^ERROR: access denied/);
});

test.for(dbProtocols)("%s: the end of the tunnel ends a client that is being refused", async (protocol) => {
  const { local, printed } = await refusedTunnel(protocol);
  const socket = connect(local.port, "127.0.0.1");
  socket.on("error", () => {});
  if (protocol === "postgres") socket.write("\0");
  await until("its stream is refused", () => printed() !== "");
  const closed = once(socket.resume(), "close");
  const begun = performance.now();
  await local[Symbol.asyncDispose]();
  await closed;
  expect(performance.now() - begun).toBeLessThan(8_000);
});
