import fc from "fast-check";
import { expect, test } from "vitest";
import { capability } from "../../../core/databases/mysql/capabilities.ts";
import { packet } from "../../../core/databases/mysql/packet.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { DatabaseEvent } from "../engine.ts";
import { FrameFilter } from "../frame-filter.ts";
import { ClientCommands, packetFormat } from "./client-commands.ts";
import { Replies } from "./replies.ts";
import { Statements } from "./statements.ts";
import { encodeLenencBytes, u32le } from "./wire.ts";

/** Both directions of a session. */
function session(hasAttributes = false) {
  const events: DatabaseEvent[] = [];
  const replies = new Replies({ flags: capability.deprecateEof, extended: 0 });
  const threadOf = (own: number): number | undefined => (own === 3_000_000_000 ? 42 : undefined);
  const facts = { statements: new Statements(), hasAttributes, threadOf, record: (event: DatabaseEvent) => void events.push(event) };
  const commands = new ClientCommands(facts, replies);
  const fromClient = new FrameFilter(commands.format, (frame) => commands.judge(frame));
  const fromServer = new FrameFilter({ ...packetFormat, keep: () => replies.kept }, (frame) => replies.judge(frame));
  const send = (...payloads: Buffer[]): Buffer => Buffer.concat(fromClient.push(Buffer.concat(payloads.map((one) => packet(0, one)))));
  const answer = (payload: Buffer): Buffer => Buffer.concat(fromServer.push(packet(1, payload)));
  return { events, replies, commands, fromClient, send, answer };
}

const command = (code: number, ...parts: (Buffer | string)[]): Buffer =>
  Buffer.concat([Buffer.of(code), ...parts.map((part) => (typeof part === "string" ? Buffer.from(part) : part))]);
const ok = Buffer.of(0, 0, 0, 2, 0, 0, 0);
const prepared = (statement: number, parameters: number): Buffer => Buffer.of(0, statement, 0, 0, 0, 0, 0, parameters, 0, 0, 0, 0);
const u16le = (value: number): Buffer => Buffer.of(value & 255, value >> 8);
const execute = (statement: number, ...rest: Buffer[]): Buffer => command(0x17, u32le(statement), Buffer.of(0), u32le(1), ...rest);

test("each command has its event and passes as it is", () => {
  const commands: [Buffer, object | undefined][] = [
    [command(0x03, "select 1"), { event: "db.session.query", success: true, db_query: "select 1" }],
    [command(0x02, "orders"), { event: "db.session.mysql.init_db", schema_name: "orders" }],
    [command(0x05, "new"), { event: "db.session.mysql.create_db", schema_name: "new" }],
    [command(0x06, "old"), { event: "db.session.mysql.drop_db", schema_name: "old" }],
    [command(0x07, Buffer.of(4)), { event: "db.session.mysql.refresh", subcommand: "4" }],
    [command(0x08), { event: "db.session.mysql.shut_down" }],
    [command(0x0a), { event: "db.session.query", success: true, db_query: "COM_PROCESS_INFO" }],
    [command(0x0c, u32le(7)), { event: "db.session.mysql.process_kill", process_id: 7 }],
    [command(0x0d), { event: "db.session.mysql.debug" }],
    [command(0x16, "select ?"), { event: "db.session.mysql.statements.prepare", db_query: "select ?" }],
    [command(0x19, u32le(5)), { event: "db.session.mysql.statements.close", statement_id: 5 }],
    [command(0x1a, u32le(5)), { event: "db.session.mysql.statements.reset", statement_id: 5 }],
    [command(0x1b, u16le(0)), { event: "db.session.query", success: true, db_query: "COM_SET_OPTION MULTI_STATEMENTS_ON" }],
    [command(0x1c, u32le(5), u32le(9)), { event: "db.session.mysql.statements.fetch", statement_id: 5, rows_count: 9 }],
    [command(0x1f), { event: "db.session.query", success: true, db_query: "COM_RESET_CONNECTION" }],
    [command(0x04, "t\0%"), { event: "db.session.query", success: true, db_query: "COM_FIELD_LIST t" }],
    [command(0x01), undefined],
    [command(0x09), undefined],
    [command(0x0e), undefined],
  ];
  for (const [bytes, event] of commands) {
    const { send, events } = session();
    expect(send(bytes)).toEqual(packet(0, bytes));
    expect(events).toEqual(event === undefined ? [] : [event]);
  }
});

test("another account and copies of the server are refused, and the connection goes on", () => {
  const refused: [Buffer, number, string][] = [
    [command(0x11, "bob\0", Buffer.of(7), "hunter2", "\0"), 1045, "COM_CHANGE_USER bob"],
    [command(0x12, Buffer.alloc(10)), 1227, "COM_BINLOG_DUMP"],
    [command(0x15, Buffer.alloc(10)), 1227, "COM_REGISTER_SLAVE"],
    [command(0x1e), 1227, "COM_BINLOG_DUMP_GTID"],
    [command(0x20), 1227, "COM_CLONE"],
  ];
  for (const [bytes, code, name] of refused) {
    const { send, answer, events, replies } = session();
    expect(send(bytes)).toEqual(packet(0, Buffer.of(0x0e)));
    const error = answer(ok);
    expect([error[3], error[4], error.readUInt16LE(5)]).toEqual([1, 0xff, code]);
    expect(events).toEqual([{ event: "db.session.query", success: false, db_query: name, error: expect.any(String) }]);
    expect(JSON.stringify(events)).not.toContain("hunter2");
    expect(send(command(0x03, "select 2"))).toHaveLength(13);
    expect(replies.waiting).toBe(1);
  }
});

/** A query with attributes as it comes over the wire. */
function attributed(sql: string, ...values: { readonly name: string; readonly type: number; readonly bytes: Buffer }[]): Buffer {
  const types = values.map(({ name, type }) => Buffer.concat([u16le(type), encodeLenencBytes(Buffer.from(name))]));
  const bound = [Buffer.alloc((values.length + 7) >> 3), Buffer.of(1), ...types, ...values.map(({ bytes }) => bytes)];
  return command(0x03, Buffer.of(values.length, 1), ...(values.length === 0 ? [] : bound), sql);
}

test("the text of a query with attributes is exactly the SQL", () => {
  const trace = { name: "trace", type: 0xfe, bytes: encodeLenencBytes(Buffer.from("select 'not this'")) };
  const number = { name: "n", type: 8, bytes: Buffer.alloc(8, 1) };
  const date = { name: "d", type: 12, bytes: Buffer.of(4, 232, 7, 2, 3) };
  for (const bytes of [attributed("select 1"), attributed("select 1", trace), attributed("select 1", number, date, trace)]) {
    const { send, events } = session(true);
    expect(send(bytes)).toEqual(packet(0, bytes));
    expect(events).toEqual([{ event: "db.session.query", success: true, db_query: "select 1" }]);
  }
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
      const { send, events } = session(true);
      const bytes = attributed(text, ...attributes);
      expect(send(bytes)).toEqual(packet(0, bytes));
      expect(events).toEqual([{ event: "db.session.query", success: true, db_query: text }]);
    }),
  );
});

test("attributes that hide the text are refused; impossible ones are malformed", () => {
  const { send, events } = session(true);
  const long = { name: "x", type: 0xfe, bytes: encodeLenencBytes(Buffer.alloc(40_000, 0x61)) };
  expect(send(attributed("drop table secrets", long))).toEqual(packet(0, Buffer.of(0x0e)));
  expect(events).toEqual([{ event: "db.session.query", success: false, db_query: "COM_QUERY", error: expect.stringContaining("attributes") }]);
  for (const bytes of [attributed("select 1", { name: "x", type: 0x50, bytes: Buffer.alloc(1) }), command(0x03, Buffer.of(5, 1))]) {
    expect(() => session(true).send(bytes)).toThrow(PlatformError);
  }
});

test("an execution has its parameters as text, by the types of an earlier one too", () => {
  const { send, answer, events } = session();
  send(command(0x16, "select ?,?,?,?"));
  answer(prepared(3, 4));
  const types = Buffer.concat([3, 0xfe, 6, 10].map(u16le));
  const values = [u32le(42), encodeLenencBytes(Buffer.from("héllo")), Buffer.of(4, 232, 7, 2, 29)];
  send(execute(3, Buffer.of(0b0100), Buffer.of(1), types, ...values));
  answer(ok);
  send(execute(3, Buffer.of(0b0110), Buffer.of(0), u32le(43), Buffer.of(0)));
  const common = { event: "db.session.mysql.statements.execute", statement_id: 3, statement: "select ?,?,?,?" };
  expect(events.slice(1)).toEqual([
    { ...common, parameters: ["42", "héllo", null, "2024-02-29"] },
    { ...common, parameters: ["43", null, null, "0000-00-00"] },
  ]);
});

test("long data is shown by its size, once", () => {
  const { send, answer, events } = session();
  send(command(0x16, "insert ?,?"));
  answer(prepared(3, 2));
  send(command(0x18, u32le(3), u16le(0), "0123456789"), command(0x18, u32le(3), u16le(0), "x"));
  const one = execute(3, Buffer.of(0), Buffer.of(1), u16le(0xfc), u16le(1), Buffer.of(9));
  send(one);
  answer(ok);
  send(execute(3, Buffer.of(1), Buffer.of(1), u16le(0xfc), u16le(1), Buffer.of(9)));
  expect(events.slice(1)).toMatchObject([
    { event: "db.session.mysql.statements.send_long_data", statement_id: 3, parameter_id: 0, data_size: 10 },
    { data_size: 1 },
    { parameters: ["(11 bytes of long data)", "9"] },
    { parameters: [null, "9"] },
  ]);
});

test("an execution that is sent before the server's answer is recorded with it", () => {
  const { send, answer, events } = session();
  send(command(0x16, "select ?"), execute(0xffff_ffff, Buffer.of(0), Buffer.of(1), u16le(1), Buffer.of(255)));
  expect(events).toHaveLength(1);
  answer(prepared(9, 1));
  expect(events[1]).toEqual({ event: "db.session.mysql.statements.execute", statement_id: 9, statement: "select ?", parameters: ["-1"] });
});

test("rows of a bulk execution are counted", () => {
  const { send, answer, events } = session();
  send(command(0x16, "insert ?,?"));
  answer(prepared(2, 2));
  const rows = [Buffer.of(0, 7, 0), encodeLenencBytes(Buffer.from("seven")), Buffer.of(0, 8, 1), Buffer.of(2, 3)];
  send(command(0xfa, u32le(2), u16le(128), u16le(1), u16le(0xfd), ...rows));
  expect(events[1]).toMatchObject({ event: "db.session.mysql.statements.bulk_execute", rows_count: 3, parameters: ["7", "seven"], data_size: 25 });
});

test("a kill names the server's number of a connection", () => {
  const { send, events } = session();
  expect(send(command(0x03, "KILL QUERY 3000000000"))).toEqual(packet(0, command(0x03, "KILL QUERY 42")));
  expect(send(command(0x0c, u32le(3_000_000_000)))).toEqual(packet(0, command(0x0c, u32le(42))));
  expect(send(command(0x03, "kill 17"))).toEqual(packet(0, command(0x03, "kill 17")));
  expect(events).toMatchObject([{ db_query: "KILL QUERY 42" }, { process_id: 42 }, { db_query: "kill 17" }]);
});

test("a command of several packets is recorded before its end, with its whole length, and keeps nothing but its beginning", () => {
  const { fromClient, events } = session();
  const whole = Buffer.alloc(0xff_ffff, 0x61);
  whole[0] = 3;
  const header = (length: number, sequence: number): Buffer => Buffer.from([length & 255, (length >> 8) & 255, length >> 16, sequence]);
  const first = Buffer.concat([header(0xff_ffff, 0), whole]);
  expect(fromClient.push(first.subarray(0, 20_000))).toEqual([]);
  expect(Buffer.concat(fromClient.push(first.subarray(20_000)))).toHaveLength(first.length);
  expect(events).toEqual([]);
  expect(Buffer.concat(fromClient.push(header(0, 1)))).toEqual(header(0, 1));
  expect(events).toMatchObject([{ db_query: expect.stringMatching(/^a{16377}… \(cut\)$/), db_query_bytes: 0xff_fffe }]);
  expect(() => fromClient.push(Buffer.concat([header(1, 1), Buffer.of(0x0e)]))).toThrow(/packet number/);
});

test("packets out of order, empty and unknown commands are malformed", () => {
  for (const bytes of [packet(1, command(0x03, "x")), packet(0, Buffer.alloc(0)), packet(0, command(0x40)), packet(0, command(0x17, "ab"))]) {
    expect(() => session().fromClient.push(bytes)).toThrow(PlatformError);
  }
});

test("any bytes of a client are commands, or malformed, and events stay bounded", () => {
  const codes = fc.constantFrom(1, 2, 3, 4, 5, 0x0c, 0x11, 0x12, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1f, 0xfa);
  const bodies = fc.tuple(codes, fc.uint8Array({ maxLength: 60 })).map(([code, rest]) => command(code, Buffer.from(rest)));
  const pieces = fc.array(
    fc.oneof(
      bodies.map((one) => packet(0, one)),
      fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes)),
    ),
  );
  fc.assert(
    fc.property(fc.boolean(), pieces, fc.array(fc.nat(300)), (hasAttributes, all, cuts) => {
      const { fromClient, answer, events } = session(hasAttributes);
      const bytes = Buffer.concat(all);
      const ends = [...new Set(cuts.map((cut) => cut % (bytes.length + 1))), bytes.length].sort((a, b) => a - b);
      try {
        for (const [index, end] of ends.entries()) fromClient.push(bytes.subarray(ends[index - 1] ?? 0, end));
        answer(prepared(3, 2));
      } catch (thrown) {
        expect(thrown).toMatchObject({ code: "invalid" });
      }
      for (const event of events) expect(JSON.stringify(event).length).toBeLessThan(40_000);
    }),
  );
});
