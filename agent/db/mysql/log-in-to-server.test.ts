import type { Socket } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { capability } from "../../../core/databases/mysql/capabilities.ts";
import { errorPacket } from "../../../core/databases/mysql/error-packet.ts";
import { packet } from "../../../core/databases/mysql/packet.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { EngineSessionOptions } from "../../../test/inside/engine-session.ts";
import { type LoginPacket, parseLogin } from "./login-packet.ts";
import { okPacket, parseError } from "./server-answer.ts";
import { clientFlags, logIn, query, read } from "./testing/test-client.ts";
import { startTestServer, type TestServer } from "./testing/test-server.ts";

let server: TestServer;
beforeEach(async () => {
  server = await startTestServer();
});
afterEach(async () => await server[Symbol.asyncDispose]());

test("a user logs in by certificate alone, and the server gets what client and greeting have in common", async () => {
  const seen: LoginPacket[] = [];
  server.serve = async (socket, bytes) => {
    seen.push(parseLogin(bytes));
    socket.write(okPacket(3, 2));
    expect((await read(socket, 0)).toString("latin1")).toBe("\u0003select 1");
    socket.write(okPacket(1, 2));
  };
  const { near, ended, events, logins: asked, bytes } = await server.start({ asked: { name: "shop" } });
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
    [{ asked: { name: "a" } }, { schema: "b", capabilities: { flags: clientFlags | capability.connectWithDb, extended: 0 } }, 1044, "42000"],
    [{ port: 1 }, {}, 1429, "HY000"],
  ];
  for (const [options, changes, code, state] of refused) {
    const { near, ended, events } = await server.start(options);
    expect(parseError(await logIn(near, changes))).toMatchObject({ code, state });
    expect(await ended).toBeInstanceOf(PlatformError);
    if (options.asked !== undefined) expect(events).toMatchObject([{ event: "db.session.start", success: false }]);
  }
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
    server.serve = async (socket) => void answer(socket);
    const { near, ended } = await server.start();
    const error = parseError(await logIn(near));
    expect([error.code, error.message]).toEqual([code, expect.stringMatching(message)]);
    await ended;
  }
  server.flags = 0xdfff_ffff & ~capability.ssl;
  server.logins.length = 0;
  const { near, ended } = await server.start();
  expect(parseError(await logIn(near)).message).toMatch(/does not offer TLS/);
  await ended;
  // Not a broken handshake, for which it would block this host.
  expect(server.logins).toEqual(["platform-greeting-only without TLS"]);
});

test("a server whose certificate is refused sees a whole login", async () => {
  server.serve = async (socket) => void socket.end(errorPacket(3, { code: 1045, state: "28000", message: "no such account" }));
  const refusal = new PlatformError("unavailable", "its certificate has expired");
  const { near, ended } = await server.start({ refusal });
  expect(parseError(await logIn(near)).message).toMatch(/has expired/);
  await ended;
  expect(server.logins).toEqual(["platform-greeting-only"]);
});

test("a server that switches the plugin gets an empty answer for it", async () => {
  const answers: string[] = [];
  server.serve = async (socket) => {
    socket.write(packet(3, Buffer.from("\u00femysql_native_password\0abcdefghijklmnopqrst\0", "latin1")));
    answers.push((await read(socket, 4)).toString("hex"));
    socket.write(packet(5, Buffer.from("\u00fecaching_sha2_password\0abcdefghijklmnopqrst\0", "latin1")));
    answers.push((await read(socket, 6)).toString("hex"));
    socket.write(Buffer.concat([packet(7, Buffer.of(1, 3)), okPacket(8, 2)]));
  };
  const { near, ended } = await server.start();
  expect((await logIn(near))[0]).toBe(0);
  expect(answers).toEqual(["", "00"]);
  near.destroy();
  await ended;
});
