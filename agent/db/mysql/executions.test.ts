import fc from "fast-check";
import { expect, test } from "vitest";
import { packet } from "../../../core/databases/mysql/packet.ts";
import { maxParameters } from "../../../core/kinds/db/db-events.ts";
import { command, commandSession, execute, ok, prepared, u16le } from "./testing/command-session.ts";
import { encodeLenencBytes, u32le } from "./wire.ts";

test("an execution has its parameters as text, by the types of an earlier one too", () => {
  const { send, answer, events } = commandSession();
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
  const { send, answer, events } = commandSession();
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
  const { send, answer, events } = commandSession();
  send(command(0x16, "select ?"), execute(0xffff_ffff, Buffer.of(0), Buffer.of(1), u16le(1), Buffer.of(255)));
  expect(events).toHaveLength(1);
  answer(prepared(9, 1));
  expect(events[1]).toEqual({ event: "db.session.mysql.statements.execute", statement_id: 9, statement: "select ?", parameters: ["-1"] });
});

const last = 0xffff_ffff;

test("an execution whose answer never comes is recorded at the end of the session", () => {
  const { send, events, statements } = commandSession();
  send(command(0x16, "drop table t"), execute(last), command(0xfa, u32le(last), u16le(0)));
  expect(events).toHaveLength(1);
  statements.end();
  expect(events.slice(1)).toEqual([
    { event: "db.session.mysql.statements.execute", statement: "drop table t" },
    { event: "db.session.mysql.statements.bulk_execute", statement: "drop table t", data_size: 7 },
  ]);
});

test("where events must be recorded first, an execution does not wait for an answer", () => {
  const { send, events } = commandSession(false, true);
  send(command(0x16, "drop table t"), execute(last));
  expect(events[1]).toEqual({ event: "db.session.mysql.statements.execute", statement: "drop table t" });
});

test("the statement that was prepared last is the one that MariaDB takes for it", () => {
  const { send, answer, events } = commandSession();
  const executed = (): unknown => events.findLast(({ event }) => event.endsWith(".execute"));
  send(command(0x16, "select 'a'"));
  answer(prepared(1, 0));
  send(execute(last));
  answer(ok);
  expect(executed()).toMatchObject({ statement_id: 1, statement: "select 'a'" });
  // The second one fails: none is the last one then.
  send(command(0x16, "select 'b'"), execute(last));
  answer(Buffer.concat([Buffer.of(0xff, 0x28, 0x04), Buffer.from("#42000wrong")]));
  expect(executed()).toEqual({ event: "db.session.mysql.statements.execute", statement: "select 'b'" });
  answer(Buffer.concat([Buffer.of(0xff, 0xdb, 0x04), Buffer.from("#HY000unknown")]));
  const refused = { event: "db.session.query", success: false, db_query: "COM_STMT_EXECUTE", error: expect.stringContaining("-1 is not known") };
  expect(send(execute(last))).toEqual(packet(0, Buffer.of(0x0e)));
  answer(ok);
  expect(events.at(-1)).toEqual(refused);
  send(command(0x16, "select 'c'"));
  answer(prepared(3, 0));
  send(command(0x19, u32le(last)), execute(last));
  expect(events.at(-1)).toEqual(refused);
});

test("an execution of a statement that is not known is refused, also by a number that the server has not given yet", () => {
  const { send, answer, events } = commandSession();
  expect(send(command(0x16, "drop table t"), execute(1)).subarray(-5)).toEqual(packet(0, Buffer.of(0x0e)));
  answer(prepared(1, 0));
  expect(answer(ok).toString("latin1")).toContain("prepared statement 1 is not known");
  expect(events[1]).toMatchObject({ event: "db.session.query", success: false, db_query: "COM_STMT_EXECUTE" });
  send(execute(1));
  expect(events[2]).toMatchObject({ statement_id: 1, statement: "drop table t" });
});

test("more prepared statements than a session remembers are refused until some are closed", () => {
  const { send, answer, events } = commandSession();
  const number = (value: number): Buffer => Buffer.concat([Buffer.of(0), u32le(value), Buffer.alloc(7)]);
  for (let index = 1; index <= 4_096; index += 1) {
    send(command(0x16, `select ${index}`));
    answer(number(index));
  }
  expect(send(command(0x16, "drop table t"), execute(last))).toEqual(Buffer.concat([packet(0, Buffer.of(0x0e)), packet(0, Buffer.of(0x0e))]));
  expect(answer(ok).readUInt16LE(5)).toBe(1461);
  expect(answer(ok).readUInt16LE(5)).toBe(1243);
  expect(events.at(-2)).toMatchObject({ db_query: "COM_STMT_PREPARE", error: expect.stringContaining("4096 prepared statements") });
  send(execute(1));
  answer(ok);
  expect(events.at(-1)).toMatchObject({ statement_id: 1, statement: "select 1" });
  send(command(0x19, u32le(7)), command(0x16, "select 4097"));
  answer(number(4_097));
  send(execute(4_097));
  expect(events.at(-1)).toMatchObject({ statement_id: 4_097, statement: "select 4097" });
});

test("rows of a bulk execution are counted", () => {
  const { send, answer, events } = commandSession();
  send(command(0x16, "insert ?,?"));
  answer(prepared(2, 2));
  const rows = [Buffer.of(0, 7, 0), encodeLenencBytes(Buffer.from("seven")), Buffer.of(0, 8, 1), Buffer.of(2, 3)];
  send(command(0xfa, u32le(2), u16le(128), u16le(1), u16le(0xfd), ...rows));
  expect(events[1]).toMatchObject({ event: "db.session.mysql.statements.bulk_execute", rows_count: 3, parameters: ["7", "seven"], data_size: 25 });
});

test("any values of an execution, and of the rows of a bulk execution, are in its event: the first ones", () => {
  const value = fc.oneof(fc.constant(null), fc.integer({ min: -128, max: 127 }), fc.stringMatching(/^[a-z]{0,20}$/));
  const typeOf = (one: number | string | null): Buffer => u16le(typeof one === "number" ? 1 : 0xfd);
  const bytesOf = (one: number | string): Buffer => (typeof one === "number" ? Buffer.of(one & 255) : encodeLenencBytes(Buffer.from(one)));
  fc.assert(
    fc.property(fc.array(value, { minLength: 1, maxLength: 100 }), fc.integer({ min: 1, max: 5 }), (values, rows) => {
      const { send, answer, events } = commandSession();
      send(command(0x16, "insert"));
      answer(prepared(3, values.length));
      const nulls = Buffer.alloc((values.length + 7) >> 3);
      for (const [index, one] of values.entries()) if (one === null) nulls[index >> 3] = (nulls[index >> 3] ?? 0) | (1 << (index & 7));
      const types = Buffer.concat(values.map(typeOf));
      const there = values.filter((one) => one !== null);
      send(execute(3, nulls, Buffer.of(1), types, ...there.map(bytesOf)));
      const row = Buffer.concat(values.map((one) => (one === null ? Buffer.of(1) : Buffer.concat([Buffer.of(0), bytesOf(one)]))));
      send(command(0xfa, u32le(3), u16le(128), types, ...Array.from({ length: rows }, () => row)));
      const parameters = values.slice(0, maxParameters).map((one) => (one === null ? null : String(one)));
      expect(events.slice(1)).toMatchObject([{ parameters }, { parameters, rows_count: rows }]);
    }),
  );
});
