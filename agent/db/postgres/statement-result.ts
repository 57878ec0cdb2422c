import type { StatementResult } from "../../../core/recording/statements.ts";
import type { ServerError } from "./error-response.ts";

/** What the server's messages said about one message of the client. */
export interface Answered {
  /** Command tags, in their order: several for a query of several statements. At most `maxTags`. */
  readonly tags: readonly string[];
  /** Number of DataRow messages. */
  readonly rows: number;
  readonly failure: ServerError | undefined;
}

/** Maximum number of tags that are kept of one query. */
export const maxTags = 32;

/** The result of a statement, without anything that the server has not said: only some tags count what was written. Pure. */
export function statementResult({ tags, rows, failure }: Answered): StatementResult {
  const written = tags.flatMap((tag) => /^(?:INSERT \d+|UPDATE|DELETE|MERGE) (\d{1,15})$/.exec(tag)?.[1] ?? []);
  const hasRows = rows > 0 || tags.some((tag) => /^(?:SELECT|FETCH) 0$/.test(tag));
  return {
    outcome: failure === undefined ? "ok" : "failed",
    ...(hasRows && { rows }),
    // Of more tags than are kept, the sum is not known.
    ...(written.length > 0 && tags.length < maxTags && { affected: written.reduce((sum, count) => sum + Number(count), 0) }),
    ...(tags.length > 0 && { tag: tags.join("; ") }),
    ...(failure && { code: failure.state, message: failure.message }),
  };
}
