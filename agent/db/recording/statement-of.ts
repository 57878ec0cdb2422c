import type { Statement } from "../../../core/recording/statements.ts";
import type { DatabaseEvent } from "../engine.ts";

/** A statement as recordings have it, from its audit event: cut and masked as there. Undefined: the event is about something else. Pure. */
export function statementOf(event: DatabaseEvent): Statement | undefined {
  switch (event.event) {
    case "db.session.query":
      return { kind: "query", ...textOf(event), ...(event.db_query_parameters && { parameters: event.db_query_parameters }) };
    case "db.session.postgres.statements.parse":
    case "db.session.mysql.statements.prepare":
      return { kind: "prepare", ...textOf(event) };
    case "db.session.postgres.statements.execute":
      return { kind: "execute", text: event.db_query ?? "" };
    case "db.session.postgres.function":
      return { kind: "call", text: `function ${event.function_oid}`, parameters: event.function_args, ...countOf(event.parameter_count) };
    case "db.session.mysql.statements.execute":
      return { kind: "execute", ...preparedOf(event), ...(event.parameters && { parameters: event.parameters }) };
    case "db.session.mysql.statements.bulk_execute":
      return { kind: "bulk", ...preparedOf(event), ...(event.parameters && { parameters: event.parameters }) };
    case "db.session.mysql.statements.fetch":
      return { kind: "fetch", text: `up to ${event.rows_count} rows of statement ${event.statement_id ?? "unknown"}` };
    case "db.session.mysql.init_db":
    case "db.session.mysql.create_db":
    case "db.session.mysql.drop_db":
    case "db.session.mysql.process_kill":
    case "db.session.mysql.shut_down":
    case "db.session.mysql.refresh":
    case "db.session.mysql.debug":
      return { kind: "command", text: commandText(event) };
    case "db.session.start":
    case "db.session.end":
    case "db.session.malformed_packet":
    case "db.session.cancel":
    case "db.session.user.create":
    case "db.session.user.deactivate":
    // Its parameters are recorded with the execution.
    case "db.session.postgres.statements.bind":
    case "db.session.postgres.statements.close":
    case "db.session.mysql.statements.close":
    case "db.session.mysql.statements.reset":
    case "db.session.mysql.statements.send_long_data":
      return undefined;
  }
}

function textOf({ db_query: text, db_query_bytes: bytes }: { readonly db_query: string; readonly db_query_bytes?: number | undefined }) {
  return { text, ...(bytes !== undefined && { bytes }) };
}

/** The beginning of a prepared statement, or its number. */
function preparedOf({ statement, statement_id: id }: { readonly statement?: string | undefined; readonly statement_id?: number | undefined }) {
  return { text: statement ?? (id === undefined ? "" : `statement ${id}`) };
}

function countOf(count: number | undefined): { readonly count?: number } {
  return count === undefined ? {} : { count };
}

type MysqlCommand<Name extends string> = Extract<DatabaseEvent, { readonly event: `db.session.mysql.${Name}` }>;

/** A command of MySQL as its protocol names it. */
function commandText(event: MysqlCommand<"init_db" | "create_db" | "drop_db" | "process_kill" | "shut_down" | "refresh" | "debug">): string {
  const name = `COM_${event.event.slice("db.session.mysql.".length).replace("shut_down", "shutdown").toUpperCase()}`;
  if ("schema_name" in event) return `${name} ${event.schema_name}`;
  if ("process_id" in event) return `${name} ${event.process_id}`;
  return "subcommand" in event ? `${name} ${event.subcommand}` : name;
}
