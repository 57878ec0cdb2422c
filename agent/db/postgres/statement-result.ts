import type { StatementResult } from "../../../core/recording/statements.ts";
import type { ServerError } from "./error-response.ts";

/** The server's answer to one message of the client. */
export interface Answered {
  /** Command tags, in their order: several for a query of several statements. At most `maxTags`. */
  readonly tags: readonly string[];
  /** Number of DataRow messages. */
  readonly rows: number;
  readonly failure: ServerError | undefined;
}

/** Maximum number of tags that are kept of one query. */
export const maxTags = 32;

/** The result of a statement, limited to what the server has stated: only some tags count written rows. Pure. */
export function statementResult({ tags, rows, failure }: Answered): StatementResult {
  const written = tags.flatMap((tag) => /^(?:INSERT \d+|UPDATE|DELETE|MERGE) (\d{1,15})$/.exec(tag)?.[1] ?? []);
  const hasRows = rows > 0 || tags.some((tag) => /^(?:SELECT|FETCH) 0$/.test(tag));
  return {
    outcome: failure === undefined ? "ok" : "failed",
    ...(hasRows && { rows }),
    // With more tags than are kept, the sum is unknown.
    ...(written.length > 0 && tags.length < maxTags && { affected: written.reduce((sum, count) => sum + Number(count), 0) }),
    ...(tags.length > 0 && { tag: tags.join("; ") }),
    ...(failure && { code: failure.state, message: failure.message }),
  };
}
