/** A line of a list of what a session did. */
export interface RecordRow {
  readonly id: number;
  /** Seconds from the beginning. */
  readonly time: number;
  /** What was asked: the statement, or the request. */
  readonly text: string;
  /** How it was answered; empty: not in the recording. */
  readonly answer: string;
  readonly isFailure: boolean;
  /** All that the recording says about it. */
  readonly records: readonly Fields[];
}

export type Fields = Readonly<Record<string, unknown>>;

/** Reads the lines of a recording into rows. */
export interface RowReader {
  /** Rows that this line adds or changes. Never throws. */
  read(line: string): RecordRow | undefined;
}

/** Maximum number of statements whose answers are awaited. */
const maxOpen = 10_000;

/** Statements of a session with a database; the line of an answer changes the row of its statement. */
export class StatementRows implements RowReader {
  readonly #open = new Map<number, RecordRow>();

  read(line: string): RecordRow | undefined {
    const value = fieldsOf(line);
    if (typeof value?.time !== "number") return undefined;
    const { begin, end, time } = value;
    if (typeof begin === "number" && typeof value.text === "string") {
      const word = typeof value.kind === "string" && !["query", "execute"].includes(value.kind) ? `(${value.kind}) ` : "";
      const text = `${word}${value.text === "" ? "(text not known)" : value.text}`;
      const row = { id: begin, time, text, answer: "", isFailure: false, records: [value] };
      this.#open.set(begin, row);
      const [oldest] = this.#open.keys();
      if (oldest !== undefined && this.#open.size > maxOpen) this.#open.delete(oldest);
      return row;
    }
    const begun = typeof end === "number" ? this.#open.get(end) : undefined;
    if (begun === undefined) return undefined;
    this.#open.delete(begun.id);
    return { ...begun, answer: answerOf(value), isFailure: value.outcome !== "ok", records: [...begun.records, value] };
  }
}

function answerOf({ outcome, rows, affected, tag, code, message }: Fields): string {
  const counts = [
    ...(typeof rows === "number" ? [`${rows} returned`] : []),
    ...(typeof affected === "number" ? [`${affected} written`] : []),
    ...(typeof rows !== "number" && typeof affected !== "number" && typeof tag === "string" ? [tag] : []),
  ];
  const reason = [code, message].filter((one) => typeof one === "string" && one !== "").join(" ");
  const failure = outcome === "ok" ? [] : [`${String(outcome)}${reason === "" ? "" : `: ${reason}`}`];
  const all = [...counts, ...failure].join(", ");
  return all === "" ? "ok" : all;
}

/** Requests to a web application. */
export class RequestRows implements RowReader {
  #count = 0;

  read(line: string): RecordRow | undefined {
    const value = fieldsOf(line);
    if (value?.event !== "app.session.request") return undefined;
    const { time, method, path, raw_query: query, status_code: status } = value;
    if (typeof time !== "number" || typeof method !== "string" || typeof path !== "string" || typeof status !== "number") return undefined;
    this.#count += 1;
    const text = `${method} ${path}${typeof query === "string" && query !== "" ? `?${query}` : ""}`;
    return { id: this.#count, time, text, answer: String(status), isFailure: status >= 400, records: [value] };
  }
}

function fieldsOf(line: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;
  } catch {
    return undefined;
  }
}
