import { count, short } from "../../audit/event-spec.ts";
import { databaseEvents, dbSession, parameters, query } from "./db-events.ts";

/** `statement_id`: the server's number of a prepared statement; absent until the server has answered with it. */
const statement = { ...dbSession, statement_id: count.optional() };
const schema = { ...dbSession, schema_name: short };

/** Audit events of the commands of MySQL and MariaDB that are not plain queries. */
export const mysqlEvents = databaseEvents({
  "db.session.mysql.statements.prepare": { code: "TMY00I", reporters: ["node"], fields: { ...dbSession, ...query } },
  /** `statement`: the beginning of its text. Long data is a parameter such as `(1048576 bytes of long data)`. */
  "db.session.mysql.statements.execute": {
    code: "TMY01I",
    reporters: ["node"],
    fields: { ...statement, statement: short.optional(), parameters: parameters.optional() },
  },
  "db.session.mysql.statements.send_long_data": {
    code: "TMY02I",
    reporters: ["node"],
    fields: { ...statement, parameter_id: count, data_size: count },
  },
  "db.session.mysql.statements.close": { code: "TMY03I", reporters: ["node"], fields: statement },
  "db.session.mysql.statements.reset": { code: "TMY04I", reporters: ["node"], fields: statement },
  "db.session.mysql.statements.fetch": { code: "TMY05I", reporters: ["node"], fields: { ...statement, rows_count: count } },
  /** MariaDB's execution for many rows in one command; `parameters` are those of the first row. */
  "db.session.mysql.statements.bulk_execute": {
    code: "TMY06I",
    reporters: ["node"],
    fields: { ...statement, statement: short.optional(), parameters: parameters.optional(), rows_count: count.optional(), data_size: count },
  },
  "db.session.mysql.init_db": { code: "TMY07I", reporters: ["node"], fields: schema },
  "db.session.mysql.create_db": { code: "TMY08I", reporters: ["node"], fields: schema },
  "db.session.mysql.drop_db": { code: "TMY09I", reporters: ["node"], fields: schema },
  "db.session.mysql.shut_down": { code: "TMY10I", reporters: ["node"], fields: dbSession },
  "db.session.mysql.process_kill": { code: "TMY11I", reporters: ["node"], fields: { ...dbSession, process_id: count } },
  "db.session.mysql.debug": { code: "TMY12I", reporters: ["node"], fields: dbSession },
  /** `subcommand`: the protocol's number of what is flushed. */
  "db.session.mysql.refresh": { code: "TMY13I", reporters: ["node"], fields: { ...dbSession, subcommand: short } },
});
