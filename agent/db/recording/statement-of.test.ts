import { expect, test } from "vitest";
import type { Statement } from "../../../core/recording/statements.ts";
import type { DatabaseEvent } from "../engine.ts";
import { statementOf } from "./statement-of.ts";

test.for<[event: DatabaseEvent, statement: Statement | undefined]>([
  [
    { event: "db.session.query", success: true, db_query: "SET", db_query_bytes: 9, db_query_parameters: ["k", "***"] },
    { kind: "query", text: "SET", bytes: 9, parameters: ["k", "***"] },
  ],
  [
    { event: "db.session.postgres.statements.parse", statement_name: "s", db_query: "select 1" },
    { kind: "prepare", text: "select 1" },
  ],
  [
    { event: "db.session.postgres.statements.execute", portal_name: "" },
    { kind: "execute", text: "" },
  ],
  [
    { event: "db.session.postgres.function", function_oid: 954, function_args: ["1"], parameter_count: 70 },
    { kind: "call", text: "function 954", parameters: ["1"], count: 70 },
  ],
  [
    { event: "db.session.mysql.statements.execute", statement_id: 3, statement: "select ?", parameters: ["1", null] },
    { kind: "execute", text: "select ?", parameters: ["1", null] },
  ],
  [
    { event: "db.session.mysql.statements.execute", statement_id: 3 },
    { kind: "execute", text: "statement 3" },
  ],
  [
    { event: "db.session.mysql.statements.bulk_execute", statement: "insert", data_size: 9 },
    { kind: "bulk", text: "insert" },
  ],
  [
    { event: "db.session.mysql.statements.fetch", statement_id: 3, rows_count: 10 },
    { kind: "fetch", text: "up to 10 rows of statement 3" },
  ],
  [
    { event: "db.session.mysql.init_db", schema_name: "shop" },
    { kind: "command", text: "COM_INIT_DB shop" },
  ],
  [{ event: "db.session.mysql.shut_down" }, { kind: "command", text: "COM_SHUTDOWN" }],
  [{ event: "db.session.mysql.statements.close", statement_id: 3 }, undefined],
  [{ event: "db.session.malformed_packet", payload: "" }, undefined],
  [{ event: "db.session.cancel", success: true }, undefined],
])("%j is recorded as %j", ([event, statement]) => {
  expect(statementOf(event)).toEqual(statement);
});
