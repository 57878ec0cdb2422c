import { cleanupFailed, failureParts } from "../errors/platform-error.ts";

/**
 * Logger that is passed in, never imported as a global. One event is one line: text for users, JSON for machines.
 * Fields hold facts, never secrets.
 */
export type LogLevel = "debug" | "info" | "warn" | "error";
export type LogFields = Readonly<Record<string, unknown>>;

export interface Log {
  debug(event: string, fields?: LogFields): void;
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
  /** The same logger with these fields on every line. */
  with(fields: LogFields): Log;
}

export interface LogOptions {
  readonly level: LogLevel;
  readonly format: "text" | "json";
  /** Takes one finished line, with its newline. */
  readonly write: (line: string) => void;
  readonly now?: () => Date;
}

const order: Readonly<Record<LogLevel, number>> = { debug: 0, info: 1, warn: 2, error: 3 };

export function createLog(options: LogOptions, fixed: LogFields = {}): Log {
  const now = options.now ?? (() => new Date());
  const emit = (level: LogLevel, event: string, fields?: LogFields): void => {
    if (order[level] < order[options.level]) return;
    const all = fields === undefined ? fixed : { ...fixed, ...fields };
    const time = now().toISOString();
    options.write(options.format === "json" ? jsonLine(time, level, event, all) : textLine(time, level, event, all));
  };
  return {
    debug: (event, fields) => emit("debug", event, fields),
    info: (event, fields) => emit("info", event, fields),
    warn: (event, fields) => emit("warn", event, fields),
    error: (event, fields) => emit("error", event, fields),
    with: (fields) => createLog(options, { ...fixed, ...fields }),
  };
}

/** Drops every line: for tests and for command lines that print their own errors. */
export const silentLog: Log = createLog({ level: "error", format: "text", write: () => {} });

function plain(value: unknown): unknown {
  const parts = value instanceof Error ? failureParts(value) : [];
  if (parts.length > 1) return parts.map(plain).join(`; ${cleanupFailed}: `);
  if (value instanceof Error) return value.cause === undefined ? value.message : `${value.message} (${String(plain(value.cause))})`;
  if (typeof value === "bigint") return value.toString();
  return value;
}

function jsonLine(time: string, level: LogLevel, event: string, fields: LogFields): string {
  return `${JSON.stringify({ time, level, event, ...fields }, (_key, value) => plain(value)).replace(controls, escaped)}\n`;
}

function textLine(time: string, level: LogLevel, event: string, fields: LogFields): string {
  let line = `${time} ${level.toUpperCase().padEnd(5)} ${event}`;
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    line += ` ${name}=${textValue(plain(value))}`;
  }
  return `${line}\n`;
}

/** Control characters and spaces are quoted, so that a peer's text cannot forge a line. */
function textValue(value: unknown): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "undefined");
  return /^[\x21-\x7e]+$/.test(text) && !text.includes('"') ? text : JSON.stringify(text).replace(controls, escaped);
}

/** Characters that JSON leaves unescaped and a terminal may interpret: DEL, the C1 controls (U+009B begins escape sequences), line separators. */
const controls = /[\u007f-\u009f\u2028\u2029]/g;

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
