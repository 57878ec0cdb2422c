import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { encodeMessage } from "./error-response.ts";
import { complete, failed, query, ready } from "./testing/postgres-bytes.ts";
import { ann, startup, TestSessions } from "./testing/test-session.ts";

describe("the end of a PostgreSQL session", () => {
  const sessions = new TestSessions();
  afterEach(async () => await sessions[Symbol.asyncDispose]());

  test.for<[why: PlatformError, state: string]>([
    [new PlatformError("denied", "alice is locked"), "57P01"],
    [new PlatformError("timeout", "idle for too long"), "57P05"],
    [new PlatformError("unavailable", "the agent stops"), "57P01"],
  ])("a cut is reported: %s", async ([why, state]) => {
    const one = await sessions.loggedIn();
    one.end(why);
    const got = await one.all();
    expect(got).toContain(`C${state}\0M${why.message}\0`);
    expect(await one.served).toBe(why);
  });

  test("a cut while the server is being reached is reported as the cut", async () => {
    const silent = createServer();
    await once(silent.listen(0, "127.0.0.1"), "listening");
    const one = await sessions.run({ port: (silent.address() as AddressInfo).port });
    one.near.write(startup(ann));
    await once(silent, "connection");
    one.end(new PlatformError("denied", "alice is locked"));
    expect(await one.all()).toContain("C57P01\0Malice is locked");
    silent.close();
  });

  test("a cut before the login is reported too", async () => {
    const one = await sessions.run();
    one.end(new PlatformError("denied", "alice is locked"));
    expect(await one.all()).toContain("C57P01\0Malice is locked");
  });

  test("the loss of the server is reported; the server's own last words stay alone", async () => {
    const lost = await sessions.loggedIn();
    lost.upstream.end();
    expect(await lost.all()).toContain("C08006\0Mthe server closed the connection");
    expect(await lost.served).toMatchObject({ code: "unavailable" });
    const ended = await sessions.loggedIn();
    ended.upstream.end(failed("57P01", "shutting down", "FATAL"));
    expect(await ended.all()).not.toContain("08006");
    expect((await ended.served)?.message).toContain("shutting down");
  });

  test("malformed messages of the client end the session and reach no server", async () => {
    const one = await sessions.loggedIn();
    const got: Buffer[] = [];
    one.upstream.on("data", (chunk: Buffer) => got.push(chunk));
    one.near.write(Buffer.concat([query("select 1"), encodeMessage("p", Buffer.from("hunter2\0"))]));
    expect(await one.all()).toContain("C08P01");
    expect(await one.served).toMatchObject({ code: "invalid" });
    expect(Buffer.concat(got).toString()).not.toContain("hunter2");
    expect(JSON.stringify(one.events)).not.toContain(Buffer.from("hunter2").toString("base64").slice(0, 6));
    expect(one.events.map(({ event }) => event)).toContain("db.session.malformed_packet");
    expect(one.events.map(({ event }) => event)).toContain("db.session.query");
  });

  test("a server that breaks the protocol ends the session", async () => {
    const one = await sessions.loggedIn();
    one.upstream.write(Buffer.from("07ffffffff", "hex"));
    expect(await one.all()).toContain("C08P01");
    expect(await one.served).toMatchObject({ code: "invalid" });
  });

  test("a session whose audit cannot be kept ends, also when the event came from the server's side", async () => {
    const one = await sessions.loggedIn({ record: () => Promise.reject(new PlatformError("limit", "the disk is full")) });
    one.near.write(query("select 1"));
    one.upstream.once("data", () => one.upstream.write(Buffer.concat([complete("SELECT 1"), ready])));
    expect(await one.all()).toContain("the disk is full");
    expect(await one.served).toMatchObject({ code: "limit" });
  });
});
