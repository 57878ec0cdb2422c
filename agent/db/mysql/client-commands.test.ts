import fc from "fast-check";
import { expect, test } from "vitest";
import { packet } from "../../../core/databases/mysql/packet.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { command, commandSession, execute, ok, prepared, u16le } from "./testing/command-session.ts";
import { u32le } from "./wire.ts";

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
    const { send, events } = commandSession();
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
    const { send, answer, events, replies } = commandSession();
    expect(send(bytes)).toEqual(packet(0, Buffer.of(0x0e)));
    const error = answer(ok);
    expect([error[3], error[4], error.readUInt16LE(5)]).toEqual([1, 0xff, code]);
    expect(events).toEqual([{ event: "db.session.query", success: false, db_query: name, error: expect.any(String) }]);
    expect(JSON.stringify(events)).not.toContain("hunter2");
    expect(send(command(0x03, "select 2"))).toHaveLength(13);
    expect(replies.waiting).toBe(1);
  }
});

test("a kill names the server's number of a connection", () => {
  const { send, events } = commandSession();
  expect(send(command(0x03, "KILL QUERY 3000000000"))).toEqual(packet(0, command(0x03, "KILL QUERY 42")));
  expect(send(command(0x0c, u32le(3_000_000_000)))).toEqual(packet(0, command(0x0c, u32le(42))));
  expect(send(command(0x03, "kill 17"))).toEqual(packet(0, command(0x03, "kill 17")));
  expect(events).toMatchObject([{ db_query: "KILL QUERY 42" }, { process_id: 42 }, { db_query: "kill 17" }]);
});

test("a kill of a number that no server gives, and that this agent has not given either, is refused in words", () => {
  for (const [bytes, name] of [
    [command(0x03, "KILL QUERY 3000000001"), "KILL QUERY 3000000001"],
    [command(0x03, "kill 2147483648;"), "kill 2147483648;"],
    [command(0x0c, u32le(4_294_967_295)), "COM_PROCESS_KILL 4294967295"],
  ] as const) {
    const { send, answer, events } = commandSession();
    expect(send(bytes)).toEqual(packet(0, Buffer.of(0x0e)));
    const error = answer(ok);
    expect([error[4], error.readUInt16LE(5), String(error.subarray(7, 30))]).toEqual([0xff, 1094, "#HY000Unknown thread id"]);
    expect(events).toEqual([
      { event: "db.session.query", success: false, db_query: name, error: expect.stringMatching(/ended.* another agent.* too many .*try again$/) },
    ]);
  }
  for (const text of ["KILL 2147483647", "KILL 4294967296", "select 3000000001"]) {
    const { send } = commandSession();
    expect(send(command(0x03, text))).toEqual(packet(0, command(0x03, text)));
  }
});

test("at a server that gives such numbers itself, a kill of one that this agent has not given goes on, and of one that it has names the server's", () => {
  for (const [bytes, expected] of [
    [command(0x03, "KILL QUERY 3000000001"), command(0x03, "KILL QUERY 3000000001")],
    [command(0x0c, u32le(4_294_967_295)), command(0x0c, u32le(4_294_967_295))],
    [command(0x03, "KILL 3000000000"), command(0x03, "KILL 42")],
  ] as const) {
    const { send } = commandSession(false, false, true);
    expect(send(bytes)).toEqual(packet(0, expected));
  }
});

test("a command of several packets is recorded before its end, with its whole length, and keeps nothing but its beginning", () => {
  const { fromClient, events } = commandSession();
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
    expect(() => commandSession().fromClient.push(bytes)).toThrow(PlatformError);
  }
});

test("any bytes of a client are commands, or malformed, and events stay bounded", () => {
  const codes = fc.constantFrom(1, 2, 3, 4, 5, 0x0c, 0x11, 0x12, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1f, 0xfa);
  const known = u32le(3);
  const bodies = fc
    .tuple(codes, fc.constantFrom(Buffer.alloc(0), known), fc.uint8Array({ maxLength: 60 }))
    .map(([code, number, rest]) => command(code, number, Buffer.from(rest)));
  const types = fc
    .tuple(...[1, 2].map(() => fc.constantFrom(1, 2, 3, 5, 7, 8, 0x0b, 0x0f, 0xfc, 0xfe, 0x8001).map(u16le)))
    .map((both) => Buffer.concat(both));
  const values = fc.uint8Array({ minLength: 4, maxLength: 600 }).map((bytes) => Buffer.from(bytes));
  // Their beginnings are right, so that the values are read.
  const executions = fc.oneof(
    fc.tuple(fc.nat(3), types, values).map(([nulls, both, rest]) => execute(3, Buffer.of(nulls), Buffer.of(1), both, rest)),
    fc.tuple(types, values).map(([both, rest]) => command(0xfa, known, u16le(128), both, rest)),
    fc.tuple(fc.nat(1), values).map(([parameter, rest]) => command(0x18, known, u16le(parameter), rest)),
  );
  const pieces = fc.array(
    fc.oneof(
      bodies.map((one) => packet(0, one)),
      executions.map((one) => packet(0, one)),
      fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes)),
    ),
  );
  const [twoNumbers, numbers] = [Buffer.concat([u16le(3), u16le(3)]), Buffer.concat([u32le(1), u32le(2)])];
  const bulk = command(0xfa, known, u16le(128), twoNumbers, Buffer.of(0), u32le(1), Buffer.of(0), u32le(2));
  const seen = { execute: 0, bulk_execute: 0 };
  fc.assert(
    fc.property(fc.boolean(), pieces, fc.array(fc.nat(300)), (hasAttributes, all, cuts) => {
      const { send, fromClient, answer, events } = commandSession(hasAttributes);
      send(command(0x16, "select ?, ?"));
      answer(prepared(3, 2));
      const bytes = Buffer.concat(all);
      const ends = [...new Set(cuts.map((cut) => cut % (bytes.length + 1))), bytes.length].sort((a, b) => a - b);
      try {
        for (const [index, end] of ends.entries()) fromClient.push(bytes.subarray(ends[index - 1] ?? 0, end));
      } catch (thrown) {
        expect(thrown).toMatchObject({ code: "invalid" });
      }
      for (const event of events) {
        expect(JSON.stringify(event).length).toBeLessThan(40_000);
        for (const name of ["execute", "bulk_execute"] as const)
          if (event.event === `db.session.mysql.statements.${name}` && "parameters" in event) seen[name] += 1;
      }
    }),
    // Both decoders are reached, whatever comes by chance.
    { examples: [[false, [packet(0, execute(3, Buffer.of(0), Buffer.of(1), twoNumbers, numbers)), packet(0, bulk)], []]] },
  );
  expect(Math.min(seen.execute, seen.bulk_execute)).toBeGreaterThan(0);
});
