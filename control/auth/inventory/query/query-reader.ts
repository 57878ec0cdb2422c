import { PlatformError } from "../../../../core/errors/platform-error.ts";

/** Maximum length of a query, characters. */
export const maxQuery = 4_096;

export interface Token {
  readonly kind: "name" | "text" | "sign" | "end";
  /** A name, the content of a quoted text, or the sign itself. */
  readonly value: string;
  /** Its position, from 0. */
  readonly at: number;
}

const blank = /\s*/y;
const name = /[A-Za-z_][A-Za-z0-9_]*/y;
const quoted = /"((?:[^"\\\n]|\\["\\])*)"|`([^`]*)`/y;
const sign = /\|\||&&|==|!=|[!()[\],.]/y;

/** Reads a query token by token. Every error names the position. */
export class QueryReader {
  readonly #text: string;
  #next: Token;
  /** Position of the next token, or of the blanks before it. */
  #after: number;

  constructor(text: string) {
    if (text.length > maxQuery) throw new PlatformError("invalid", `the query has ${text.length} characters; the maximum is ${maxQuery}`);
    this.#text = text;
    [this.#next, this.#after] = this.#read(0);
  }

  peek(): Token {
    return this.#next;
  }

  next(): Token {
    const token = this.#next;
    [this.#next, this.#after] = this.#read(this.#after);
    return token;
  }

  /** Consumes the sign if it comes next. */
  skip(value: string): boolean {
    if (this.#next.kind !== "sign" || this.#next.value !== value) return false;
    this.next();
    return true;
  }

  expect(value: string, where: string): void {
    if (!this.skip(value)) throw this.wrong(`${JSON.stringify(value)} is missing ${where}`);
  }

  wrong(why: string, { at }: Pick<Token, "at"> = this.#next): PlatformError {
    const rest = this.#text.slice(at, at + 20);
    const place = rest === "" ? "at its end" : `at character ${at + 1}, before ${JSON.stringify(rest)}`;
    return new PlatformError("invalid", `could not parse the query ${place}: ${why}`, { hint: queryHint });
  }

  #read(from: number): [token: Token, after: number] {
    const at = from + (this.#take(blank, from)?.[0].length ?? 0);
    if (at >= this.#text.length) return [{ kind: "end", value: "", at }, at];
    const word = this.#take(name, at);
    if (word !== undefined) return [{ kind: "name", value: word[0], at }, at + word[0].length];
    const text = this.#take(quoted, at);
    if (text !== undefined) return [{ kind: "text", value: text[2] ?? (text[1] ?? "").replace(/\\(.)/g, "$1"), at }, at + text[0].length];
    const mark = this.#take(sign, at);
    if (mark !== undefined) return [{ kind: "sign", value: mark[0], at }, at + mark[0].length];
    const open = /["`]/.test(this.#text[at] ?? "");
    throw this.wrong(open ? "a quoted text is not closed" : "unexpected character", { at });
  }

  #take(pattern: RegExp, from: number): RegExpExecArray | undefined {
    pattern.lastIndex = from;
    return pattern.exec(this.#text) ?? undefined;
  }
}

const queryHint = 'write it like: labels["env"] == "prod" && !hasPrefix(name, "db-")';
