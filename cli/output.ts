import { cleanupFailed, errorText, exitCodes, failureParts, PlatformError, toPlatformError } from "../core/errors/platform-error.ts";
import type { CliIo, Output } from "./io.ts";

/*
 * The rules of our terminal output. This file is the only one that prints.
 *  - Results go to standard output, everything else (notes, questions, warnings, errors) to standard error.
 *  - Handlers return a Result; text is for people and may change, json and yaml are for programs and stay as they are.
 *  - An error is one sentence after "ERROR:", then what to do about it. No stack, no code, no capital letters shouting.
 *  - Colour appears only on a terminal without NO_COLOR and with a TERM other than dumb; never in results.
 *  - A reader that went away (EPIPE) ends the output silently.
 */

/** One text of a result alone, for scripts. */
const partFormats = ["uri", "ca", "cert", "key", "curl"] as const;
type PartFormat = (typeof partFormats)[number];

/** `names`: one name per line, for scripts. `cmd`: a command for a shell. */
export type Format = "text" | "json" | "yaml" | "names" | "cmd" | PartFormat;

export interface Result {
  /** Value that json and yaml print. */
  readonly data: unknown;
  /** Text for people, without the last newline; empty prints nothing. */
  readonly text: string;
  /** Lines for people on standard error, in every format. */
  readonly notes?: readonly string[];
  /** Lines that the format `names` prints. */
  readonly names?: readonly string[];
  /** What the format `cmd` prints. */
  readonly command?: string;
  /** What the formats of this name print. */
  readonly parts?: Readonly<Record<PartFormat, string>>;
  /** `data` is an array: json prints one compact line for each, yaml one document for each. */
  readonly many?: boolean;
  /** Continues earlier output: yaml starts another document. */
  readonly isContinued?: boolean;
  /** Exit status, when it is not 0. */
  readonly status?: number;
  /** Of a text that is shown only this once: what exists now and how to undo it, for the case that the text could not be written. */
  readonly ifLost?: string;
}

/** A result that is only text: json holds the text itself. */
export function textResult(text: string, notes: readonly string[] = []): Result {
  return { data: { message: text }, text, notes };
}

/** Whether the reader is still there. Throws `unavailable` when the text was not written, if it is shown only this once also when the reader has left. */
export async function writeResult(io: CliIo, result: Result, format: Format = "text"): Promise<boolean> {
  for (const note of result.notes ?? []) writeNote(io, note);
  const text = await formatted(result, format);
  const { ifLost } = result;
  try {
    const isWritten = text === "" || (await write(io.stdout, text.endsWith("\n") ? text : `${text}\n`));
    if (isWritten || ifLost === undefined) return isWritten;
  } catch (cause) {
    throw ifLost === undefined ? cause : new PlatformError("unavailable", `${errorText(cause)}: ${ifLost}`, { cause });
  }
  throw new PlatformError("unavailable", `could not write to standard output: ${ifLost}`);
}

async function formatted(result: Result, format: Format): Promise<string> {
  if (format === "json") return toJson(result);
  if (format === "yaml") return await toYaml(result);
  if (format === "cmd") return printable(result.command ?? "");
  const part = partFormats.find((one) => one === format);
  if (part !== undefined) return printable(result.parts?.[part] ?? "");
  return format === "names" ? (result.names ?? []).map(printable).join("\n") : result.text;
}

/** One line for people, on standard error. */
export function writeNote(io: CliIo, line: string): void {
  if (io.isQuiet !== true) writeLine(io, printable(line));
}

export function writeWarning(io: CliIo, line: string): void {
  if (io.isQuiet !== true) writeLine(io, `${paint(io, "33", "WARNING:")} ${printable(line)}`);
}

/** A line of progress in the place of the one before; empty clears it. `stays`: other output goes below. Only for a terminal. */
export function writeTransient(io: CliIo, line: string, stays = false): void {
  io.stderr.write(`\r\u001b[K${printable(line)}${stays ? "\n" : ""}`);
}

/** One of several items failed, and the rest continues. */
export function writeFailure(io: CliIo, what: string, error: PlatformError): void {
  writeLine(io, `${paint(io, "31", "ERROR:")} ${printable(what)}: ${printable(error.message)}`);
  if (error.hint !== undefined) writeLine(io, printable(error.hint));
}

/** Prints the error and its hint, and then each failure of the clean-up after it; returns the exit status for the error. */
export function writeError(io: CliIo, thrown: unknown): number {
  const [first, ...later] = failureParts(thrown);
  writeOne(io, first);
  for (const one of later) writeOne(io, one, cleanupFailed);
  return exitCodes[toPlatformError(first).code];
}

function writeOne(io: CliIo, thrown: unknown, what?: string): void {
  const bug = !(thrown instanceof PlatformError);
  const message = bug && what === undefined ? `internal error: ${errorText(thrown)}` : errorText(thrown);
  const hint = bug ? "this is a bug in the program; PLATFORM_DEBUG=1 shows where" : thrown.hint;
  writeLine(io, `${paint(io, "31", "ERROR:")} ${printable(what === undefined ? message : `${what}: ${message}`)}`);
  // A clean-up fails by what the system answers.
  if (hint !== undefined && !(bug && what !== undefined)) writeLine(io, printable(hint));
  if ((io.env.PLATFORM_DEBUG ?? "") !== "" && thrown instanceof Error) writeLine(io, printable(trail(thrown)));
}

/** A raw terminal does not return the cursor to the start of the line by itself. */
function writeLine(io: CliIo, line: string): void {
  const isRaw = io.stdin.isRaw === true && io.stderr.isTTY === true;
  io.stderr.write(isRaw ? `${line}\n`.replaceAll("\n", "\r\n") : `${line}\n`);
}

function toJson({ data, many }: Result): string {
  // Characters that JSON leaves unescaped may still control a terminal.
  if (many === true && Array.isArray(data)) return escapeControls(data.map((one) => JSON.stringify(one)).join("\n"));
  return escapeControls(JSON.stringify(data, undefined, 2));
}

async function toYaml({ data, many, isContinued }: Result): Promise<string> {
  const { Document, isScalar, visit } = await import("yaml");
  const write = (value: unknown): string => {
    const document = new Document(value);
    // YAML has escapes only in double quotes.
    visit(document, {
      Scalar: (_key, node) => {
        if (isScalar(node) && typeof node.value === "string" && hasControls(node.value)) node.type = "QUOTE_DOUBLE";
      },
    });
    return escapeControls(document.toString({ lineWidth: 0 }));
  };
  const text = many === true && Array.isArray(data) ? data.map(write).join("---\n") : write(data);
  return isContinued === true ? `---\n${text}` : text;
}

/** Whether a write failed because its reader left. */
export function isReaderGone(cause: Error): boolean {
  return (cause as NodeJS.ErrnoException).code === "EPIPE";
}

/** Output that was lost: `unavailable`. */
export function lostOutput(cause: Error, stream: "output" | "error" = "output"): PlatformError {
  const error = new PlatformError("unavailable", `could not write to standard ${stream}: ${errorText(cause)}`, { cause });
  lost.add(error);
  return error;
}

const lost = new WeakSet<object>();

/** Whether an error is about this program's own output. */
export function isLostOutput(thrown: unknown): boolean {
  return typeof thrown === "object" && thrown !== null && lost.has(thrown);
}

/** Resolves when the bytes are written; a reader that left is not an error, but false. Throws `unavailable`. */
export function write(stream: Output, bytes: string | Buffer): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const failed = (cause: Error): void => {
      if (isReaderGone(cause)) resolve(false);
      else reject(lostOutput(cause));
    };
    stream.once("error", failed);
    stream.write(bytes, (error) => {
      if (error) return failed(error);
      stream.off("error", failed);
      resolve(true);
    });
  });
}

function paint(io: CliIo, color: string, text: string): string {
  const plain = io.stderr.isTTY !== true || (io.env.NO_COLOR ?? "") !== "" || io.env.TERM === "dumb";
  return plain ? text : `\u001b[1;${color}m${text}\u001b[0m`;
}

/** Stack and causes, at most eight deep. */
function trail(error: Error): string {
  const lines: string[] = [];
  for (let one: unknown = error; one instanceof Error && lines.length < 8; one = one.cause) lines.push(one.stack ?? one.message);
  return lines.join("\ncaused by: ");
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what this matches
const unprintable = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Text of a peer made safe for a terminal: control characters are shown as escapes, so that no name or label can paint. */
export function printable(text: string): string {
  return text.replace(unprintable, (character) => {
    const code = character.charCodeAt(0);
    return code < 256 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`;
  });
}

/** The same within quotes of JSON or YAML: the escape represents the same character. */
function escapeControls(quoted: string): string {
  return quoted.replace(unprintable, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function hasControls(text: string): boolean {
  return text.search(unprintable) >= 0;
}
