import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import fc from "fast-check";
import { afterEach, describe, expect, test, vi } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { someRuns } from "../../../test/fuzz/some-runs.ts";
import { type EngineSessionOptions, engineSession, type InsideEngineSession } from "../../../test/inside/engine-session.ts";
import { statementLog } from "../../../test/inside/statement-log.ts";
import { CancelKeys } from "./cancel-keys.ts";
import { encodeMessage } from "./error-response.ts";
import { encodeCancel, encodeStartup, tlsRequest } from "./first-packet.ts";
import { postgresEngine } from "./serve-postgres.ts";
import { type FakeServer, type FakeServerOptions, fakeServer, serverPid } from "./testing/fake-server.ts";
import { authenticationOk, complete, failed, inPieces, query, ready, terminate } from "./testing/postgres-bytes.ts";

const startup = (pairs: Readonly<Record<string, string>>, minor = 0): Buffer =>
  encodeStartup({ minor, parameters: Object.entries(pairs).map(([name, value]) => ({ name, value: Buffer.from(value) })) });
const ann = { user: "ann", database: "shop" };

describe("the engine of PostgreSQL", () => {
  const open: (FakeServer | Socket)[] = [];
  afterEach(async () => {
    for (const one of open.splice(0)) await ("destroy" in one ? one.destroy() : one[Symbol.asyncDispose]());
  });

  interface Run extends InsideEngineSession {
    readonly server: FakeServer;
    readonly served: Promise<PlatformError | undefined>;
    /** What the client has got until these bytes or its end. */
    readonly until: (mark: Buffer | string) => Promise<string>;
    readonly all: () => Promise<string>;
  }

  async function run(
    options: Partial<EngineSessionOptions> & {
      readonly server?: FakeServerOptions | FakeServer;
      readonly keys?: CancelKeys;
      /** Of the startup packet, beside the names. */
      readonly parameters?: Readonly<Record<string, string>>;
    } = {},
  ): Promise<Run> {
    const { server: given, keys, parameters: _, ...session } = options;
    const server = given !== undefined && "port" in given ? given : await fakeServer(given);
    const inside = await engineSession({ protocol: "postgres", port: server.port, ...session });
    open.push(inside.near, server);
    const served = postgresEngine(keys === undefined ? {} : { keys })(inside.session);
    let got = "";
    const { near } = inside;
    near.setEncoding("latin1").on("data", (text) => {
      got += String(text);
    });
    const until = async (mark: Buffer | string): Promise<string> => {
      await expect.poll(() => got.includes(mark.toString("latin1")) || near.readableEnded || near.destroyed).toBe(true);
      return got;
    };
    const all = async (): Promise<string> => {
      await expect.poll(() => near.readableEnded || near.destroyed).toBe(true);
      return got;
    };
    return { ...inside, server, served, until, all };
  }

  /** A session that is logged in. */
  async function loggedIn(options: Parameters<typeof run>[0] = {}): Promise<Run & { readonly upstream: Socket }> {
    const one = await run(options);
    one.near.write(startup({ ...ann, ...options.parameters }));
    await one.until(ready);
    const upstream = one.server.sessions.at(-1);
    if (upstream === undefined) throw new Error("the server has no session");
    return { ...one, upstream };
  }

  test("a client logs in, and both sides are relayed until it leaves", async () => {
    const one = await run();
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

  test("the recording has each query with its result", async () => {
    const { log, statements } = statementLog();
    const { near, upstream, until } = await loggedIn({ statements: log });
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
      const one = await loggedIn({ keys, server: { secret } });
      const got = Buffer.from(await one.until(ready), "latin1");
      const body = got.subarray(got.indexOf("K") + 5);
      const key = { pid: body.readUInt32BE(0), secret: Buffer.from(body.subarray(4, 4 + secret.length)) };
      const other = await run({ keys, server: one.server });
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
      const strange = await run({ keys, server: one.server, user: "mallory" });
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

  const denied = new PlatformError("denied", "no role allows ann", { hint: "ask for it" });
  test.for<[what: string, options: Parameters<typeof run>[0], sent: Buffer, state: string, text: string]>([
    [
      "a login that is not allowed",
      {
        judge: () => {
          throw denied;
        },
      },
      startup(ann),
      "28000",
      "no role allows ann",
    ],
    [
      "a limit",
      {
        judge: () => {
          throw new PlatformError("limit", "too many");
        },
      },
      startup(ann),
      "53300",
      "too many",
    ],
    ["another user than the stream's", { asked: { user: "bob" } }, startup(ann), "28000", "opened for"],
    ["a server without TLS", { server: { answer: "N" } }, startup(ann), "08006", "does not offer TLS"],
    ["a server that speaks something else", { server: { answer: "HTTP" } }, startup(ann), "08006", "did not answer"],
    ["data before the server's TLS", { server: { answer: "Sinjected" } }, startup(ann), "08006", "before the TLS handshake"],
    ["a server that asks for a password", { server: { greeting: Buffer.from("52000000080000000300", "hex") } }, startup(ann), "08006", "password"],
    ["an unreachable server", { port: 1 }, startup(ann), "08006", "could not reach"],
    ["data behind the request for TLS", {}, Buffer.concat([tlsRequest, startup(ann)]), "08P01", "behind"],
    ["a giant startup packet", {}, Buffer.from("7fffffff0003", "hex"), "08P01", "announces"],
    ["TLS", {}, Buffer.from("160301020001000001", "hex"), "08P01", "sslmode"],
    ["protocol 2", {}, Buffer.from("0000000800020000", "hex"), "0A000", "protocol 2.0"],
  ])("%s is refused in the protocol's words", async ([, options, sent, state, text]) => {
    const one = await run(options);
    one.near.write(sent);
    const got = await one.all();
    expect(got).toContain(`SFATAL\0VFATAL\0C${state}\0`);
    expect(got).toContain(text);
    expect((await one.served)?.message).toBeTypeOf("string");
    expect(one.session.client.destroyed).toBe(true);
  });

  test("refusals of the engine's own are recorded, as are bytes that are not a startup packet", async () => {
    const other = await run({ asked: { user: "bob" } });
    other.near.write(startup(ann));
    await other.served;
    expect(other.events).toMatchObject([{ event: "db.session.start", success: false }]);
    const garbage = await run();
    garbage.near.write("GET / HTTP/1.1\r\n\r\n");
    await garbage.served;
    expect(garbage.events).toEqual([{ event: "db.session.malformed_packet", payload: Buffer.from("GET / HT").toString("base64") }]);
    expect([garbage.logins, garbage.server.packets]).toEqual([[], []]);
  });

  test("replication is for the login to allow; its messages pass both ways, as many as the slower side takes", async () => {
    const one = await loggedIn({ parameters: { replication: "true" } });
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

  test("a client that leaves without a word, or in the middle of its startup packet, is not reported as a failure", async () => {
    for (const sent of ["", "\0\0"]) {
      const one = await run();
      one.near.end(sent);
      expect(await one.served).toBeUndefined();
      expect(one.events).toEqual([]);
    }
  });

  test.for<[why: PlatformError, state: string]>([
    [new PlatformError("denied", "alice is locked"), "57P01"],
    [new PlatformError("timeout", "idle for too long"), "57P05"],
    [new PlatformError("unavailable", "the agent stops"), "57P01"],
  ])("a cut is reported: %s", async ([why, state]) => {
    const one = await loggedIn();
    one.end(why);
    const got = await one.all();
    expect(got).toContain(`C${state}\0M${why.message}\0`);
    expect(await one.served).toBe(why);
  });

  test("any first bytes in any pieces end in a refusal or in a login, and never in an exception", async () => {
    const server = await fakeServer({ closes: true });
    const codes = fc.constantFrom(
      tlsRequest,
      startup(ann),
      startup(ann, 2),
      encodeCancel({ pid: 1, secret: Buffer.alloc(4) }),
      query("x"),
      terminate,
    );
    const anything = fc.oneof(
      codes,
      fc.uint8Array({ maxLength: 40 }).map((array) => Buffer.from(array)),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(anything, { maxLength: 5 }), fc.array(fc.nat(), { maxLength: 3 }), async (all, cuts) => {
        const one = await run({ server });
        for (const piece of inPieces(Buffer.concat(all), cuts)) {
          one.near.write(piece);
          await new Promise((resolve) => setImmediate(resolve));
        }
        one.near.end();
        const reason = await one.served;
        expect(reason === undefined || reason instanceof PlatformError).toBe(true);
        expect(reason?.code).not.toBe("internal");
        expect(one.session.client.destroyed).toBe(true);
      }),
      { numRuns: someRuns(40) },
    );
  });

  test("a cut while the server is being reached is reported as the cut", async () => {
    const silent = createServer();
    await once(silent.listen(0, "127.0.0.1"), "listening");
    const one = await run({ port: (silent.address() as AddressInfo).port });
    one.near.write(startup(ann));
    await once(silent, "connection");
    one.end(new PlatformError("denied", "alice is locked"));
    expect(await one.all()).toContain("C57P01\0Malice is locked");
    silent.close();
  });

  test.for<[what: string, server: FakeServerOptions, sent: Buffer, seconds: number, text: string]>([
    ["a client that states nothing", {}, Buffer.alloc(3), 10, "the wait for the startup packet"],
    ["a server that does not answer the request for TLS", { answer: "" }, startup(ann), 10, "the server's answer to the request for TLS"],
    ["a server that does not finish the login", { greeting: authenticationOk }, startup(ann), 30, "the server's login took more than 30 s"],
  ])("%s has only so much time", async ([, server, sent, seconds, text]) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const one = await run({ server });
      one.near.write(sent);
      await expect.poll(() => vi.getTimerCount() > 0 && (sent.length < 4 || one.server.requests > 0)).toBe(true);
      if (server.greeting !== undefined) await one.until(authenticationOk);
      await vi.advanceTimersByTimeAsync(seconds * 1000);
      expect(await one.all()).toContain(text);
    } finally {
      vi.useRealTimers();
    }
  });

  test("a cut before the login is reported too", async () => {
    const one = await run();
    one.end(new PlatformError("denied", "alice is locked"));
    expect(await one.all()).toContain("C57P01\0Malice is locked");
  });

  test("the loss of the server is reported; the server's own last words stay alone", async () => {
    const lost = await loggedIn();
    lost.upstream.end();
    expect(await lost.all()).toContain("C08006\0Mthe server closed the connection");
    expect(await lost.served).toMatchObject({ code: "unavailable" });
    const ended = await loggedIn();
    ended.upstream.end(failed("57P01", "shutting down", "FATAL"));
    expect(await ended.all()).not.toContain("08006");
    expect((await ended.served)?.message).toContain("shutting down");
  });

  test("malformed messages of the client end the session and reach no server", async () => {
    const one = await loggedIn();
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
    const one = await loggedIn();
    one.upstream.write(Buffer.from("07ffffffff", "hex"));
    expect(await one.all()).toContain("C08P01");
    expect(await one.served).toMatchObject({ code: "invalid" });
  });

  test("a session whose audit cannot be kept ends, also when the event came from the server's side", async () => {
    const one = await loggedIn({ record: () => Promise.reject(new PlatformError("limit", "the disk is full")) });
    one.near.write(query("select 1"));
    one.upstream.once("data", () => one.upstream.write(Buffer.concat([complete("SELECT 1"), ready])));
    expect(await one.all()).toContain("the disk is full");
    expect(await one.served).toMatchObject({ code: "limit" });
  });

  test("nothing is read from the client while the audit has no room", async () => {
    const room = Promise.withResolvers<void>();
    const one = await loggedIn({ record: () => room.promise });
    let seen = 0;
    one.upstream.on("data", (chunk: Buffer) => {
      seen += chunk.length;
    });
    const first = encodeMessage("P", Buffer.from("s\0select 1\0\0\0"));
    one.near.write(first);
    await expect.poll(() => seen).toBe(first.length);
    one.near.write(query("select 2"));
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(seen).toBe(first.length);
    room.resolve();
    await expect.poll(() => seen).toBe(first.length + query("select 2").length);
  });
});
