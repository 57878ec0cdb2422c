import type { StatementLog } from "../../agent/db/engine.ts";
import { statementOf } from "../../agent/db/recording/statement-of.ts";
import type { Statement, StatementResult } from "../../core/recording/statements.ts";

export interface LoggedStatement extends Statement {
  result?: StatementResult;
}

/** A recording in memory: each statement with its first result. */
export function statementLog(): { readonly log: StatementLog; readonly statements: LoggedStatement[] } {
  const statements: LoggedStatement[] = [];
  const log: StatementLog = {
    begin: (event, bound) => {
      const statement = statementOf(event);
      if (statement === undefined) return () => {};
      const logged: LoggedStatement = { ...statement, ...bound };
      if (event.event === "db.session.query" && !event.success) logged.result = { outcome: "refused", message: event.error ?? "" };
      statements.push(logged);
      return (result) => {
        logged.result ??= result;
      };
    },
  };
  return { log, statements };
}
