import type { Socket } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { capability } from "../../../core/databases/mysql/capabilities.ts";
import { packet } from "../../../core/databases/mysql/packet.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { engineSession } from "../../../test/inside/engine-session.ts";
import { parseGreeting } from "./greeting.ts";
import { encodeLogin } from "./login-packet.ts";
import { mysqlEngine } from "./serve-mysql.ts";
import { okPacket, parseError, rightAnswer } from "./server-answer.ts";
import { logIn, login, read } from "./testing/test-client.ts";
import { startTestServer, type TestServer } from "./testing/test-server.ts";

let server: TestServer;
beforeEach(async () => {
  server = await startTestServer();
});
afterEach(async () => await server[Symbol.asyncDispose]());

test("the greeting is the server's own one, fetched once by a refused login, and then known from logins", async () => {
  const engine = mysqlEngine();
  for (const round of [1, 2]) {
    const { near, ended } = await server.start({}, true, engine);
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
    expect(server.logins).toHaveLength(1 + round);
  }
  expect(server.logins).toEqual(["platform-greeting-only without TLS", "alice", "alice"]);
});

test("a client that answered to the salt gets the word before the OK", async () => {
  const { near, ended } = await server.start();
  await read(near, 0);
  const bytes = encodeLogin({ ...login, user: "alice" }, "caching_sha2_password");
  const at = 32 + "alice\0".length;
  near.write(packet(1, Buffer.concat([bytes.subarray(0, at), Buffer.from("\u0007hunter2"), bytes.subarray(at + 1)])));
  expect(await read(near, 2)).toEqual(rightAnswer(2).subarray(4));
  expect(await read(near, 3)).toEqual(okPacket(3, 2).subarray(4));
  near.destroy();
  await ended;
});

test("a server that is not reached before the login, or does not greet, is guessed", async () => {
  const reach = async (): Promise<Socket> => await Promise.reject(new PlatformError("unavailable", "not there"));
  for (const extra of [{}, { reach }]) {
    const inside = await engineSession({ protocol: "mysql", port: server.port });
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
  server.flags = 0xdfff_ffff & ~capability.deprecateEof;
  const first = await server.start({}, false, engine);
  expect(parseError(await logIn(first.near))).toMatchObject({ code: 1429, message: expect.stringContaining("can do less") });
  await first.ended;
  const second = await server.start({}, true, engine);
  expect((await logIn(second.near))[0]).toBe(0);
  second.near.destroy();
  await second.ended;
});
