import { afterEach, describe, expect, test } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { LateAudit } from "../../../test/inside/late-audit.ts";
import { statementLog } from "../../../test/inside/statement-log.ts";
import { turns } from "../../../test/inside/turns.ts";
import { CancelKeys } from "./cancel-keys.ts";
import { encodeMessage } from "./error-response.ts";
import { encodeCancel, tlsRequest } from "./first-packet.ts";
import { serverPid } from "./testing/fake-server.ts";
import { authenticationOk, bind, complete, execute, failed, parse, query, ready, sync, terminate } from "./testing/postgres-bytes.ts";
import { ann, startup, TestSessions } from "./testing/test-session.ts";

describe("the engine of PostgreSQL", () => {
  const sessions = new TestSessions();
  afterEach(async () => await sessions[Symbol.asyncDispose]());

  test("a client logs in, and both sides are relayed until it leaves", async () => {
    const one = await sessions.run();
    one.near.write(Buffer.from("0000000804d21630", "hex"));
    expect(await one.until("N")).toBe("N");
    one.near.write(tlsRequest);
    expect(await one.until("NN")).toBe("NN");
    one.near.write(startup({ ...ann, application_name: "psql", "_pq_.x": "1" }, 2));
    const greeting = await one.until(ready);
    expect(greeting.startsWith(`NN${authenticationOk.toString("latin1")}K`)).toBe(true);
    expect(greeting).not.toContain("real");
    expect(one.server.packets).toMatchObject([
      { kind: "startup", minor: 2, parameters: [{ name: "user" }, { name: "database" }, {}, { name: "_pq_.x" }] },
    ]);
    expect(one.logins).toEqual([{ names: { user: "ann", name: "shop" }, userAgent: "psql" }]);
    one.near.write(query("select 1"));
    const [upstream] = one.server.sessions;
    upstream?.once("data", () => upstream.write(Buffer.concat([complete("SELECT 1"), ready])));
    await one.until(complete("SELECT 1"));
    one.near.end(terminate);
    upstream?.once("end", () => upstream.end());
    expect(await one.served).toBeUndefined();
    expect(one.events).toEqual([{ event: "db.session.query", db_query: "select 1", success: true }]);
    expect(one.bytes.received).toBe(query("select 1").length + terminate.length);
  });

  test("in a strict session messages go to the server once their events are safe; those without one do not wait", async () => {
    const audit = new LateAudit();
    const one = await sessions.loggedIn(audit.options);
    let got = "";
    one.upstream.setEncoding("latin1").on("data", (text) => (got += String(text)));
    const ahead = Buffer.concat([parse("", "select 1"), bind("", ""), execute(""), sync]);
    one.near.write(ahead);
    await audit.recorded(3);
    expect(got).toBe("");
    audit.release();
    await expect.poll(() => got).toBe(ahead.toString("latin1"));
    one.near.write(sync);
    await expect.poll(() => got).toBe(Buffer.concat([ahead, sync]).toString("latin1"));
    const { received } = one.bytes;
    one.near.write(query("drop table t"));
    await audit.recorded(4);
    audit.fail(new PlatformError("unavailable", "the host could not record it"));
    expect(await one.all()).toContain("the host could not record it");
    expect(await one.served).toMatchObject({ code: "unavailable" });
    expect(got).not.toContain("drop table");
    // So the summary says that this one was not sent.
    expect(one.bytes.received).toBe(received);
    expect(one.pids).toEqual([serverPid]);
  });

  test("the recording has each query with its result", async () => {
    const { log, statements } = statementLog();
    const { near, upstream, until } = await sessions.loggedIn({ statements: log });
    near.write(Buffer.concat([query("select 1"), query("select 1/0"), query("select 2")]));
    const row = encodeMessage("D", Buffer.alloc(20));
    upstream.write(Buffer.concat([row, row, complete("SELECT 2"), ready, failed("22012", "division by zero"), ready]));
    await until(complete("SELECT 2"));
    near.end(terminate);
    await expect
      .poll(() => statements)
      .toMatchObject([
        { text: "select 1", result: { outcome: "ok", rows: 2, tag: "SELECT 2" } },
        { text: "select 1/0", result: { outcome: "failed", code: "22012" } },
        { text: "select 2" },
      ]);
    expect(statements[2]?.result).toBeUndefined();
  });

  test("a request to cancel reaches the server with the real key, on a connection of its own", async () => {
    const keys = new CancelKeys();
    for (const secret of [Buffer.from("real"), Buffer.alloc(32, 7)]) {
      const one = await sessions.loggedIn({ keys, server: { secret } });
      const got = Buffer.from(await one.until(ready), "latin1");
      const body = got.subarray(got.indexOf("K") + 5);
      const key = { pid: body.readUInt32BE(0), secret: Buffer.from(body.subarray(4, 4 + secret.length)) };
      const other = await sessions.run({ keys, server: one.server });
      // A client that would rather encrypt asks for TLS first.
      if (secret.length > 4) {
        other.near.write(tlsRequest);
        await other.until("N");
      }
      other.near.write(encodeCancel(key));
      expect(await other.all()).toBe(secret.length > 4 ? "N" : "");
      expect(await other.served).toBeUndefined();
      expect(one.server.packets[1]).toEqual({ kind: "cancel", pid: serverPid, secret });
      expect(one.events).toEqual([{ event: "db.session.cancel", success: true }]);
      const strange = await sessions.run({ keys, server: one.server, user: "mallory" });
      strange.near.write(encodeCancel(key));
      expect(await strange.all()).toBe("");
      expect(await strange.served).toMatchObject({ code: "denied" });
      expect(strange.events).toMatchObject([{ event: "db.session.cancel", success: false }]);
      expect(one.server.packets).toHaveLength(2);
      one.near.destroy();
      await one.served;
      expect(keys.size).toBe(0);
    }
  });

  test("replication is for the login to allow; its messages pass both ways, as many as the slower side takes", async () => {
    const one = await sessions.loggedIn({ parameters: { replication: "true" } });
    expect(one.logins).toEqual([{ names: { user: "ann", name: "shop" }, userAgent: undefined, replication: "physical" }]);
    expect(one.server.packets).toMatchObject([{ parameters: [{}, {}, { name: "replication" }] }]);
    const start = query("START_REPLICATION SLOT s PHYSICAL 0/0");
    const status = encodeMessage("d", Buffer.from(`r${"\0".repeat(33)}`));
    const both = encodeMessage("W", Buffer.of(0, 0, 0));
    const wal = encodeMessage("d", Buffer.concat([Buffer.from("w"), Buffer.alloc(8_000_000, 7)]));
    const got: Buffer[] = [];
    one.upstream.on("data", (chunk: Buffer) => got.push(chunk));
    one.near.write(start);
    await expect.poll(() => Buffer.concat(got).equals(start)).toBe(true);
    one.upstream.write(both);
    await one.until(both);
    one.near.pause();
    for (let sent = 0; sent < 6; sent += 1) one.upstream.write(wal);
    one.near.write(status);
    await expect.poll(() => Buffer.concat(got).equals(Buffer.concat([start, status]))).toBe(true);
    expect(one.session.client.writableLength).toBeLessThan(1_000_000);
    expect(one.upstream.writableLength).toBeGreaterThan(10_000_000);
    one.near.resume();
    one.near.write(encodeMessage("c", Buffer.alloc(0)));
    one.upstream.write(Buffer.concat([encodeMessage("c", Buffer.alloc(0)), complete("START_STREAMING"), ready]));
    await one.until(complete("START_STREAMING"));
    one.near.write(query("IDENTIFY_SYSTEM"));
    one.upstream.once("data", () => one.upstream.write(Buffer.concat([complete("IDENTIFY_SYSTEM"), ready])));
    await one.until(complete("IDENTIFY_SYSTEM"));
    expect(one.events).toMatchObject([{ db_query: "START_REPLICATION SLOT s PHYSICAL 0/0" }, { db_query: "IDENTIFY_SYSTEM", success: true }]);
  });

  test("nothing is read from the client while the audit has no room", async () => {
    const room = Promise.withResolvers<void>();
    const one = await sessions.loggedIn({ record: () => room.promise });
    let seen = 0;
    one.upstream.on("data", (chunk: Buffer) => {
      seen += chunk.length;
    });
    const first = encodeMessage("P", Buffer.from("s\0select 1\0\0\0"));
    one.near.write(first);
    await expect.poll(() => seen).toBe(first.length);
    one.near.write(query("select 2"));
    await turns();
    expect(seen).toBe(first.length);
    room.resolve();
    await expect.poll(() => seen).toBe(first.length + query("select 2").length);
  });
});
