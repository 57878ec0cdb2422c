import fc from "fast-check";
import { expect, test } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { FrameFilter } from "../frame-filter.ts";
import { encodeMessage } from "./error-response.ts";
import type { CancelKey } from "./first-packet.ts";
import { Pipeline } from "./pipeline.ts";
import { ServerMessages, serverFormat } from "./server-messages.ts";
import { authenticationOk, complete, failed, inPieces, keyData, ready } from "./testing/postgres-bytes.ts";

function follow(key: (real: CancelKey) => CancelKey | undefined = (real) => real) {
  const pipeline = new Pipeline();
  let readyTimes = 0;
  const onReady = (): void => {
    readyTimes += 1;
  };
  const messages = new ServerMessages({ pipeline, replaceKey: key, onReady });
  const filter = new FrameFilter(serverFormat, messages.judge);
  const push = (bytes: Buffer, cuts: readonly number[] = []): Buffer => {
    const out = inPieces(bytes, cuts).flatMap((piece) => filter.push(Buffer.from(piece)).map((part) => Buffer.from(part)));
    if (filter.failure !== undefined) throw filter.failure;
    return Buffer.concat(out);
  };
  return { pipeline, messages, filter, push, isReady: () => readyTimes };
}

test("everything of the login passes, but the key is ours, of the same kind", () => {
  fc.assert(
    fc.property(fc.constantFrom(4, 32), fc.array(fc.nat(), { maxLength: 8 }), (length, cuts) => {
      const real = { pid: 7, secret: Buffer.alloc(length, 1) };
      const ours = { pid: 8, secret: Buffer.alloc(length, 2) };
      const followed = follow((key) => {
        expect(key).toEqual(real);
        return ours;
      });
      const negotiation = encodeMessage("v", Buffer.from("0003000000000000", "hex"));
      const status = encodeMessage("S", Buffer.from("server_version\x0018\0"));
      const login = (key: CancelKey): Buffer => Buffer.concat([negotiation, authenticationOk, status, keyData(key.pid, key.secret), ready]);
      expect(followed.push(login(real), cuts)).toEqual(login(ours));
      expect(followed.isReady()).toBe(1);
    }),
  );
});

test("without a key of ours the client gets none", () => {
  expect(follow(() => undefined).push(Buffer.concat([authenticationOk, keyData(7, Buffer.alloc(4)), ready]))).toEqual(
    Buffer.concat([authenticationOk, ready]),
  );
});

test.for([
  ["clear text", 3],
  ["MD5", 5],
  ["GSSAPI", 7],
  ["SCRAM", 10],
])("a server that asks for authentication by %s is refused with advice", ([, code]) => {
  const request = encodeMessage("R", Buffer.concat([Buffer.of(0, 0, 0, Number(code)), Buffer.from("SCRAM-SHA-256\0\0")]));
  expect(() => follow().push(request)).toThrow(expect.objectContaining({ code: "unavailable", hint: expect.stringContaining("pg_hba.conf") }));
});

test.for([
  ["a secret of 3 bytes", keyData(7, Buffer.alloc(3))],
  ["a secret of 300 bytes", keyData(7, Buffer.alloc(300))],
  ["a second key", Buffer.concat([keyData(7, Buffer.alloc(4)), keyData(7, Buffer.alloc(4))])],
  ["an empty authentication message", encodeMessage("R", Buffer.alloc(0))],
  ["a length of 2 GiB", Buffer.from("4480000000", "hex")],
  ["a length of 3", Buffer.from("4400000003", "hex")],
  ["a type that cannot be", Buffer.from("0700000004", "hex")],
] as const)("%s is invalid", ([, bytes]) => {
  expect(() => follow().push(bytes)).toThrow(expect.objectContaining({ code: "invalid" }));
});

test("the server's last error is the reason, an error of a query is not", () => {
  const { messages, push } = follow();
  push(Buffer.concat([authenticationOk, ready, failed("22012", "division by zero")]));
  expect(messages.fatal).toBeUndefined();
  push(failed("57P01", "terminating connection", "FATAL"));
  expect(messages.fatal?.message).toBe("the server ended the session: terminating connection (SQLSTATE 57P01)");
});

test("outcomes reach the pipeline after the login only", () => {
  const { pipeline, push } = follow();
  const outcomes: (string | undefined)[] = [];
  for (let count = 0; count < 2; count += 1) pipeline.push({ kind: "query", settle: (why) => void outcomes.push(why?.state) });
  push(Buffer.concat([authenticationOk, ready]));
  expect(outcomes).toEqual([]);
  push(Buffer.concat([complete("SELECT 1"), ready, failed("42601", "x".repeat(5_000)), ready]));
  expect(outcomes).toEqual([undefined, "42601"]);
});

test("any bytes in any pieces pass, or end in PlatformError; little is held", () => {
  const type = fc.constantFrom(..."RKEZCTDdGWIs123ntNSA").map((letter) => letter.charCodeAt(0));
  const framed = fc.tuple(type, fc.uint8Array({ maxLength: 50 })).map(([one, body]) => encodeMessage(String.fromCharCode(one), Buffer.from(body)));
  const anything = fc.oneof(
    { arbitrary: framed, weight: 9 },
    { arbitrary: fc.uint8Array({ maxLength: 20 }).map((array) => Buffer.from(array)), weight: 1 },
  );
  fc.assert(
    fc.property(fc.array(anything, { maxLength: 10 }), fc.array(fc.nat(), { maxLength: 10 }), (all, cuts) => {
      const { filter, push } = follow();
      try {
        push(Buffer.concat([authenticationOk, ready, ...all]), cuts);
        expect(filter.heldBytes).toBeLessThan(1_100);
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(PlatformError);
        expect((thrown as PlatformError).code).toMatch(/^(?:invalid|unavailable)$/);
      }
    }),
  );
});
