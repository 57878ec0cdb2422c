import fc from "fast-check";
import { expect, test } from "vitest";
import { packet } from "../../../core/databases/mysql/packet.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { command, commandSession, execute, prepared, u16le } from "./testing/command-session.ts";
import { encodeLenencBytes } from "./wire.ts";

/** A query with attributes as it comes over the wire. */
function attributed(sql: string, ...values: { readonly name: string; readonly type: number; readonly bytes: Buffer }[]): Buffer {
  const types = values.map(({ name, type }) => Buffer.concat([u16le(type), encodeLenencBytes(Buffer.from(name))]));
  const bound = [Buffer.alloc((values.length + 7) >> 3), Buffer.of(1), ...types, ...values.map(({ bytes }) => bytes)];
  return command(0x03, Buffer.of(values.length, 1), ...(values.length === 0 ? [] : bound), sql);
}

test("the text of a query with attributes is exactly the SQL, and they are its parameters", () => {
  const trace = { name: "trace", type: 0xfe, bytes: encodeLenencBytes(Buffer.from("select 'not this'")) };
  const number = { name: "n", type: 8, bytes: Buffer.alloc(8, 1) };
  const date = { name: "d", type: 12, bytes: Buffer.of(4, 232, 7, 2, 3) };
  const texts = { trace: "trace=select 'not this'", number: "n=72340172838076673", date: "d=2024-02-03" };
  const queries: [Buffer, readonly string[] | undefined][] = [
    [attributed("select 1"), undefined],
    [attributed("select 1", trace), [texts.trace]],
    [attributed("select 1", number, date, trace), [texts.number, texts.date, texts.trace]],
  ];
  for (const [bytes, parameters] of queries) {
    const { send, events } = commandSession(true);
    expect(send(bytes)).toEqual(packet(0, bytes));
    expect(events).toEqual([
      { event: "db.session.query", success: true, db_query: "select 1", ...(parameters && { db_query_parameters: parameters }) },
    ]);
  }
});

test("attributes that a server reads in another way never hide the text", () => {
  const drop = "drop table secrets";
  // MySQL reads each of these types as a text with its length; read as what they are called, the text would begin later.
  for (const type of [0x06, 0x09, 0x0d, 0x0101, 0x0103]) {
    const bytes = Buffer.concat([Buffer.of(1), Buffer.from(`x${drop}`)]);
    expect(() => commandSession(true).send(attributed("", { name: "a", type, bytes }))).toThrow(/type/);
  }
  const set = attributed("select 1", { name: "a", type: 1, bytes: Buffer.of(1) });
  set[2] = 2;
  expect(() => commandSession(true).send(set)).toThrow(/2 sets of attributes/);
  expect(() => commandSession(true).send(command(0x03, Buffer.of(0, 0), drop))).toThrow(/0 sets of attributes/);
});

test("the attributes of an execution stand behind its parameters", () => {
  const { send, answer, events } = commandSession(true);
  send(command(0x16, "select ?"));
  answer(prepared(3, 1));
  const named = [u16le(1), Buffer.of(0), u16le(0xfe), encodeLenencBytes(Buffer.from("sql"))];
  send(execute(3, Buffer.of(2), Buffer.of(0), Buffer.of(1), ...named, Buffer.of(7), encodeLenencBytes(Buffer.from("drop table t"))));
  expect(events[1]).toMatchObject({ statement: "select ?", parameters: ["7", "sql=drop table t"] });
});

test("the text of any query with any attributes is exactly the SQL", () => {
  const texts = fc.uint8Array({ maxLength: 300 }).map((bytes) => ({ type: 0xfd, bytes: encodeLenencBytes(Buffer.from(bytes)) }));
  const numbers = fc
    .constantFrom([1, 1], [2, 2], [0x8003, 4], [8, 8], [4, 4], [5, 8])
    .map(([type = 0, length]) => ({ type, bytes: Buffer.alloc(length ?? 0, 9) }));
  const dates = fc.constantFrom(0, 4, 7, 11).map((length) => ({ type: 12, bytes: Buffer.concat([Buffer.of(length), Buffer.alloc(length, 1)]) }));
  const attribute = fc.tuple(fc.string({ maxLength: 20 }), fc.oneof(texts, numbers, dates)).map(([name, value]) => ({ name, ...value }));
  const sql = fc.string({ unit: "grapheme-ascii", minLength: 1, maxLength: 100 }).filter((text) => !/^\s*kill/i.test(text));
  fc.assert(
    fc.property(sql, fc.array(attribute, { maxLength: 12 }), (text, attributes) => {
      const { send, events } = commandSession(true);
      const bytes = attributed(text, ...attributes);
      expect(send(bytes)).toEqual(packet(0, bytes));
      expect(events).toMatchObject([{ event: "db.session.query", success: true, db_query: text }]);
      expect(events[0]).toSatisfy(({ db_query_parameters: shown = [] }) => shown.length === attributes.length);
    }),
  );
});

test("attributes that hide the text are refused; impossible ones are malformed", () => {
  const { send, events } = commandSession(true);
  const long = { name: "x", type: 0xfe, bytes: encodeLenencBytes(Buffer.alloc(40_000, 0x61)) };
  expect(send(attributed("drop table secrets", long))).toEqual(packet(0, Buffer.of(0x0e)));
  expect(events).toEqual([{ event: "db.session.query", success: false, db_query: "COM_QUERY", error: expect.stringContaining("attributes") }]);
  for (const bytes of [attributed("select 1", { name: "x", type: 0x50, bytes: Buffer.alloc(1) }), command(0x03, Buffer.of(5, 1))]) {
    expect(() => commandSession(true).send(bytes)).toThrow(PlatformError);
  }
});
