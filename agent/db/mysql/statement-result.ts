import type { StatementResult } from "../../../core/recording/statements.ts";
import { parseError } from "./server-answer.ts";

/** What was counted in the answer to one command. */
export interface AnswerCounts {
  rows: number;
  /** Complete result sets. */
  sets: number;
  /** Rows written, as OK packets count them; undefined: there was no such packet. */
  affected: number | undefined;
}

export function noCounts(): AnswerCounts {
  return { rows: 0, sets: 0, affected: undefined };
}

/** The result of a command that the server has answered in full. Pure. */
export function okResult(counts: AnswerCounts): StatementResult {
  return { outcome: "ok", ...countsOf(counts) };
}

/** The result of a command that the server answered with an error, of which `body` is the beginning. Pure; never throws. */
export function errorResult(counts: AnswerCounts, body: Buffer, length: number): StatementResult {
  return { outcome: "failed", ...countsOf(counts), ...errorOf(body, length > body.length) };
}

function errorOf(body: Buffer, isCut: boolean): Pick<StatementResult, "code" | "message"> {
  try {
    const { code, state, message } = parseError(body);
    return { code: `${code} (${state})`, message: isCut ? `${message}…` : message };
  } catch {
    return {};
  }
}

function countsOf({ rows, sets, affected }: AnswerCounts): Pick<StatementResult, "rows" | "affected"> {
  return { ...((sets > 0 || rows > 0) && { rows }), ...(affected !== undefined && { affected }) };
}
