import { maxParameters } from "../../../core/kinds/db/db-events.ts";
import type { ValueType } from "./binary-value.ts";
import type { Prepared } from "./replies.ts";

/** A prepared statement, from the client's request for it. */
export interface Statement {
  /** Beginning of its text. */
  readonly text: string;
  /** The server's answer; undefined: not here yet, or the server refused. */
  prepared: Prepared | undefined;
  types: readonly ValueType[];
  /** Sizes of parameters that came as long data since the last execution: of those that an event can show. */
  readonly long: Map<number, number>;
  /** Commands that were sent before the server's answer, and wait for it to be recorded. */
  readonly waiting: (() => void)[];
}

/** Maximum number of statements that a session remembers; executions of older ones are recorded without their parameters. */
const maxStatements = 4_096;
/** MariaDB's number for the statement that was prepared last. */
const last = 0xffff_ffff;

/** The prepared statements of one session, by the server's numbers. */
export class Statements {
  readonly #byNumber = new Map<number, Statement>();
  #last: Statement | undefined;

  /** A request for a statement. */
  begin(text: string): Statement {
    const statement: Statement = { text, prepared: undefined, types: [], long: new Map(), waiting: [] };
    this.#last = statement;
    return statement;
  }

  /** The server's answer to it; undefined: refused. */
  answered(statement: Statement, prepared: Prepared | undefined): void {
    statement.prepared = prepared;
    for (const record of statement.waiting.splice(0)) record();
    if (prepared === undefined) return;
    if (this.#byNumber.size >= maxStatements) {
      const [oldest] = this.#byNumber.keys();
      if (oldest !== undefined) this.#byNumber.delete(oldest);
    }
    this.#byNumber.set(prepared.statement, statement);
  }

  get(number: number): Statement | undefined {
    return number === last ? this.#last : this.#byNumber.get(number);
  }

  addLong(number: number, parameter: number, size: number): void {
    const long = this.get(number)?.long;
    if (long === undefined || parameter >= maxParameters) return;
    long.set(parameter, (long.get(parameter) ?? 0) + size);
  }

  close(number: number): void {
    this.#byNumber.delete(number);
  }

  /** The server has forgotten all of them. */
  clear(): void {
    this.#byNumber.clear();
    this.#last = undefined;
  }
}

/** The server's number of a statement as events have it; undefined: not known yet. */
export function numberOf(number: number, statement: Statement | undefined): { readonly statement_id?: number } {
  if (number !== last) return { statement_id: number };
  return statement?.prepared === undefined ? {} : { statement_id: statement.prepared.statement };
}
