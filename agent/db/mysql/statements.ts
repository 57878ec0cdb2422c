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
  /** The client has closed it, perhaps before the server's answer. */
  isClosed: boolean;
}

/** Maximum number of open statements of a session: each is remembered, so that no execution is recorded without its text. */
export const maxStatements = 4_096;
/** MariaDB's number for the statement that was prepared last. */
const last = 0xffff_ffff;

/** The prepared statements of one session, by the server's numbers. */
export class Statements {
  readonly #byNumber = new Map<number, Statement>();
  readonly #unanswered = new Set<Statement>();
  #last: Statement | undefined;

  /** Whether a further one must be refused. */
  get isFull(): boolean {
    return this.#byNumber.size + this.#unanswered.size >= maxStatements;
  }

  /** A request for a statement. */
  begin(text: string): Statement {
    const statement: Statement = { text, prepared: undefined, types: [], long: new Map(), waiting: [], isClosed: false };
    this.#unanswered.add(statement);
    this.#last = statement;
    return statement;
  }

  /** A request was refused on the way: as after a failure at the server, none is the one that was prepared last. */
  refused(): void {
    this.#last = undefined;
  }

  /** The server's answer to a request; undefined: refused. */
  answered(statement: Statement, prepared: Prepared | undefined): void {
    this.#unanswered.delete(statement);
    statement.prepared = prepared;
    for (const record of statement.waiting.splice(0)) record();
    if (prepared === undefined && this.#last === statement) this.#last = undefined;
    if (prepared !== undefined && !statement.isClosed) this.#byNumber.set(prepared.statement, statement);
  }

  /** The session is over: what waits for an answer is recorded without it. */
  end(): void {
    for (const statement of [...this.#unanswered]) this.answered(statement, undefined);
  }

  /** Undefined: the client has closed it, or has not seen the number. */
  get(number: number): Statement | undefined {
    return number === last ? this.#last : this.#byNumber.get(number);
  }

  addLong(number: number, parameter: number, size: number): void {
    const long = this.get(number)?.long;
    if (long === undefined || parameter >= maxParameters) return;
    long.set(parameter, (long.get(parameter) ?? 0) + size);
  }

  close(number: number): void {
    const statement = this.get(number);
    if (statement === undefined) return;
    statement.isClosed = true;
    if (statement.prepared !== undefined) this.#byNumber.delete(statement.prepared.statement);
    if (this.#last === statement) this.#last = undefined;
  }

  /** The server forgets all of them. */
  clear(): void {
    for (const statement of this.#unanswered) statement.isClosed = true;
    this.#byNumber.clear();
    this.#last = undefined;
  }
}

/** The server's number of a statement as events have it; undefined: not known yet. */
export function numberOf(number: number, statement: Statement | undefined): { readonly statement_id?: number } {
  if (number !== last) return { statement_id: number };
  return statement?.prepared === undefined ? {} : { statement_id: statement.prepared.statement };
}
