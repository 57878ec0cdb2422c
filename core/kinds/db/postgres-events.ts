import { count, short } from "../../audit/event-spec.ts";
import { databaseEvents, dbSession, parameters, query } from "./db-events.ts";

/** A name that the client gave; empty for the one without a name. A long one is cut. */
const name = short;
/** Number of all parameters, where the event holds only the first ones. */
const parameter_count = count.optional();

/** Audit events of PostgreSQL's extended queries: passed on to the server, which skips those that follow a failed one. */
export const postgresEvents = databaseEvents({
  "db.session.postgres.statements.parse": { code: "TPG00I", reporters: ["node"], fields: { ...dbSession, ...query, statement_name: name } },
  "db.session.postgres.statements.bind": {
    code: "TPG01I",
    reporters: ["node"],
    fields: { ...dbSession, statement_name: name, portal_name: name, parameters, parameter_count },
  },
  /** `db_query`: the beginning of the statement, where it is known for sure. */
  "db.session.postgres.statements.execute": {
    code: "TPG02I",
    reporters: ["node"],
    fields: { ...dbSession, portal_name: name, db_query: query.db_query.optional() },
  },
  /** Either a statement or a portal. */
  "db.session.postgres.statements.close": {
    code: "TPG03I",
    reporters: ["node"],
    fields: { ...dbSession, statement_name: name.optional(), portal_name: name.optional() },
  },
  /** A call of a function by its number, without SQL: large objects. */
  "db.session.postgres.function": {
    code: "TPG04I",
    reporters: ["node"],
    fields: { ...dbSession, function_oid: count, function_args: parameters, parameter_count },
  },
});
