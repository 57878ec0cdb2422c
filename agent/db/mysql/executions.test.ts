import { expect, test } from "vitest";
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

test("rows of a bulk execution are counted", () => {
  const { send, answer, events } = commandSession();
  send(command(0x16, "insert ?,?"));
  answer(prepared(2, 2));
  const rows = [Buffer.of(0, 7, 0), encodeLenencBytes(Buffer.from("seven")), Buffer.of(0, 8, 1), Buffer.of(2, 3)];
  send(command(0xfa, u32le(2), u16le(128), u16le(1), u16le(0xfd), ...rows));
  expect(events[1]).toMatchObject({ event: "db.session.mysql.statements.bulk_execute", rows_count: 3, parameters: ["7", "seven"], data_size: 25 });
});
