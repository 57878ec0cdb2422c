import { isScalar, Lexer, type Node, parseDocument, visit } from "yaml";
import { errorText, PlatformError } from "../../../../core/errors/platform-error.ts";

/**
 * Maximum tokens of a text, with the lines and escapes in its scalars; levels of `[` and `{`; and of each line the indentation and the indicators `-`, `?` and `:`.
 * They bound the time for a text to some 0.1 s: the parser's grows with the square of the levels, and each mistake costs it some 20 µs.
 */
const most = { tokens: 20_000, flow: 32, indent: 128, indicators: 32 } as const;

/**
 * The value of one YAML 1.2 document that somebody sent. Throws `invalid` with the line for what is not YAML, and for a key that is there twice or is not a
 * scalar; `limit` for a text that would take long.
 */
export function parseBoundedYaml(text: string): unknown {
  requireShort(text);
  try {
    // The parser's own search for equal keys compares each with all earlier ones, and its pretty messages cost more than the mistakes themselves.
    const document = parseDocument(text, { version: "1.2", uniqueKeys: false, prettyErrors: false, stringKeys: true, logLevel: "silent" });
    const [error] = document.errors;
    if (error !== undefined) throw notYaml(error.message, placeOf(error.pos[0], text));
    requireUniqueKeys(document.contents, text);
    return document.toJS({ maxAliasCount: 100 });
  } catch (thrown) {
    throw thrown instanceof PlatformError ? thrown : notYaml(errorText(thrown), "");
  }
}

function notYaml(message: string, place: string): PlatformError {
  const [line = ""] = message.split("\n");
  return new PlatformError("invalid", `the document is not YAML: ${line.slice(0, 200)}${place}`);
}

function placeOf(offset: number, text: string): string {
  const before = text.slice(0, offset).split("\n");
  return ` at line ${before.length}, column ${(before.at(-1) ?? "").length + 1}`;
}

/** Reads tokens alone, until there are too many. */
function requireShort(text: string): void {
  let [tokens, flow, indicators, read] = [0, 0, 0, 0];
  let before = "";
  for (const token of new Lexer().lex(text)) {
    if (!marks.has(token)) {
      tokens += token.length === 1 ? 1 : 1 + linesAndEscapes(token);
      read += token.length;
    }
    if (before !== scalarMark) {
      flow += steps[token] ?? 0;
      if (flow <= 0 && (token === "-" || token === "?" || token === ":")) indicators += 1;
      if (before.endsWith("\n") && token.startsWith(" ") && token.length > most.indent) throw tooMuch("is nested too deeply");
    }
    if (token.endsWith("\n")) indicators = 0;
    if (tokens > most.tokens) throw tooMuch("is too long");
    if (flow < 0) throw notYaml("a bracket is closed that was not opened", placeOf(read - 1, text));
    if (flow > most.flow || indicators > most.indicators) throw tooMuch("is nested too deeply");
    before = token;
  }
}

const steps: Readonly<Record<string, number>> = { "[": 1, "{": 1, "]": -1, "}": -1 };

/** What the lexer puts before a scalar without quotes, at the start of a document, and where flow collections end without a bracket. */
const scalarMark = "\u001f";
const marks: ReadonlySet<string> = new Set([scalarMark, "\u0002", "\u0018"]);

function linesAndEscapes(token: string): number {
  let found = 0;
  for (const character of token) if (character === "\n" || character === "\\") found += 1;
  return found;
}

function tooMuch(what: string): PlatformError {
  return new PlatformError("limit", `the document ${what}`, { hint: "from a command line: tctl create -f FILE" });
}

/** Every key is a scalar, or an error before. */
function requireUniqueKeys(contents: Node | null, text: string): void {
  visit(contents, {
    Map: (_key, { items }) => {
      const seen = new Set<unknown>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        if (seen.has(key.value)) throw notYaml("map keys must be unique", placeOf(key.range?.[0] ?? 0, text));
        seen.add(key.value);
      }
    },
  });
}
