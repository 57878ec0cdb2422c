import { keptQueryBytes } from "../capped-text.ts";

/** An argument of a command, or the beginning of a long one. */
export interface Argument {
  readonly bytes: Buffer;
  /** Of the whole argument. */
  readonly length: number;
  /** Of a script: SHA-1 of all of it, hexadecimal, as EVALSHA names it. */
  readonly sha1?: string;
}

/** A command as far as it is known. The first argument is its name. */
export interface Command {
  /** The first ones, at most `keptArguments`. */
  readonly words: readonly Argument[];
  /** Number of all its arguments, its name included. */
  readonly count: number;
}

/** What is kept of a command for its judgement and its audit: the first arguments, and the first bytes of each. */
export const keptArguments = 66;
export const keptBytes = 1_024;
/** The same of a script: as much as of a query. */
export const keptScriptBytes = keptQueryBytes;

/**
 * A command's name, subcommand or option in lower case; "" if there is none. Servers compare these as C strings, in any case and up to a NUL:
 * `AUTH\0x` can be AUTH.
 */
export function wordAt({ words }: Command, index: number): string {
  const text = words[index]?.bytes.toString("latin1") ?? "";
  const end = text.indexOf("\0");
  return (end < 0 ? text : text.slice(0, end)).toLowerCase();
}

/** The whole text of an argument; undefined if there is none, or it is too long to be kept. */
export function textAt({ words }: Command, index: number): string | undefined {
  const word = words[index];
  return word === undefined || word.length > word.bytes.length ? undefined : word.bytes.toString("latin1");
}

/** Whether an argument is this text, byte for byte. */
export function isText(command: Command, index: number, text: string): boolean {
  return textAt(command, index) === Buffer.from(text).toString("latin1");
}

export function isWhole({ words, count }: Command): boolean {
  return words.length >= count;
}
