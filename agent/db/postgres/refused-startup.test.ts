import fc from "fast-check";
import { afterEach, describe, expect, test, vi } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { someRuns } from "../../../test/fuzz/some-runs.ts";
import { encodeCancel, tlsRequest } from "./first-packet.ts";
import { type FakeServerOptions, fakeServer } from "./testing/fake-server.ts";
import { authenticationOk, inPieces, query, terminate } from "./testing/postgres-bytes.ts";
import { ann, type SessionOptions, startup, TestSessions } from "./testing/test-session.ts";

describe("a refused start of a PostgreSQL session", () => {
  const sessions = new TestSessions();
  afterEach(async () => await sessions[Symbol.asyncDispose]());

  const denied = new PlatformError("denied", "no role allows ann", { hint: "ask for it" });
  test.for<[what: string, options: SessionOptions | undefined, sent: Buffer, state: string, text: string]>([
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
    const one = await sessions.run(options);
    one.near.write(sent);
    const got = await one.all();
    expect(got).toContain(`SFATAL\0VFATAL\0C${state}\0`);
    expect(got).toContain(text);
    expect((await one.served)?.message).toBeTypeOf("string");
    expect(one.session.client.destroyed).toBe(true);
  });

  test("refusals of the engine's own are recorded, as are bytes that are not a startup packet", async () => {
    const other = await sessions.run({ asked: { user: "bob" } });
    other.near.write(startup(ann));
    await other.served;
    expect(other.events).toMatchObject([{ event: "db.session.start", success: false }]);
    const garbage = await sessions.run();
    garbage.near.write("GET / HTTP/1.1\r\n\r\n");
    await garbage.served;
    expect(garbage.events).toEqual([{ event: "db.session.malformed_packet", payload: Buffer.from("GET / HT").toString("base64") }]);
    expect([garbage.logins, garbage.server.packets]).toEqual([[], []]);
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
        const one = await sessions.run({ server });
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

  test.for<[what: string, server: FakeServerOptions, sent: Buffer, seconds: number, text: string]>([
    ["a client that states nothing", {}, Buffer.alloc(3), 10, "waiting for the startup packet"],
    ["a server that does not answer the request for TLS", { answer: "" }, startup(ann), 10, "the server's answer to the request for TLS"],
    ["a server that does not finish the login", { greeting: authenticationOk }, startup(ann), 30, "the server's login took more than 30 s"],
  ])("%s has only so much time", async ([, server, sent, seconds, text]) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const one = await sessions.run({ server });
      one.near.write(sent);
      await expect.poll(() => vi.getTimerCount() > 0 && (sent.length < 4 || one.server.requests > 0)).toBe(true);
      if (server.greeting !== undefined) await one.until(authenticationOk);
      await vi.advanceTimersByTimeAsync(seconds * 1000);
      expect(await one.all()).toContain(text);
    } finally {
      vi.useRealTimers();
    }
  });

  test("a client that leaves without a word, or in the middle of its startup packet, is not reported as a failure", async () => {
    for (const sent of ["", "\0\0"]) {
      const one = await sessions.run();
      one.near.end(sent);
      expect(await one.served).toBeUndefined();
      expect(one.events).toEqual([]);
    }
  });
});
