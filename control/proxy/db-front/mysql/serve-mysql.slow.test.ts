import { once } from "node:events";
import { duplexPair } from "node:stream";
import { connect } from "node:tls";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { allBytes, nextBytes } from "../../../../test/inside/stream-bytes.ts";
import { clientFlags, mysqlClient, mysqlHead, mysqlLogin, mysqlPacket, sslFlag } from "../testing/front-clients.ts";
import { type FrontWorld, frontWorld } from "../testing/front-world.ts";

let world: FrontWorld;
beforeAll(async () => {
  world = await frontWorld();
});
afterAll(async () => await world[Symbol.asyncDispose]());
beforeEach(() => world.reset());

test("MySQL: the greeting has the configured version, and the login goes to the agent as it would without TLS", async () => {
  world.serve = (agent) => {
    // Protocol 10, version, connection 66, salt, 0xdfffffff in two halves around charset and status, length of the salt.
    const greeting = Buffer.from("0a392e342e3000420000000102030405060708" + "00" + "ffff2d0200ffdf15", "hex");
    const payload = Buffer.concat([greeting, Buffer.alloc(10), Buffer.from("123456789012\0caching_sha2_password\0")]);
    agent.write(mysqlPacket(0, payload));
    agent.once("data", (bytes: Buffer) => {
      agent.write(Buffer.concat([mysqlPacket(2, Buffer.of(1, 3)), mysqlPacket(3, Buffer.of(0, 0, 0, 2, 0, 0, 0))]));
      agent.once("data", (command: Buffer) => agent.end(Buffer.concat([command, bytes])));
    });
  };
  const { tls, greeting } = await mysqlClient(world, await world.certificate("mysql", "reader"));
  expect(String(greeting.subarray(5, 17))).toBe("8.0.99-front");
  tls.write(mysqlLogin());
  const answers = await nextBytes(tls);
  const all = answers.length > 6 ? answers : Buffer.concat([answers, await nextBytes(tls)]);
  expect(all).toEqual(Buffer.concat([mysqlPacket(3, Buffer.of(1, 3)), mysqlPacket(4, Buffer.of(0, 0, 0, 2, 0, 0, 0))]));
  tls.write("command");
  const seen = await allBytes(tls);
  expect(String(seen.subarray(0, 7))).toBe("command");
  const forAgent = seen.subarray(7);
  expect(forAgent.readUIntLE(3, 1)).toBe(1);
  const flags = forAgent.readUInt32LE(4);
  // Neither TLS nor what only the server's greeting may offer.
  expect(flags & (sslFlag | (1 << 27))).toBe(0);
  expect(forAgent.subarray(36)).toEqual(mysqlLogin().subarray(36));
  expect(world.reached[0]?.request.parameters.at).toMatch(/^\d{10}$/);
});

test("MySQL: the client of an agent that is lost gets an error, as the answer to its command or between two of them", async () => {
  for (const isAsking of [true, false]) {
    world.serve = (agent) => {
      const greeting = Buffer.from("0a392e342e3000420000000102030405060708" + "00" + "ffff2d0200ffdf15", "hex");
      agent.write(mysqlPacket(0, Buffer.concat([greeting, Buffer.alloc(10), Buffer.from("123456789012\0caching_sha2_password\0")])));
      agent.once("data", () => {
        agent.write(mysqlPacket(2, Buffer.of(0, 0, 0, 2, 0, 0, 0)));
        if (isAsking) agent.once("data", () => agent.destroy());
        else agent.end();
      });
    };
    const { tls } = await mysqlClient(world, await world.certificate("mysql", "reader"));
    tls.write(mysqlLogin());
    if (isAsking) {
      await nextBytes(tls);
      tls.write(mysqlPacket(0, Buffer.from("\u0003select 1")));
    }
    const seen = await allBytes(tls);
    const error = seen.subarray(isAsking ? 0 : 11);
    expect([error[3], error[4], error.readUInt16LE(5)]).toEqual([isAsking ? 1 : 0, 0xff, 1053]);
    expect(String(error.subarray(7))).toBe("#08S01the connection to the agent of this database was lost (connect again)");
  }
});

test("MySQL: a login that the agent refuses gets its error and no other, in place of the greeting, of the answer, or after a first answer", async () => {
  const greeting = Buffer.from("0a392e342e3000420000000102030405060708" + "00" + "ffff2d0200ffdf15", "hex");
  const error = Buffer.concat([Buffer.of(0xff, 0x15, 0x04), Buffer.from("#28000Access denied")]);
  const first = Buffer.of(1, 3);
  for (const answers of [undefined, [error], [first, error]]) {
    world.serve = (agent) => {
      if (answers === undefined) return void agent.end(mysqlPacket(0, error));
      agent.write(mysqlPacket(0, Buffer.concat([greeting, Buffer.alloc(10), Buffer.from("123456789012\0caching_sha2_password\0")])));
      agent.once("data", () => agent.end(Buffer.concat(answers.map((answer, index) => mysqlPacket(2 + index, answer)))));
    };
    const { tls } = await mysqlClient(world, await world.certificate("mysql", "reader"));
    tls.write(mysqlLogin());
    expect(await allBytes(tls)).toEqual(Buffer.concat((answers ?? [error]).map((answer, index) => mysqlPacket(3 + index, answer))));
  }
});

test("MySQL: a KILL by the number of the port's greeting comes to the agent with the server's own number, where any agent knows it", async () => {
  const killed: string[] = [];
  world.serve = (agent) => {
    const greeting = Buffer.from("0a392e342e3000420000000102030405060708" + "00" + "ffff2d0200ffdf15", "hex");
    agent.write(mysqlPacket(0, Buffer.concat([greeting, Buffer.alloc(10), Buffer.from("123456789012\0caching_sha2_password\0")])));
    agent.once("data", () => {
      agent.write(mysqlPacket(2, Buffer.of(0, 0, 0, 2, 0, 0, 0)));
      agent.on("data", (command: Buffer) => {
        killed.push(String(command.subarray(5)));
        agent.write(mysqlPacket(1, Buffer.of(0, 0, 0, 2, 0, 0, 0)));
      });
    });
  };
  const { tls } = await mysqlClient(world, await world.certificate("mysql", "reader"));
  tls.write(mysqlLogin());
  await nextBytes(tls);
  for (const thread of [42, undefined]) {
    world.thread = thread;
    tls.write(mysqlPacket(0, Buffer.from("\u0003KILL QUERY 3000000000")));
    await nextBytes(tls);
  }
  tls.destroy();
  expect(killed).toEqual(["KILL QUERY 42", "KILL QUERY 3000000000"]);
  expect(world.cancelled.slice(-2)).toEqual(["b2d05e00", "b2d05e00"]);
});

test("MySQL without TLS is refused with the number that servers have for it", async () => {
  const socket = await world.dial("mysql");
  await nextBytes(socket);
  socket.write(mysqlPacket(1, Buffer.concat([mysqlHead(clientFlags), Buffer.from("reader\0\0")])));
  const refused = await allBytes(socket);
  expect([refused[3], refused[4], refused.readUInt16LE(5)]).toEqual([2, 0xff, 3159]);
  expect(String(refused.subarray(7))).toMatch(/^#HY000this port requires TLS/);
});

test("the request for TLS and the ClientHello may come in one segment", async () => {
  const { tls } = await mysqlClient(world, await world.certificate("mysql", "reader"));
  tls.destroy();
  const socket = await world.dial("mysql");
  await nextBytes(socket);
  const [near, far] = duplexPair();
  const client = connect({ socket: near, host: "127.0.0.1", ca: [...world.cluster.hostCaPem] });
  client.on("error", () => {});
  const hello = await nextBytes(far);
  socket.write(Buffer.concat([mysqlPacket(1, mysqlHead(clientFlags | sslFlag)), hello]));
  far.pipe(socket);
  socket.pipe(far);
  await once(client, "secureConnect");
  client.destroy();
  socket.destroy();
});
