/*
 * The recording of statements that a client sent to a server: lines of JSON. First the header, then for each statement a line when it went to the
 * server and a line when the answer was complete. Other statements may begin in between.
 *
 *   {"version":1,"started":"2026-01-02T03:04:05.000Z","protocol":"postgres","database":"orders","account":"reader","name":"shop","platform":{…}}
 *   {"begin":1,"time":0.5,"kind":"query","text":"select 1"}
 *   {"end":1,"time":0.502,"outcome":"ok","rows":1,"tag":"SELECT 1"}
 *
 * Times are seconds since the beginning. What an answer does not say is left out: the number of rows is absent, not 0. A statement without an `end`
 * had no complete answer when the session ended. Rows themselves are never written.
 */

export interface StatementsHeader {
  /** RFC 3339. */
  readonly started: string;
  readonly protocol: string;
  /** Name of the resource. */
  readonly database: string;
  /** Account and logical database at the server; empty where the protocol has none, or the client stated none. */
  readonly account: string;
  readonly name: string;
  /** Subject of the recording, as stated by the host; unchecked. */
  readonly platform?: unknown;
}

const statementKinds = ["query", "prepare", "execute", "bulk", "fetch", "call", "command"] as const;
/** `query`: text that was executed at once; `call`: a function by its number; `command`: one of the protocol that is not a text. */
export type StatementKind = (typeof statementKinds)[number];

/** A statement as it went to the server, without secrets that its protocol marks. */
export interface Statement {
  readonly kind: StatementKind;
  /** Cut as in the audit log; empty: not known. */
  readonly text: string;
  /** The whole length, bytes, of a text that was cut. */
  readonly bytes?: number;
  /** As in the audit log; null is NULL. */
  readonly parameters?: readonly (string | null)[];
  /** Number of all parameters, where only the first ones are there. */
  readonly count?: number;
}

const statementOutcomes = ["ok", "failed", "refused", "skipped", "unknown"] as const;
/**
 * `failed`: the server's error; `refused`: it did not reach the server; `skipped`: the server ignored it, as one before it had failed; `unknown`: the
 * answer, if there was one, does not say what became of it.
 */
export type StatementOutcome = (typeof statementOutcomes)[number];

export interface StatementResult {
  readonly outcome: StatementOutcome;
  /** Rows, or documents, that were returned. */
  readonly rows?: number;
  /** Rows, or documents, that were written, as the server counts them. */
  readonly affected?: number;
  /** The server's own summary: `INSERT 0 1`. */
  readonly tag?: string;
  /** Of an error, as the server writes it: SQLSTATE, number or word. */
  readonly code?: string;
  readonly message?: string;
}

export type StatementBegin = Statement & { readonly number: number; readonly time: number };
export type StatementEnd = StatementResult & { readonly number: number; readonly time: number };
export type StatementsLine = { readonly header: StatementsHeader } | { readonly begin: StatementBegin } | { readonly end: StatementEnd };

export function encodeStatementsHeader({ started, protocol, database, account, name, platform }: StatementsHeader): string {
  return `${JSON.stringify({ version: 1, started, protocol, database, account, name, platform })}\n`;
}

export function encodeBegin({ number, time, kind, text, bytes, parameters, count }: StatementBegin): string {
  return `${JSON.stringify({ begin: number, time: rounded(time), kind, text, bytes, parameters, count })}\n`;
}

export function encodeEnd({ number, time, outcome, rows, affected, tag, code, message }: StatementEnd): string {
  return `${JSON.stringify({ end: number, time: rounded(time), outcome, rows, affected, tag, code, message })}\n`;
}

function rounded(time: number): number {
  return Math.round(time * 1e6) / 1e6;
}

/** One line without its end; undefined when it is not a line of such a recording. Unknown fields are ignored. */
export function parseStatementsLine(line: string): StatementsLine | undefined {
  const value = jsonOf(line);
  if (value === undefined) return undefined;
  if ("begin" in value) return beginOf(value);
  if ("end" in value) return endOf(value);
  return value.version === 1 ? headerOf(value) : undefined;
}

type Fields = Readonly<Record<string, unknown>>;

function headerOf({ started, protocol, database, account, name, platform }: Fields): StatementsLine {
  const header = { started: textOf(started), protocol: textOf(protocol), database: textOf(database), account: textOf(account), name: textOf(name) };
  return { header: { ...header, ...(platform !== undefined && { platform }) } };
}

function beginOf({ begin: number, time, kind: word, text, bytes, parameters, count }: Fields): StatementsLine | undefined {
  const kind = statementKinds.find((one) => one === word);
  if (!isCount(number) || !isTime(time) || kind === undefined || typeof text !== "string") return undefined;
  const isList = (list: unknown): list is readonly (string | null)[] =>
    Array.isArray(list) && list.every((one) => one === null || typeof one === "string");
  if (parameters !== undefined && !isList(parameters)) return undefined;
  return { begin: { number, time, kind, text, ...counts({ bytes, count }), ...(parameters !== undefined && { parameters }) } };
}

function endOf({ end: number, time, outcome: word, rows, affected, ...rest }: Fields): StatementsLine | undefined {
  const outcome = statementOutcomes.find((one) => one === word);
  if (!isCount(number) || !isTime(time) || outcome === undefined) return undefined;
  const texts = (["tag", "code", "message"] as const).flatMap((name) => (typeof rest[name] === "string" ? [[name, rest[name]] as const] : []));
  return { end: { number, time, outcome, ...counts({ rows, affected }), ...Object.fromEntries(texts) } };
}

/** Those that are numbers. */
function counts<Name extends string>(fields: Readonly<Record<Name, unknown>>): { readonly [One in Name]?: number } {
  const entries = Object.entries(fields).filter(([, value]) => isCount(value));
  return Object.fromEntries(entries) as { readonly [One in Name]?: number };
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

/** Maximum time, s, which is written to the microsecond: some thirty years. */
const longest = 1e9;

function isTime(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && value <= longest;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function jsonOf(text: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;
  } catch {
    return undefined;
  }
}
