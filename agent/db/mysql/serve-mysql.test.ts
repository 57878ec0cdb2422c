import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { errorPacket } from "../../../core/databases/mysql/error-packet.ts";
import { packet } from "../../../core/databases/mysql/packet.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { type EngineSessionOptions, engineSession, type InsideEngineSession } from "../../../test/inside/engine-session.ts";
import { statementLog } from "../../../test/inside/statement-log.ts";
import { capability } from "./capabilities.ts";
import { encodeGreeting, parseGreeting } from "./greeting.ts";
import { encodeLogin, encodeTlsRequest, type LoginPacket, parseLogin } from "./login-packet.ts";
import { readPacket } from "./read-packet.ts";
import { mysqlEngine } from "./serve-mysql.ts";
import { okPacket, parseError, rightAnswer } from "./server-answer.ts";

const never = new AbortController().signal;
const read = async (socket: Socket, sequence: number): Promise<Buffer> =>
  await readPacket(socket, { maxLength: 1 << 20, sequence, what: "it", signal: never });
const query = (sql: string): Buffer => packet(0, Buffer.from(`\u0003${sql}`));
const flags =
  capability.mysql |
  capability.protocol41 |
  capability.secureConnection |
  capability.pluginAuth |
  capability.lenencAuth |
  capability.connectAttributes;
const login: LoginPacket = {
  capabilities: { flags: flags | capability.deprecateEof | capability.queryAttributes | capability.localFiles | capability.compress, extended: 0 },
  maxPacket: 1 << 24,
  charset: 45,
  user: "alice",
  schema: "",
  attributes: Buffer.alloc(0),
  awaitsWord: false,
};

/** A server of which each connection is one `serve`; TLS is left out. */
let server: Server;
let serve: (socket: Socket, login: Buffer) => Promise<void>;
let serverFlags: number;
let logins: string[];

beforeEach(async () => {
  serverFlags = 0xdfff_ffff;
  logins = [];
  serve = async (socket) => void socket.write(okPacket(3, 2));
  server = createServer({ pauseOnConnect: true }, (socket) => {
    socket.on("error", () => {});
    void greet(socket).catch(() => socket.destroy());
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
});
afterEach(() => void server.close());

async function greet(socket: Socket): Promise<void> {
  const capabilities = { flags: serverFlags, extended: 0 };
  const salt = Buffer.alloc(20, 7);
  const plugin = "caching_sha2_password";
  socket.write(packet(0, encodeGreeting({ version: "9.7.4", connectionId: 42, salt, capabilities, charset: 255, status: 2, plugin })));
  const first = await read(socket, 1);
  if (first.length > 32) {
    logins.push(`${parseLogin(first).user} without TLS`);
    return void socket.end(errorPacket(2, { code: 1045, state: "28000", message: "no such account" }));
  }
  const second = await read(socket, 2);
  logins.push(parseLogin(second).user);
  await serve(socket, second);
}

interface Started extends InsideEngineSession {
  readonly ended: Promise<PlatformError | undefined>;
}

async function start(options: Partial<EngineSessionOptions> = {}, reaches = false, engine = mysqlEngine()): Promise<Started> {
  const { port } = server.address() as AddressInfo;
  const inside = await engineSession({ protocol: "mysql", port, ...options });
  const reach = async (): Promise<Socket> => {
    const socket = connect(port, "127.0.0.1");
    await once(socket, "connect");
    return socket;
  };
  return { ...inside, ended: engine({ ...inside.session, ...(reaches && { reach }) }) };
}

/** Logs in and resolves with the answer. */
async function logIn(near: Socket, changes: Partial<LoginPacket> = {}): Promise<Buffer> {
  await read(near, 0);
  near.write(packet(1, encodeLogin({ ...login, ...changes }, "caching_sha2_password")));
  return await read(near, 2);
}

test("a user logs in by certificate alone, and the server gets what client and greeting have in common", async () => {
  const seen: LoginPacket[] = [];
  serve = async (socket, bytes) => {
    seen.push(parseLogin(bytes));
    socket.write(okPacket(3, 2));
    expect((await read(socket, 0)).toString("latin1")).toBe("\u0003select 1");
    socket.write(okPacket(1, 2));
  };
  const { near, ended, events, logins: asked, bytes } = await start({ asked: { name: "shop" } });
  expect(await logIn(near)).toEqual(okPacket(2, 2).subarray(4));
  near.write(query("select 1"));
  expect(await read(near, 1)).toEqual(okPacket(1, 2).subarray(4));
  near.end();
  expect(await ended).toBeUndefined();
  expect(asked).toEqual([{ names: { user: "alice", name: "shop" }, userAgent: undefined }]);
  expect(seen).toMatchObject([{ user: "alice", schema: "shop" }]);
  const got = seen[0]?.capabilities.flags ?? 0;
  expect(got & (capability.localFiles | capability.compress | capability.queryAttributes)).toBe(0);
  expect(got & (capability.deprecateEof | capability.ssl)).toBe(capability.deprecateEof | capability.ssl);
  expect(events).toEqual([{ event: "db.session.query", success: true, db_query: "select 1" }]);
  expect(bytes).toEqual({ received: 13, transmitted: 11 });
});

test("the recording has each command with its result", async () => {
  serve = async (socket) => {
    socket.write(okPacket(3, 2));
    await read(socket, 0);
    socket.write(packet(1, Buffer.of(0, 3, 0, 2, 0, 0, 0)));
    await read(socket, 0);
    socket.write(errorPacket(1, { code: 1146, state: "42S02", message: "no such table" }));
    await read(socket, 0);
    socket.write(okPacket(1, 2));
  };
  const { log, statements } = statementLog();
  const { near, ended } = await start({ statements: log });
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

test("the greeting is the server's own one, fetched once by a refused login, and then known from logins", async () => {
  const engine = mysqlEngine();
  for (const round of [1, 2]) {
    const { near, ended } = await start({}, true, engine);
    const greeting = parseGreeting(await read(near, 0));
    expect(greeting).toMatchObject({ version: "9.7.4", charset: 255, plugin: "caching_sha2_password" });
    expect(greeting.connectionId).not.toBe(42);
    expect(greeting.salt).not.toEqual(Buffer.alloc(20, 7));
    expect(greeting.capabilities.flags & (capability.ssl | capability.localFiles | capability.compress | capability.zstd)).toBe(0);
    expect(greeting.capabilities.flags & capability.queryAttributes).not.toBe(0);
    near.write(packet(1, encodeLogin(login, "caching_sha2_password")));
    await read(near, 2);
    near.destroy();
    await ended;
    expect(logins).toHaveLength(1 + round);
  }
  expect(logins).toEqual(["platform-greeting-only without TLS", "alice", "alice"]);
});

test("a client that answered to the salt gets the word before the OK", async () => {
  const { near, ended } = await start();
  await read(near, 0);
  const bytes = encodeLogin({ ...login, user: "alice" }, "caching_sha2_password");
  const at = 32 + "alice\0".length;
  near.write(packet(1, Buffer.concat([bytes.subarray(0, at), Buffer.from("\u0007hunter2"), bytes.subarray(at + 1)])));
  expect(await read(near, 2)).toEqual(rightAnswer(2).subarray(4));
  expect(await read(near, 3)).toEqual(okPacket(3, 2).subarray(4));
  near.destroy();
  await ended;
});

test("refusals have the protocol's numbers", async () => {
  const deny = (code: "denied" | "limit" | "unavailable") => (): never => {
    throw new PlatformError(code, `it is ${code}`);
  };
  const refused: [Partial<EngineSessionOptions>, Partial<LoginPacket>, number, string][] = [
    [{ judge: deny("denied") }, {}, 1045, "28000"],
    [{ judge: deny("limit") }, {}, 1040, "08004"],
    [{ judge: deny("unavailable") }, {}, 1429, "HY000"],
    [{ asked: { user: "bob" } }, {}, 1045, "28000"],
    [{}, { user: "" }, 1045, "28000"],
    [{ asked: { name: "a" } }, { schema: "b", capabilities: { flags: flags | capability.connectWithDb, extended: 0 } }, 1044, "42000"],
    [{ port: 1 }, {}, 1429, "HY000"],
  ];
  for (const [options, changes, code, state] of refused) {
    const { near, ended, events } = await start(options);
    expect(parseError(await logIn(near, changes))).toMatchObject({ code, state });
    expect(await ended).toBeInstanceOf(PlatformError);
    if (options.asked !== undefined) expect(events).toMatchObject([{ event: "db.session.start", success: false }]);
  }
});

test("a server that is not reached before the login, or does not greet, is guessed", async () => {
  const reach = async (): Promise<Socket> => await Promise.reject(new PlatformError("unavailable", "not there"));
  for (const extra of [{}, { reach }]) {
    const inside = await engineSession({ protocol: "mysql", port: (server.address() as AddressInfo).port });
    const ended = mysqlEngine()({ ...inside.session, ...extra });
    const greeting = parseGreeting(await read(inside.near, 0));
    expect(greeting).toMatchObject({ version: "8.4.0", capabilities: { extended: 0 } });
    expect(greeting.capabilities.flags & (capability.queryAttributes | capability.optionalMetadata)).toBe(0);
    inside.near.write(packet(1, encodeLogin(login, "caching_sha2_password")));
    expect((await read(inside.near, 2))[0]).toBe(0);
    inside.near.destroy();
    await ended;
  }
});

test("a server that was replaced by one that can do less is named, and greeted with what it can at the next connection", async () => {
  const engine = mysqlEngine();
  serverFlags = 0xdfff_ffff & ~capability.deprecateEof;
  const first = await start({}, false, engine);
  expect(parseError(await logIn(first.near))).toMatchObject({ code: 1429, message: expect.stringContaining("can do less") });
  await first.ended;
  const second = await start({}, true, engine);
  expect((await logIn(second.near))[0]).toBe(0);
  second.near.destroy();
  await second.ended;
});

test("the server's own refusal passes with its number; a server that wants a password, or has no TLS, is named", async () => {
  const answers: [(socket: Socket) => unknown, number, RegExp][] = [
    [(socket) => socket.write(errorPacket(3, { code: 1049, state: "42000", message: "Unknown database" })), 1049, /Unknown database/],
    [(socket) => socket.write(packet(3, Buffer.of(1, 4))), 1429, /demands a password/],
    [(socket) => socket.write(packet(3, Buffer.alloc(100, 0xfe))), 1043, /./],
    [(socket) => socket.destroy(), 1429, /ended before/],
    [(socket) => socket.write(packet(9, Buffer.of(0))), 1043, /out of order/],
  ];
  for (const [answer, code, message] of answers) {
    serve = async (socket) => void answer(socket);
    const { near, ended } = await start();
    const error = parseError(await logIn(near));
    expect([error.code, error.message]).toEqual([code, expect.stringMatching(message)]);
    await ended;
  }
  serverFlags = 0xdfff_ffff & ~capability.ssl;
  const { near, ended } = await start();
  expect(parseError(await logIn(near)).message).toMatch(/does not offer TLS/);
  await ended;
});

test("a server that switches the plugin gets an empty answer for it", async () => {
  const answers: string[] = [];
  serve = async (socket) => {
    socket.write(packet(3, Buffer.from("\u00femysql_native_password\0abcdefghijklmnopqrst\0", "latin1")));
    answers.push((await read(socket, 4)).toString("hex"));
    socket.write(packet(5, Buffer.from("\u00fecaching_sha2_password\0abcdefghijklmnopqrst\0", "latin1")));
    answers.push((await read(socket, 6)).toString("hex"));
    socket.write(Buffer.concat([packet(7, Buffer.of(1, 3)), okPacket(8, 2)]));
  };
  const { near, ended } = await start();
  expect((await logIn(near))[0]).toBe(0);
  expect(answers).toEqual(["", "00"]);
  near.destroy();
  await ended;
});

test("the reason of a cut has the number that the client expects: 0 between commands, the next one within an answer", async () => {
  const row = packet(4, Buffer.concat([Buffer.of(80), Buffer.alloc(80, 0x61)]));
  serve = async (socket) => {
    socket.write(okPacket(3, 2));
    await read(socket, 0);
    socket.write(Buffer.concat([packet(1, Buffer.of(1)), packet(2, Buffer.from("\u0003def")), packet(3, Buffer.of(1, 0x31)), row.subarray(0, 50)]));
    setTimeout(() => socket.write(Buffer.concat([row.subarray(50), packet(5, Buffer.of(1, 0x31))])), 100);
  };
  const idle = await start();
  await logIn(idle.near);
  idle.end(new PlatformError("timeout", "there was no activity for 10m"));
  expect(parseError(await read(idle.near, 0))).toEqual({ code: 4031, state: "HY000", message: "there was no activity for 10m" });
  expect((await idle.ended)?.code).toBe("timeout");
  const busy = await start();
  await logIn(busy.near);
  busy.near.write(query("select n from t"));
  for (const sequence of [1, 2, 3]) await read(busy.near, sequence);
  await once(busy.near, "readable");
  busy.end(new PlatformError("denied", "alice is locked"));
  expect(await read(busy.near, 4)).toEqual(row.subarray(4));
  const next = await read(busy.near, 5);
  const words = next[0] === 0xff ? next : await read(busy.near, 6);
  expect(parseError(words)).toEqual({ code: 3169, state: "HY000", message: "alice is locked" });
  expect((await busy.ended)?.code).toBe("denied");
});

test("a server that asks for a file gets none, and the client an error", async () => {
  const got: Buffer[] = [];
  serve = async (socket) => {
    socket.write(okPacket(3, 2));
    await read(socket, 0);
    socket.on("data", (bytes: Buffer) => void got.push(bytes)).write(packet(1, Buffer.from("\u00fb/etc/passwd", "latin1")));
  };
  const { near, ended } = await start();
  await logIn(near);
  near.write(query("select 1"));
  expect(parseError(await read(near, 1))).toMatchObject({ code: 1156, message: expect.stringContaining("asked for a file") });
  expect((await ended)?.code).toBe("invalid");
  expect(got).toEqual([]);
});

test("clients that break the protocol are recorded without anything of their login", async () => {
  const early = await start();
  await read(early.near, 0);
  early.near.write(packet(1, Buffer.alloc(40, 0x61)));
  expect(parseError(await read(early.near, 2)).code).toBe(1251);
  await early.ended;
  const floods: [Buffer, number][] = [
    [Buffer.from([0xff, 0xff, 0xff, 1]), 1043],
    [packet(3, encodeLogin(login, "p")), 1043],
    [packet(1, encodeTlsRequest({ ...login, capabilities: { flags: flags | capability.ssl, extended: 0 } })), 1251],
  ];
  for (const [bytes, code] of floods) {
    const { near, ended, events } = await start();
    await read(near, 0);
    near.write(bytes);
    expect(parseError(await read(near, 2)).code).toBe(code);
    await ended;
    expect(events).toEqual(code === 1043 ? [{ event: "db.session.malformed_packet", payload: "" }] : []);
  }
  const late = await start();
  await logIn(late.near);
  late.near.write(packet(0, Buffer.of(0x77, 1, 2)));
  expect(parseError(await read(late.near, 0)).code).toBe(1156);
  expect((await late.ended)?.code).toBe("invalid");
  expect(late.events).toEqual([{ event: "db.session.malformed_packet", payload: packet(0, Buffer.of(0x77, 1, 2)).toString("base64") }]);
});

test("peers may leave in each state", async () => {
  const silent = await start();
  silent.near.destroy();
  expect((await silent.ended)?.code).toBe("unavailable");
  const greeted = await start();
  await read(greeted.near, 0);
  greeted.near.destroy();
  expect((await greeted.ended)?.code).toBe("unavailable");
  const cut = await start();
  await read(cut.near, 0);
  cut.end(new PlatformError("unavailable", "the agent stops"));
  expect(parseError(await read(cut.near, 2))).toMatchObject({ code: 1053, message: "the agent stops" });
  await cut.ended;
  serve = async (socket) => {
    socket.write(okPacket(3, 2));
    await read(socket, 0);
    socket.write(Buffer.of(9, 0));
    socket.destroy();
  };
  const lost = await start();
  await logIn(lost.near);
  lost.near.write(query("select 1"));
  await lost.ended;
});

test("a server that leaves before it has answered is reported in the protocol's words", async () => {
  serve = async (socket) => {
    socket.write(okPacket(3, 2));
    await read(socket, 0);
    socket.end();
  };
  const { near, ended } = await start();
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
  const { near, ended } = await start({ record });
  await logIn(near);
  near.write(query("select 1"));
  expect(parseError(await read(near, 1)).message).toBe("the disk is full");
  expect((await ended)?.code).toBe("limit");
});
