import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { DatabaseEvent, StatementLog } from "../engine.ts";
import { FrameFilter } from "../frame-filter.ts";
import { ClientAudit } from "./client-audit.ts";
import { encodeMessage } from "./error-response.ts";
import { Pipeline } from "./pipeline.ts";
import { bind, call, close, execute, parameters, parse, query, sync, terminate } from "./testing/postgres-bytes.ts";

describe("the audit of a client", () => {
  let events: DatabaseEvent[];
  let pipeline: Pipeline;
  let audit: ClientAudit;
  let filter: FrameFilter;
  beforeEach(() => {
    vi.useFakeTimers();
    events = [];
    pipeline = new Pipeline();
    audit = new ClientAudit({ record: (event) => void events.push(event), pipeline });
    filter = new FrameFilter(audit.format, audit.judge);
  });
  afterEach(() => vi.useRealTimers());

  test("an extended query leaves an event for each step, with the text that runs", () => {
    const values = parameters(["1", null, Buffer.of(0, 1)], [0, 0, 1]);
    filter.push(Buffer.concat([parse("s", "select $1"), bind("p", "s", values), execute("p"), sync, close("S", "s"), close("P", "p"), sync]));
    expect(events).toEqual([
      { event: "db.session.postgres.statements.parse", statement_name: "s", db_query: "select $1" },
      { event: "db.session.postgres.statements.bind", statement_name: "s", portal_name: "p", parameters: ["1", null, "AAE="] },
      { event: "db.session.postgres.statements.execute", portal_name: "p", db_query: "select $1" },
      { event: "db.session.postgres.statements.close", statement_name: "s" },
      { event: "db.session.postgres.statements.close", portal_name: "p" },
    ]);
  });

  test.for([
    ["long ones that begin alike", `${"n".repeat(63)}1`, `${"n".repeat(63)}2`],
    ["one of 63 bytes, and a longer one", "n".repeat(63), `${"n".repeat(63)}2`],
    ["letters that the server converts, perhaps to fewer bytes", `${"ä".repeat(32)}1`, `${"ä".repeat(32)}2`],
    ["a byte, and the text that shows it", Buffer.of(0xe4), "\\xe4"],
  ] as const)("a text is not taken for that of another name: %s", ([, one, other]) => {
    filter.push(Buffer.concat([parse(one, "select 1"), sync, parse(other, "drop table t"), sync]));
    for (const letter of "1Z1Z") pipeline.answer(letter);
    for (const name of [one, other]) {
      filter.push(Buffer.concat([bind("p", name), execute("p"), sync]));
      expect(events.at(-1)).toEqual({ event: "db.session.postgres.statements.execute", portal_name: "p" });
      for (const letter of "2CZ") pipeline.answer(letter);
    }
    filter.push(Buffer.concat([parse("s", "select 3"), bind(one, "s"), execute(other), sync]));
    expect(events.at(-1)).not.toHaveProperty("db_query");
  });

  test("where events must be recorded first, that of a query does not wait for its outcome", () => {
    audit = new ClientAudit({ record: (event) => void events.push(event), pipeline, isStrict: true });
    filter = new FrameFilter(audit.format, audit.judge);
    filter.push(Buffer.concat([query("drop table t"), query("select 1/0")]));
    const both = [
      { event: "db.session.query", db_query: "drop table t", success: true },
      { event: "db.session.query", db_query: "select 1/0", success: true },
    ];
    expect(events).toEqual(both);
    pipeline.answer("Z");
    pipeline.answer("E", { failure: { severity: "ERROR", state: "22012", message: "division by zero" } });
    pipeline.answer("Z");
    audit.flush();
    expect(events).toEqual(both);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("a function call leaves its number and its arguments, and as many as there are", () => {
    filter.push(Buffer.concat([call(954, parameters([Buffer.of(1)], [1])), call(1, parameters(Array.from({ length: 70 }, () => "x")))]));
    expect(events).toMatchObject([
      { event: "db.session.postgres.function", function_oid: 954, function_args: ["AQ=="] },
      { function_oid: 1, parameter_count: 70, function_args: { length: 64 } },
    ]);
    expect(events[0]).not.toHaveProperty("parameter_count");
  });

  test("a query is recorded with its outcome", () => {
    filter.push(Buffer.concat([query("select 1"), query("select 1/0")]));
    expect(events).toEqual([]);
    pipeline.answer("Z");
    pipeline.answer("E", { failure: { severity: "ERROR", state: "22012", message: "division by zero" } });
    pipeline.answer("Z");
    expect(events).toEqual([
      { event: "db.session.query", db_query: "select 1", success: true },
      { event: "db.session.query", db_query: "select 1/0", success: false, error: "division by zero (SQLSTATE 22012)" },
    ]);
  });

  test("a query without an outcome is recorded after a second, or with the next ones, once", () => {
    filter.push(query("select pg_sleep(60)"));
    vi.advanceTimersByTime(999);
    expect(events).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(events).toEqual([{ event: "db.session.query", db_query: "select pg_sleep(60)", success: true }]);
    pipeline.answer("Z");
    for (let count = 0; count < 33; count += 1) filter.push(query(`select ${count}`));
    expect(events).toHaveLength(33);
    audit.flush();
    pipeline.close();
    expect(events).toHaveLength(34);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("the recording has what runs, the parameters with their execution, and each result", () => {
    const begun: unknown[] = [];
    const results: unknown[] = [];
    const statements: StatementLog = {
      begin: (event, bound) => {
        begun.push([event.event, bound]);
        return (result) => void results.push(result.outcome);
      },
    };
    audit = new ClientAudit({ record: () => {}, pipeline, statements });
    filter = new FrameFilter(audit.format, audit.judge);
    const values = parameters(["1", null]);
    filter.push(Buffer.concat([parse("s", "select $1"), bind("p", "s", values), execute("p"), execute("q"), sync, query("select 1"), execute("p")]));
    for (const type of "12CCZCZ") pipeline.answer(type);
    expect(begun).toEqual([
      ["db.session.postgres.statements.parse", undefined],
      ["db.session.postgres.statements.execute", { parameters: ["1", null] }],
      ["db.session.postgres.statements.execute", {}],
      ["db.session.query", undefined],
      ["db.session.postgres.statements.execute", {}],
    ]);
    expect(results).toEqual(["ok", "ok", "ok", "ok"]);
  });

  test("a query of a megabyte is one bounded event", () => {
    filter.push(query("x".repeat(1_000_000)));
    audit.flush();
    expect(events).toMatchObject([{ db_query_bytes: 1_000_000, db_query: expect.stringMatching(/^x{16000,16384}… \(cut\)$/) }]);
  });

  test("malformed bytes are recorded, a password is not", () => {
    expect(() => filter.push(encodeMessage("p", Buffer.from("hunter2\0")))).toThrow(/password/);
    expect(events).toEqual([{ event: "db.session.malformed_packet", payload: Buffer.from("700000000c", "hex").toString("base64") }]);
    filter = new FrameFilter(audit.format, audit.judge);
    expect(() => filter.push(encodeMessage("C", Buffer.from("Xy")))).toThrow(expect.objectContaining({ code: "invalid" }));
    expect(events[1]).toEqual({ event: "db.session.malformed_packet", payload: Buffer.from("43000000065879", "hex").toString("base64") });
  });

  test("Terminate and data of a COPY leave no event", () => {
    filter.push(Buffer.concat([encodeMessage("d", Buffer.alloc(99)), encodeMessage("c", Buffer.alloc(0))]));
    expect([audit.hasLeft, events]).toEqual([false, []]);
    filter.push(terminate);
    expect([audit.hasLeft, events]).toEqual([true, []]);
  });
});
