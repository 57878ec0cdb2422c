import fc from "fast-check";
import { expect, test } from "vitest";
import { type Capabilities, capability } from "../../../core/databases/mysql/capabilities.ts";
import { errorPacket } from "../../../core/databases/mysql/error-packet.ts";
import { packet } from "../../../core/databases/mysql/packet.ts";
import type { StatementResult } from "../../../core/recording/statements.ts";
import { FrameFilter } from "../frame-filter.ts";
import { extension } from "./capabilities.ts";
import { packetFormat } from "./client-commands.ts";
import { type Expected, Replies } from "./replies.ts";

const older: Capabilities = { flags: 0, extended: 0 };
const newer: Capabilities = { flags: capability.deprecateEof, extended: 0 };

const ok = (more = false): Buffer => Buffer.of(0, 0, 0, more ? 8 : 2, 0, 0, 0);
const okEnd = (more = false): Buffer => Buffer.of(0xfe, 0, 0, more ? 8 : 2, 0, 0, 0);
const eof = (status = 2): Buffer => Buffer.of(0xfe, 0, 0, status, 0);
const definition = Buffer.concat([Buffer.of(3), Buffer.from("def rest")]);
const row = Buffer.concat([Buffer.of(1), Buffer.from("1")]);
const refusal = { code: 1045, state: "28000", message: "no" };

/** Payloads become packets, numbered from 1. */
function push(replies: Replies, ...payloads: Buffer[]): Buffer {
  const filter = new FrameFilter({ ...packetFormat, keep: () => replies.kept }, (frame) => replies.judge(frame));
  return Buffer.concat(filter.push(Buffer.concat(payloads.map((payload, index) => packet(index + 1, payload)))));
}

function begun(session: Capabilities, ...expected: Expected[]): Replies {
  const replies = new Replies(session);
  for (const one of expected) replies.expect(one);
  replies.sent(0);
  return replies;
}

test("a result set ends where its capabilities say, and so do several", () => {
  const results: [Capabilities, Buffer[]][] = [
    [older, [Buffer.of(1), definition, eof(), row, row, eof()]],
    [older, [Buffer.of(2), definition, definition, eof(), eof(8), Buffer.of(1), definition, eof(), row, eof()]],
    [older, [ok(true), Buffer.of(1), definition, eof(), row, eof(8), ok()]],
    [older, [Buffer.of(1), definition, eof(64)]],
    [newer, [Buffer.of(1), definition, row, okEnd()]],
    [newer, [Buffer.of(1), definition, row, okEnd(true), ok(true), ok()]],
    [newer, [Buffer.of(1), definition, row, Buffer.concat([Buffer.of(0xff, 0x25, 5), Buffer.from("#70100x")])]],
    [{ ...newer, extended: extension.cachedMetadata }, [Buffer.of(1, 0), row, okEnd()]],
    [{ ...newer, extended: extension.cachedMetadata }, [Buffer.of(1, 1), definition, row, okEnd()]],
    [{ ...older, extended: extension.cachedMetadata }, [Buffer.of(1, 0), eof(), row, eof()]],
    [{ ...newer, extended: extension.progress }, [Buffer.of(0xff, 0xff, 0xff, 1, 1), ok()]],
  ];
  for (const [session, payloads] of results) {
    const replies = begun(session, { shape: "result" });
    push(replies, ...payloads.slice(0, -1));
    expect(replies.waiting).toBe(1);
    push(replies, payloads.at(-1) ?? ok());
    expect([replies.waiting, replies.nextSequence]).toEqual([0, 0]);
  }
});

test("a prepared statement has two groups of definitions, each with its end in an older session", () => {
  const answer = (columns: number, parameters: number): Buffer => Buffer.of(0, 7, 0, 0, 0, columns, 0, parameters, 0, 0, 0, 0);
  const cases: [Capabilities, Buffer[]][] = [
    [newer, [answer(0, 0)]],
    [newer, [answer(1, 2), definition, definition, definition]],
    [older, [answer(1, 2), definition, definition, eof(), definition, eof()]],
    [older, [answer(1, 0), definition, eof()]],
  ];
  for (const [session, payloads] of cases) {
    const prepared: unknown[] = [];
    const replies = begun(session, { shape: "prepared", onPrepared: (one) => prepared.push(one) });
    push(replies, ...payloads);
    expect([replies.waiting, prepared]).toEqual([0, [expect.objectContaining({ statement: 7 })]]);
  }
  const refused: unknown[] = [];
  push(begun(newer, { shape: "prepared", onPrepared: (one) => refused.push(one) }), Buffer.of(0xff, 1, 4));
  expect(refused).toEqual([undefined]);
});

test("a refusal takes the place of the answer to what went in place of the command, in order", () => {
  const replies = begun(newer, { shape: "ok" }, { shape: "ok", instead: refusal }, { shape: "text" }, { shape: "columns" }, { shape: "rows" });
  const out = push(replies, ok());
  expect(out).toEqual(packet(1, ok()));
  expect(push(replies, ok())).toEqual(errorPacket(1, refusal));
  push(replies, Buffer.from("Uptime: 7"), definition, okEnd(), row, okEnd());
  expect(replies.waiting).toBe(0);
});

test("the number of the next packet is 0 between commands, and continues within an answer", () => {
  const replies = new Replies(newer);
  expect(replies.nextSequence).toBe(0);
  replies.expect({ shape: "result" });
  replies.sent(2);
  expect(replies.nextSequence).toBe(3);
  push(replies, Buffer.of(1), definition, row);
  expect(replies.nextSequence).toBe(4);
});

test("the second packet of a long row is not taken for an end", () => {
  const replies = begun(newer, { shape: "result" });
  push(replies, Buffer.of(1), definition);
  const header = Buffer.of(0xff, 0xff, 0xff, 3);
  replies.judge({ header, body: row, length: 4 + 0xff_ffff });
  expect(replies.continues).toBe(true);
  replies.judge({ header: Buffer.of(7, 0, 0, 4), body: okEnd(), length: 11 });
  expect([replies.continues, replies.waiting]).toEqual([false, 1]);
});

test("a request for a file, and an answer without a command, end the session", () => {
  expect(() => push(begun(newer, { shape: "result" }), Buffer.concat([Buffer.of(0xfb), Buffer.from("/etc/passwd")]))).toThrow(/asked for a file/);
  expect(() => push(new Replies(newer), ok())).toThrow(/without a command/);
  expect(push(new Replies(newer), Buffer.of(0xff, 0xbf, 15))).toHaveLength(7);
});

const written = (count: number, more = false): Buffer => Buffer.of(0, count, 0, more ? 8 : 2, 0, 0, 0);
const failed = (text: string): Buffer => Buffer.concat([Buffer.of(0xff, 0x25, 5), Buffer.from(`#70100${text}`)]);

test.for<[what: string, shape: Expected["shape"], payloads: Buffer[], result: StatementResult]>([
  ["rows", "result", [Buffer.of(1), definition, row, row, okEnd()], { outcome: "ok", rows: 2 }],
  ["no rows", "result", [Buffer.of(1), definition, okEnd()], { outcome: "ok", rows: 0 }],
  ["written rows", "result", [written(3)], { outcome: "ok", affected: 3 }],
  ["several results", "result", [written(3, true), Buffer.of(1), definition, row, okEnd(true), written(1)], { outcome: "ok", rows: 1, affected: 4 }],
  ["an error", "result", [failed("x".repeat(500))], { outcome: "failed", code: "1317 (70100)", message: "x".repeat(500) }],
  [
    "an error after rows",
    "result",
    [Buffer.of(1), definition, row, failed("x".repeat(99))],
    { outcome: "failed", rows: 1, code: "1317 (70100)", message: `${"x".repeat(23)}…` },
  ],
  ["an error without a text", "ok", [Buffer.of(0xff)], { outcome: "failed" }],
  ["columns", "columns", [definition, okEnd()], { outcome: "ok" }],
  ["fetched rows", "rows", [row, row, okEnd()], { outcome: "ok", rows: 2 }],
])("the result of %s is stated, and nothing else", ([, shape, payloads, result]) => {
  const results: StatementResult[] = [];
  const replies = begun(newer, { shape, result: (one) => void results.push(one) }, { shape: "ok", result: (one) => void results.push(one) });
  push(replies, ...payloads, ok());
  expect(results).toEqual([result, { outcome: "ok" }]);
});

test("rows that wait for a fetch are not counted", () => {
  const results: StatementResult[] = [];
  push(begun(older, { shape: "result", result: (one) => void results.push(one) }), Buffer.of(1), definition, eof(64));
  expect(results).toEqual([{ outcome: "ok" }]);
});

test("any packets of a server are followed, or invalid", () => {
  const shapes = fc.constantFrom<Expected["shape"]>("ok", "text", "result", "rows", "columns", "prepared");
  const payloads = fc.array(fc.oneof(fc.uint8Array({ maxLength: 30 }), fc.constantFrom(ok(), okEnd(true), eof(), definition, row, Buffer.of(1))));
  const sessions = fc.record({ flags: fc.constantFrom(0, capability.deprecateEof), extended: fc.nat(63) });
  fc.assert(
    fc.property(sessions, fc.array(shapes), payloads, (session, expected, all) => {
      const replies = begun(session, ...expected.map((shape) => ({ shape })));
      try {
        push(replies, ...all.map((payload) => Buffer.from(payload)));
        expect(replies.waiting).toBeLessThanOrEqual(expected.length);
      } catch (thrown) {
        expect(thrown).toMatchObject({ code: "invalid" });
      }
    }),
  );
});
