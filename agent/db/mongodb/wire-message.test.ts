import { deserialize, serialize } from "bson";
import fc from "fast-check";
import { expect, test } from "vitest";
import { toPlatformError } from "../../../core/errors/platform-error.ts";
import { ClientFilter } from "./client-filter.ts";
import {
  answerTo,
  clientFrames,
  flag,
  opcode,
  opMsg,
  readAnswer,
  readHeader,
  readRequest,
  serverFrames,
  withCommand,
  withDocument,
} from "./wire-message.ts";

const document = (facts: object): Buffer => Buffer.from(serialize(facts));
const find = document({ find: "c", filter: { a: 1 }, $db: "orders" });

/** A section of documents; `lie` replaces its size. */
function sequence(name: string, documents: readonly Buffer[], lie?: number): Buffer {
  const body = Buffer.concat([Buffer.from(`${name}\0`), ...documents]);
  const head = Buffer.alloc(5);
  head[0] = 1;
  head.writeInt32LE(lie ?? body.length + 4, 1);
  return Buffer.concat([head, body]);
}

function message(sections: readonly Buffer[], { flags = 0, code = 2013, length = 0 } = {}): Buffer {
  const head = Buffer.alloc(20);
  const body = Buffer.concat([...sections]);
  head.writeInt32LE(length === 0 ? head.length + body.length : length);
  head.writeInt32LE(7, 4);
  head.writeInt32LE(code, 12);
  head.writeUInt32LE(flags, 16);
  return Buffer.concat([head, body]);
}
const kind0 = (command: Buffer): Buffer => Buffer.concat([Buffer.of(0), command]);
const query = (command: Buffer, namespace = "admin.$cmd", counts = Buffer.of(0, 0, 0, 0, 255, 255, 255, 255)): Buffer =>
  message([Buffer.from(`${namespace}\0`), counts, command], { code: 2004, flags: 0xff });
const insert = document({ insert: "c", $db: "orders" });
const rows = sequence("documents", [document({ a: 1 }), document({ a: 2 })]);

test.for<readonly [string, Buffer]>([
  ["the command first", message([kind0(insert), rows])],
  ["the command last", message([rows, kind0(insert)])],
  ["a checksum behind them", message([kind0(insert), rows, Buffer.of(1, 2, 3, 4)], { flags: flag.checksum })],
])("the sections of a message are read with %s", ([, bytes]) => {
  const request = readRequest(bytes, bytes.length);
  expect(request.command).toEqual(insert);
  expect(request.sequences.map(({ name, documents }) => [name, documents.length])).toEqual([["documents", 2]]);
  expect([request.requestId, request.isWhole]).toEqual([7, true]);
});

test("an OP_QUERY is read, changed, and answered in its own form", () => {
  const bytes = query(document({ isMaster: 1, compression: ["zlib"] }));
  const request = readRequest(bytes, bytes.length);
  const changed = withCommand(request, document({ isMaster: 1 }));
  expect(readRequest(changed, changed.length)).toMatchObject({ requestId: 7, opcode: opcode.query, command: document({ isMaster: 1 }) });
  const answer = answerTo(request, document({ ok: 1 }));
  expect(readHeader(answer)).toMatchObject({ opcode: opcode.reply, responseTo: 7, length: answer.length });
  expect(deserialize(readAnswer(answer).document)).toEqual({ ok: 1 });
  const other = withDocument(answer, document({ ok: 1, me: "x" }));
  expect(readAnswer(other)).toMatchObject({ header: { responseTo: 7, length: other.length }, document: document({ ok: 1, me: "x" }) });
});

test("an OP_QUERY goes on as a command, whatever it has asked for", () => {
  const bytes = query(document({ hello: null }), "secret.users", Buffer.alloc(8, 3));
  const request = readRequest(bytes, bytes.length);
  expect(request.namespace).toBe("secret.users");
  const ours = message([Buffer.from("admin.$cmd\0"), Buffer.of(0, 0, 0, 0, 255, 255, 255, 255), find], { code: 2004, flags: 4 });
  expect(withCommand(request, find)).toEqual(ours);
});

test("a changed OP_MSG keeps its flags, and has no checksum any more", () => {
  const bytes = message([kind0(find), Buffer.of(1, 2, 3, 4)], { flags: flag.exhaustAllowed | flag.checksum });
  const changed = withCommand(readRequest(bytes, bytes.length), insert);
  expect(readRequest(changed, changed.length)).toMatchObject({ flags: flag.exhaustAllowed, command: insert, isWhole: true });
});

test.for<readonly [string, Buffer]>([
  ["two commands", message([kind0(insert), kind0(find)])],
  ["no command", message([rows, rows])],
  ["an unknown section", message([kind0(insert), Buffer.of(2, 0, 0, 0, 0)])],
  ["a section longer than its message", message([kind0(insert), sequence("documents", [], 5000)])],
  ["a section of negative size", message([kind0(insert), sequence("documents", [], -1)])],
  ["a document longer than its section", message([kind0(insert), sequence("documents", [find.subarray(0, 10)])])],
  ["a section without a name", message([kind0(insert), sequence("x", []).subarray(0, -1)])],
])("a message with %s is malformed", ([, bytes]) => {
  expect(() => readRequest(bytes, bytes.length)).toThrow(expect.objectContaining({ code: "invalid" }));
});

test.for<readonly [string, Buffer]>([
  ["longer than servers take", message([kind0(find)], { length: 48_000_001 })],
  ["of a negative length", message([kind0(find)], { length: -1 })],
  ["compressed", message([kind0(find)], { code: 2012 })],
  ["of an opcode of old", message([kind0(find)], { code: 2002 })],
  ["with a flag that nobody knows", message([kind0(find)], { flags: 4 })],
  ["with a command longer than itself", message([kind0(Buffer.concat([Buffer.of(0, 0, 0, 127), find]))])],
  ["with an OP_QUERY of a megabyte", message([kind0(find)], { code: 2004, length: 1_000_000 })],
])("a message %s ends the connection", ([, bytes]) => {
  expect(() => new ClientFilter(() => "pass").push(bytes)).toThrow(expect.objectContaining({ code: "invalid" }));
});

test("the command is kept as a whole, and of its documents no more than their event can hold", () => {
  const large = document({ insert: "c", text: "x".repeat(200_000), $db: "orders" });
  const bytes = message([kind0(large), sequence("documents", [document({ a: "y".repeat(500_000) })])]);
  expect(36 + clientFrames.keep(bytes.subarray(0, 36))).toBe(21 + large.length + 16_384);
  const request = readRequest(bytes.subarray(0, 21 + large.length + 16_384), bytes.length);
  expect(request).toMatchObject({ isWhole: false, sequences: [{ name: "documents", documents: [] }] });
  const bulk = message([kind0(document({ bulkWrite: 1, $db: "admin" })), sequence("ops", [document({ a: "y".repeat(50_000) })])]);
  expect(36 + clientFrames.keep(bulk.subarray(0, 36))).toBe(bulk.length);
});

test("a server's frames are bounded, and only those that are wanted are kept", () => {
  const format = serverFrames(({ responseTo, length }) => (responseTo === 7 ? length : 0));
  const answer = opMsg({ responseTo: 7 }, document({ ok: 1 }));
  expect([format.lengthOf(answer), format.keep(answer), format.keep(opMsg({ responseTo: 8 }, find))]).toEqual([answer.length, answer.length - 20, 0]);
  for (const bytes of [message([kind0(find)], { length: 100_000_000 }), message([kind0(find)], { length: 20 }), message([], { code: 2012 })])
    expect(() => format.lengthOf(bytes)).toThrow(expect.objectContaining({ code: "invalid" }));
});

const messages = fc.array(
  fc.oneof(
    fc.string({ maxLength: 200 }).map((text) => message([kind0(document({ find: text, $db: "orders" }))])),
    fc.array(fc.integer(), { maxLength: 5 }).map((all) =>
      message([
        kind0(insert),
        sequence(
          "documents",
          all.map((a) => document({ a })),
        ),
      ]),
    ),
    fc.integer().map((n) => query(document({ isMaster: n }))),
  ),
  { maxLength: 6 },
);

function inPieces(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const ends = [...new Set(cuts.map((cut) => cut % (bytes.length + 1))), bytes.length].sort((a, b) => a - b);
  return ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
}

test("messages pass whatever the pieces in which they arrive, and each is judged once", () => {
  fc.assert(
    fc.property(messages, fc.array(fc.nat(), { maxLength: 20 }), (all, cuts) => {
      const seen: Buffer[] = [];
      const filter = new ClientFilter(({ header, body, length }) => {
        seen.push(readRequest(Buffer.concat([header, body]), length).command);
        return "pass";
      });
      const out = inPieces(Buffer.concat(all), cuts).flatMap((piece) => filter.push(Buffer.from(piece)));
      expect(Buffer.concat(out)).toEqual(Buffer.concat(all));
      expect(seen).toEqual(all.map((one) => readRequest(one, one.length).command));
    }),
  );
});

test("any bytes behind any header are a request, or malformed", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), fc.constantFrom(2013, 2004), fc.constantFrom(0, 1, 2, 1 << 16), (bytes, code, flags) => {
      const whole = message([Buffer.from(bytes)], { code, flags });
      try {
        new ClientFilter(({ header, body, length }) => {
          readRequest(Buffer.concat([header, body]), length);
          return "pass";
        }).push(whole);
      } catch (thrown) {
        expect(toPlatformError(thrown).code).toBe("invalid");
      }
    }),
  );
});

test("any bytes of a server are an answer, or malformed", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), fc.constantFrom(2013, 1), (bytes, code) => {
      const whole = message([Buffer.from(bytes)], { code });
      try {
        serverFrames(({ length }) => length).lengthOf(whole);
        withDocument(whole, readAnswer(whole).document);
      } catch (thrown) {
        expect(toPlatformError(thrown).code).toBe("invalid");
      }
    }),
  );
});
