import { once } from "node:events";
import { afterEach, beforeEach, expect, test } from "vitest";
import { capability } from "../../../core/databases/mysql/capabilities.ts";
import { errorPacket } from "../../../core/databases/mysql/error-packet.ts";
import { packet } from "../../../core/databases/mysql/packet.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { LateAudit } from "../../../test/inside/late-audit.ts";
import { statementLog } from "../../../test/inside/statement-log.ts";
import { encodeLogin, encodeTlsRequest } from "./login-packet.ts";
import { okPacket, parseError } from "./server-answer.ts";
import { clientFlags, logIn, login, query, read } from "./testing/test-client.ts";
import { startTestServer, type TestServer } from "./testing/test-server.ts";
import { u32le } from "./wire.ts";

let server: TestServer;
beforeEach(async () => {
  server = await startTestServer();
});
afterEach(async () => await server[Symbol.asyncDispose]());

test("the recording has each command with its result", async () => {
  server.serve = async (socket) => {
    socket.write(okPacket(3, 2));
    await read(socket, 0);
    socket.write(packet(1, Buffer.of(0, 3, 0, 2, 0, 0, 0)));
    await read(socket, 0);
    socket.write(errorPacket(1, { code: 1146, state: "42S02", message: "no such table" }));
    await read(socket, 0);
    socket.write(okPacket(1, 2));
  };
  const { log, statements } = statementLog();
  const { near, ended } = await server.start({ statements: log });
  await logIn(near);
  near.write(query("update t set a = 1"));
  await read(near, 1);
  near.write(query("select * from missing"));
  await read(near, 1);
  near.write(packet(0, Buffer.of(0x20)));
  await read(near, 1);
  near.end();
  await ended;
  expect(statements).toEqual([
    { kind: "query", text: "update t set a = 1", result: { outcome: "ok", affected: 3 } },
    { kind: "query", text: "select * from missing", result: { outcome: "failed", code: "1146 (42S02)", message: "no such table" } },
    { kind: "query", text: "COM_CLONE", result: { outcome: "refused", message: expect.stringContaining("COM_CLONE is refused") } },
  ]);
});

test("in a strict session commands go to the server once their events are safe, also more than may await their answers at once", async () => {
  const audit = new LateAudit();
  let answered = 0;
  server.serve = async (socket) => {
    socket.write(okPacket(3, 2));
    for (; ; answered += 1) {
      await read(socket, 0);
      socket.write(okPacket(1, 2));
    }
  };
  const { near, ended } = await server.start(audit.options);
  await logIn(near);
  near.write(Buffer.concat(Array.from({ length: 200 }, () => query("do 1"))));
  await audit.recorded(200);
  expect(answered).toBe(0);
  audit.release();
  for (let count = 0; count < 200; count += 1) expect((await read(near, 1))[0]).toBe(0);
  near.end();
  await ended;
  expect(answered).toBe(200);
});

test("the reason of a cut has the number that the client expects: 0 between commands, the next one within an answer", async () => {
  const cut = Promise.withResolvers<void>();
  const row = packet(4, Buffer.concat([Buffer.of(80), Buffer.alloc(80, 0x61)]));
  server.serve = async (socket) => {
    socket.write(okPacket(3, 2));
    await read(socket, 0);
    socket.write(Buffer.concat([packet(1, Buffer.of(1)), packet(2, Buffer.from("\u0003def")), packet(3, Buffer.of(1, 0x31)), row.subarray(0, 50)]));
    await cut.promise;
    socket.write(Buffer.concat([row.subarray(50), packet(5, Buffer.of(1, 0x31))]));
  };
  const idle = await server.start();
  await logIn(idle.near);
  idle.end(new PlatformError("timeout", "there was no activity for 10m"));
  expect(parseError(await read(idle.near, 0))).toEqual({ code: 4031, state: "HY000", message: "there was no activity for 10m" });
  expect((await idle.ended)?.code).toBe("timeout");
  const busy = await server.start();
  await logIn(busy.near);
  busy.near.write(query("select n from t"));
  for (const sequence of [1, 2, 3]) await read(busy.near, sequence);
  await once(busy.near, "readable");
  busy.end(new PlatformError("denied", "alice is locked"));
  cut.resolve();
  expect(await read(busy.near, 4)).toEqual(row.subarray(4));
  const next = await read(busy.near, 5);
  const words = next[0] === 0xff ? next : await read(busy.near, 6);
  expect(parseError(words)).toEqual({ code: 3169, state: "HY000", message: "alice is locked" });
  expect((await busy.ended)?.code).toBe("denied");
});

test("a server that asks for a file gets none, and the client an error", async () => {
  const got: Buffer[] = [];
  server.serve = async (socket) => {
    socket.write(okPacket(3, 2));
    await read(socket, 0);
    socket.on("data", (bytes: Buffer) => void got.push(bytes)).write(packet(1, Buffer.from("\u00fb/etc/passwd", "latin1")));
  };
  const { near, ended } = await server.start();
  await logIn(near);
  near.write(query("select 1"));
  expect(parseError(await read(near, 1))).toMatchObject({ code: 1156, message: expect.stringContaining("asked for a file") });
  expect((await ended)?.code).toBe("invalid");
  expect(got).toEqual([]);
});

test("clients that break the protocol are recorded without anything of their login", async () => {
  const early = await server.start();
  await read(early.near, 0);
  early.near.write(packet(1, Buffer.alloc(40, 0x61)));
  expect(parseError(await read(early.near, 2)).code).toBe(1251);
  await early.ended;
  const floods: [Buffer, number][] = [
    [Buffer.from([0xff, 0xff, 0xff, 1]), 1043],
    [packet(3, encodeLogin(login, "p")), 1043],
    [packet(1, encodeTlsRequest({ ...login, capabilities: { flags: clientFlags | capability.ssl, extended: 0 } })), 1251],
  ];
  for (const [bytes, code] of floods) {
    const { near, ended, events } = await server.start();
    await read(near, 0);
    near.write(bytes);
    expect(parseError(await read(near, 2)).code).toBe(code);
    await ended;
    expect(events).toEqual(code === 1043 ? [{ event: "db.session.malformed_packet", payload: "" }] : []);
  }
  const late = await server.start();
  await logIn(late.near);
  late.near.write(packet(0, Buffer.of(0x77, 1, 2)));
  expect(parseError(await read(late.near, 0)).code).toBe(1156);
  expect((await late.ended)?.code).toBe("invalid");
  expect(late.events).toEqual([{ event: "db.session.malformed_packet", payload: packet(0, Buffer.of(0x77, 1, 2)).toString("base64") }]);
});

test("peers may leave in each state", async () => {
  const silent = await server.start();
  silent.near.destroy();
  expect((await silent.ended)?.code).toBe("unavailable");
  const greeted = await server.start();
  await read(greeted.near, 0);
  greeted.near.destroy();
  expect((await greeted.ended)?.code).toBe("unavailable");
  const cut = await server.start();
  await read(cut.near, 0);
  cut.end(new PlatformError("unavailable", "the agent stops"));
  expect(parseError(await read(cut.near, 2))).toMatchObject({ code: 1053, message: "the agent stops" });
  await cut.ended;
  server.serve = async (socket) => {
    socket.write(okPacket(3, 2));
    await read(socket, 0);
    socket.write(Buffer.of(9, 0));
    socket.destroy();
  };
  const lost = await server.start();
  await logIn(lost.near);
  lost.near.write(query("select 1"));
  await lost.ended;
});

test("a kill of a high number that is not known here goes to a server that gives such numbers itself, and to no other", async () => {
  const kill = packet(0, Buffer.concat([Buffer.of(0x0c), u32le(3_000_000_001)]));
  const got: string[] = [];
  server.serve = async (socket) => {
    socket.write(okPacket(3, 2));
    got.push((await read(socket, 0)).toString("hex"));
    socket.write(okPacket(1, 2));
  };
  const answers: (number | undefined)[] = [];
  for (const thread of [42, 3_000_000_000]) {
    server.thread = thread;
    const { near, ended } = await server.start();
    await logIn(near);
    near.write(kill);
    answers.push((await read(near, 1))[0]);
    near.end();
    await ended;
  }
  expect([got, answers]).toEqual([
    ["0e", kill.toString("hex", 4)],
    [0xff, 0],
  ]);
});

test("a server that leaves between two commands is reported, but where it has a reason of its own or the client has left", async () => {
  const left = Buffer.of(1);
  for (const [last, goodbye, reason] of [
    [Buffer.alloc(0), Buffer.alloc(0), "the server of database orders closed the connection"],
    [errorPacket(0, { code: 4031, state: "HY000", message: "idle" }), Buffer.alloc(0), undefined],
    [Buffer.alloc(0), packet(0, left), undefined],
  ] as const) {
    server.serve = async (socket) => {
      socket.write(okPacket(3, 2));
      if (goodbye.length > 0) await read(socket, 0);
      socket.end(last);
    };
    const { near, ended } = await server.start();
    await logIn(near);
    near.write(goodbye);
    if (reason !== undefined || last.length > 0) expect(parseError(await read(near, 0)).message).toBe(reason ?? "idle");
    near.end();
    expect((await ended)?.message).toBe(reason);
  }
});

test("a server that leaves before it has answered is reported in the protocol's words", async () => {
  server.serve = async (socket) => {
    socket.write(okPacket(3, 2));
    await read(socket, 0);
    socket.end();
  };
  const { near, ended } = await server.start();
  await logIn(near);
  near.write(query("select 1"));
  expect(parseError(await read(near, 1))).toMatchObject({
    code: 1053,
    state: "08S01",
    message: "the server of database orders closed the connection",
  });
  expect((await ended)?.code).toBe("unavailable");
});

test("a session ends when its audit cannot be kept", async () => {
  const record = async (): Promise<void> => await Promise.reject(new PlatformError("limit", "the disk is full"));
  const { near, ended } = await server.start({ record });
  await logIn(near);
  near.write(query("select 1"));
  expect(parseError(await read(near, 1)).message).toBe("the disk is full");
  expect((await ended)?.code).toBe("limit");
});
