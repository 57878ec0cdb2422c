import type { StatementBegin, StatementEnd, StatementsHeader, StatementsLine } from "../../../core/recording/statements.ts";
import { printable } from "../../output.ts";

/** Width of the column of times. */
const column = 11;
const margin = " ".repeat(column);
/** Maximum number of statements whose results are awaited. */
const maxOpen = 10_000;

/**
 * The lines that show a recording of statements: time, number, account and database, the statement, its parameters; below it the result, with the
 * number where another statement stands between. A prepared statement is shown when it fails: its executions show its text.
 */
export class StatementText {
  readonly #prompt: string;
  readonly #isDocuments: boolean;
  readonly #open = new Map<number, StatementBegin>();
  /** The statement that was shown last. */
  #last: number | undefined;

  constructor({ protocol, database, account, name }: StatementsHeader) {
    this.#prompt = `${account}@${database}${name === "" ? "" : `/${name}`}>`;
    this.#isDocuments = protocol === "mongodb";
  }

  /** The text of one line of the recording; ends with a line feed, or is empty. */
  take(line: StatementsLine): string {
    if ("header" in line) return shown([startOf(line.header)]);
    return shown("begin" in line ? this.#begin(line.begin) : this.#end(line.end));
  }

  /** Statements that had no answer. */
  end(): string {
    const rest = [...this.#open.values()].flatMap((begun) => [
      ...(begun.kind === "prepare" ? this.#statement(begun) : []),
      `${margin}#${begun.number}: no answer in this recording`,
    ]);
    this.#open.clear();
    return shown(rest);
  }

  #begin(begun: StatementBegin): readonly string[] {
    this.#open.set(begun.number, begun);
    const [oldest] = this.#open.keys();
    if (oldest !== undefined && this.#open.size > maxOpen) this.#open.delete(oldest);
    return begun.kind === "prepare" ? [] : this.#statement(begun);
  }

  #statement(begun: StatementBegin): readonly string[] {
    const { time, number, kind, text, bytes, parameters, count } = begun;
    this.#last = number;
    const [first = "", ...others] = (text === "" ? "(text not known)" : text).replaceAll("\r\n", "\n").split("\n");
    const word = kind === "query" || kind === "execute" ? "" : `(${kind}) `;
    return [
      `${clockText(time).padEnd(column)}#${number} ${this.#prompt} ${word}${first}`,
      ...others.map((line) => margin + line),
      ...(bytes === undefined ? [] : [`${margin}(${bytes} bytes in all)`]),
      ...(parameters === undefined || parameters.length === 0 ? [] : [margin + parametersText(parameters, count)]),
    ];
  }

  #end(end: StatementEnd): readonly string[] {
    const begun = this.#open.get(end.number);
    this.#open.delete(end.number);
    if (begun?.kind === "prepare" && end.outcome === "ok") return [];
    const before = begun?.kind === "prepare" ? this.#statement(begun) : [];
    const duration = begun === undefined ? "" : ` (${durationText(end.time - begun.time)})`;
    const start = this.#last === end.number ? margin : `${clockText(end.time).padEnd(column)}#${end.number}: `;
    return [...before, `${start}${this.#result(end)}${duration}`];
  }

  #result({ outcome, rows, affected, tag, code, message = "" }: StatementEnd): string {
    const noun = this.#isDocuments ? "document" : "row";
    const counts = [
      ...(tag !== undefined && (tag.includes(";") || (rows === undefined && affected === undefined)) ? [tag] : []),
      ...(rows === undefined ? [] : [`${rows} ${noun}${rows === 1 ? "" : "s"}`]),
      ...(affected === undefined ? [] : [`${affected} ${noun}${affected === 1 ? "" : "s"} written`]),
    ].join(", ");
    if (outcome === "ok") return counts === "" ? "ok" : counts;
    const before = counts === "" ? "" : `${counts}, then `;
    if (outcome === "failed") return `${before}error${code === undefined || code === "" ? "" : ` ${code}`}: ${message}`;
    if (outcome === "refused") return `refused: ${message}`;
    return outcome === "skipped" ? "skipped, as one before it had failed" : `${before}outcome not known`;
  }
}

function startOf({ started, protocol, database }: StatementsHeader): string {
  return `${started.replace(/\.\d+Z$/, "Z")} ${database} (${protocol})`;
}

function parametersText(parameters: readonly (string | null)[], count: number | undefined): string {
  const texts = parameters.map((one) => (one === null ? "NULL" : JSON.stringify(one)));
  return `parameters: ${texts.join(", ")}${count === undefined ? "" : `, … (${count} in all)`}`;
}

/** `0:01.234`, `1:02:03.004`. */
function clockText(time: number): string {
  const two = (value: number): string => String(value).padStart(2, "0");
  const ms = Math.floor(time * 1000);
  const seconds = Math.floor(ms / 1000);
  const rest = `${two(seconds % 60)}.${String(ms % 1000).padStart(3, "0")}`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes}:${rest}` : `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${rest}`;
}

function durationText(seconds: number): string {
  const ms = Math.max(0, seconds) * 1000;
  if (ms < 10) return `${Math.round(ms * 10) / 10} ms`;
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${Math.round(ms / 100) / 10} s`;
}

/** Safe for a terminal, also where the recording holds characters that no text has. */
function shown(lines: readonly string[]): string {
  return lines.map((line) => `${printable(line.toWellFormed()).replaceAll("\n", "\\x0a")}\n`).join("");
}
