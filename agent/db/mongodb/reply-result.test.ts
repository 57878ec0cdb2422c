import { Long, serialize } from "bson";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { StatementResult } from "../../../core/recording/statements.ts";
import { keptOfReply, replyResult } from "./reply-result.ts";
import { opcode } from "./wire-message.ts";

const section = (document: object): Buffer => Buffer.concat([Buffer.of(0), serialize(document)]);
const long = "x".repeat(5_000);

test.for<[command: string, reply: object, result: StatementResult]>([
  ["ping", { ok: 1 }, { outcome: "ok" }],
  ["insert", { n: 2, ok: 1 }, { outcome: "ok", affected: 2 }],
  ["update", { n: 3, nModified: 1, upserted: [{ index: 0, _id: 1 }], ok: 1 }, { outcome: "ok", affected: 2 }],
  ["delete", { n: Long.fromNumber(3), ok: 1 }, { outcome: "ok", affected: 3 }],
  ["count", { n: 3, ok: 1 }, { outcome: "ok" }],
  ["find", { cursor: { firstBatch: [{ a: 1 }, { a: 2 }], id: Long.ZERO, ns: "a.b" }, ok: 1 }, { outcome: "ok", rows: 2 }],
  ["getMore", { cursor: { nextBatch: [], id: Long.ZERO, ns: "a.b" }, ok: 1 }, { outcome: "ok", rows: 0 }],
  [
    "find",
    { ok: 0, errmsg: "not allowed", code: 13, codeName: "Unauthorized" },
    { outcome: "failed", code: "13 (Unauthorized)", message: "not allowed" },
  ],
  ["find", { ok: 0 }, { outcome: "failed" }],
  [
    "insert",
    { n: 1, writeErrors: [{ index: 1, code: 11_000, errmsg: "duplicate key" }], ok: 1 },
    { outcome: "failed", affected: 1, code: "11000", message: "duplicate key" },
  ],
  [
    "insert",
    { n: 1, writeConcernError: { code: 64, codeName: "WriteConcernFailed", errmsg: "timed out" }, ok: 1 },
    { outcome: "failed", affected: 1, code: "64 (WriteConcernFailed)", message: "timed out" },
  ],
])("the reply to %s, %j, is %j", ([command, reply, result]) => {
  expect(replyResult(command, { opcode: opcode.msg }, section(reply))).toEqual(result);
});

test.for<[reply: object, result: StatementResult]>([
  [{ cursor: { firstBatch: [{ long }], id: Long.ZERO, ns: "a.b" }, ok: 1 }, { outcome: "unknown" }],
  [
    { ok: 0, errmsg: "no", code: 1, long },
    { outcome: "failed", code: "1", message: "no" },
  ],
  [{ ok: 1, n: 7, long }, { outcome: "unknown" }],
])("of a long reply only its beginning is known: %#", ([reply, result]) => {
  const bytes = section(reply);
  const kept = keptOfReply({ length: bytes.length + 20, requestId: 1, responseTo: 1, opcode: opcode.msg }) - 20;
  expect(kept).toBeLessThan(bytes.length);
  expect(replyResult("find", { opcode: opcode.msg }, bytes.subarray(0, kept))).toEqual(result);
});

test("any bytes, and any beginning of a reply, have a result that the whole reply does not contradict", () => {
  const reply = fc.record(
    { n: fc.nat(), ok: fc.constantFrom(0, 1), errmsg: fc.string(), code: fc.nat(), extra: fc.string() },
    { requiredKeys: ["ok"] },
  );
  fc.assert(
    fc.property(reply, fc.nat(), fc.uint8Array({ maxLength: 60 }), (document, at, bytes) => {
      replyResult("insert", { opcode: opcode.msg }, Buffer.from(bytes));
      const whole = section(document);
      const known = replyResult("insert", { opcode: opcode.msg }, whole);
      const part = replyResult("insert", { opcode: opcode.msg }, whole.subarray(0, at % (whole.length + 1)));
      expect(["unknown", known.outcome]).toContain(part.outcome);
      if (part.affected !== undefined) expect(part.affected).toBe(known.affected);
    }),
  );
});
