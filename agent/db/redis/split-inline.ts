import { protocolError } from "./resp.ts";

const blank = /[\t\n\v\f\r ]/;
const escapes: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t", b: "\b", a: "\x07" };

/**
 * The arguments of an inline command, as the servers split it (sdssplitargs): by blanks, with "…" (\n \r \t \b \a \xHH and any escaped character)
 * and '…' (only \'). Throws `invalid` for quotes that are not closed, or have something behind them, and for a NUL, where a server would stop.
 */
export function splitInline(line: Buffer): Buffer[] {
  const text = line.toString("latin1");
  if (text.includes("\0")) throw protocolError("NUL in an inline command");
  const words: Buffer[] = [];
  let at = 0;
  for (;;) {
    while (blank.test(text[at] ?? "")) at += 1;
    if (at >= text.length) return words;
    const word = readWord(text, at);
    words.push(Buffer.from(word.value, "latin1"));
    at = word.end;
  }
}

interface Piece {
  readonly value: string;
  readonly end: number;
}

/** A word ends at a blank, or after a quoted part. */
function readWord(text: string, begin: number): Piece {
  let value = "";
  for (let at = begin; at < text.length; at += 1) {
    const char = text[at] ?? "";
    if (" \n\r\t".includes(char)) return { value, end: at };
    if (char !== '"' && char !== "'") {
      value += char;
      continue;
    }
    const quoted = char === '"' ? readDouble(text, at + 1) : readSingle(text, at + 1);
    const next = text[quoted.end];
    if (next !== undefined && !blank.test(next)) throw unbalanced();
    return { value: value + quoted.value, end: quoted.end };
  }
  return { value, end: text.length };
}

function readDouble(text: string, begin: number): Piece {
  let value = "";
  for (let at = begin; at < text.length; at += 1) {
    const char = text[at] ?? "";
    if (char === '"') return { value, end: at + 1 };
    const next = text[at + 1];
    if (char !== "\\" || next === undefined) {
      value += char;
      continue;
    }
    const hex = /^x([0-9a-fA-F]{2})/.exec(text.slice(at + 1, at + 4))?.[1];
    value += hex === undefined ? (escapes[next] ?? next) : String.fromCharCode(Number.parseInt(hex, 16));
    at += hex === undefined ? 1 : 3;
  }
  throw unbalanced();
}

function readSingle(text: string, begin: number): Piece {
  let value = "";
  for (let at = begin; at < text.length; at += 1) {
    const char = text[at] ?? "";
    if (char === "'") return { value, end: at + 1 };
    const isEscaped = char === "\\" && text[at + 1] === "'";
    value += isEscaped ? "'" : char;
    if (isEscaped) at += 1;
  }
  throw unbalanced();
}

function unbalanced(): Error {
  return protocolError("unbalanced quotes in request");
}
