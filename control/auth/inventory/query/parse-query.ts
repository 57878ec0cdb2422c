import { type Query, type QueryField, type QueryText, queryFields } from "./query.ts";
import { QueryReader, type Token } from "./query-reader.ts";

/** Maximum nesting of parentheses and negations. */
const maxDepth = 50;

/**
 * The reference's filter language: `&&`, `||`, `!`, `==`, `!=`, parentheses; `labels["key"]`, `labels.key`, `name`, `id`,
 * `version`, `status`; `equals`, `exists`, `search`, `hasPrefix`, `hasSuffix`, `contains(split(text, ","), item)`.
 * Throws `invalid` with the position. Pure.
 */
export function parseQuery(text: string): Query {
  const reader = new QueryReader(text);
  const query = readEither(reader, 0);
  if (reader.peek().kind !== "end") throw reader.wrong("unexpected text after the query");
  return query;
}

function readEither(reader: QueryReader, depth: number): Query {
  return readList(reader, depth, { kind: "or", sign: "||", part: readAll });
}

function readAll(reader: QueryReader, depth: number): Query {
  return readList(reader, depth, { kind: "and", sign: "&&", part: readNegated });
}

interface ListOf {
  readonly kind: "and" | "or";
  readonly sign: string;
  readonly part: (reader: QueryReader, depth: number) => Query;
}

function readList(reader: QueryReader, depth: number, { kind, sign, part }: ListOf): Query {
  const first = part(reader, depth);
  const parts = [first];
  while (reader.skip(sign)) parts.push(part(reader, depth));
  return parts.length === 1 ? first : { kind, parts };
}

function readNegated(reader: QueryReader, depth: number): Query {
  if (depth > maxDepth) throw reader.wrong("it is nested too deeply");
  if (reader.skip("!")) return { kind: "not", part: readNegated(reader, depth + 1) };
  if (!reader.skip("(")) return readCondition(reader);
  const query = readEither(reader, depth + 1);
  reader.expect(")", "after the expression in parentheses");
  return query;
}

type Call = (reader: QueryReader) => Query;

const calls: Readonly<Record<string, Call>> = {
  equals: (reader) => readPair(reader, "equals"),
  hasPrefix: (reader) => readPair(reader, "hasPrefix"),
  hasSuffix: (reader) => readPair(reader, "hasSuffix"),
  exists: (reader) => {
    const token = reader.peek();
    const text = readText(reader);
    if (text.kind !== "label") throw reader.wrong('exists takes a label, like exists(labels["env"])', token);
    return { kind: "exists", key: text.key };
  },
  search: (reader) => {
    const words = [readQuoted(reader, "search")];
    while (reader.skip(",")) words.push(readQuoted(reader, "search"));
    return { kind: "search", words };
  },
  contains: (reader) => {
    const token = reader.next();
    if (token.kind !== "name" || token.value !== "split") {
      throw reader.wrong('contains takes a list, like contains(split(labels["teams"], ","), "db")', token);
    }
    reader.expect("(", "after split");
    const text = readText(reader);
    reader.expect(",", "between the text and its separator");
    const separator = readQuoted(reader, "split");
    reader.expect(")", "after the arguments of split");
    reader.expect(",", "between the list and its item");
    return { kind: "contains", text, separator, item: readText(reader) };
  },
};

function readPair(reader: QueryReader, kind: "equals" | "hasPrefix" | "hasSuffix"): Query {
  const left = readText(reader);
  reader.expect(",", `between the two arguments of ${kind}`);
  return { kind, left, right: readText(reader) };
}

function readCondition(reader: QueryReader): Query {
  const token = reader.peek();
  const call = token.kind === "name" && Object.hasOwn(calls, token.value) ? calls[token.value] : undefined;
  if (call !== undefined) {
    reader.next();
    reader.expect("(", `after ${token.value}`);
    const query = call(reader);
    reader.expect(")", `after the arguments of ${token.value}`);
    return query;
  }
  const left = readText(reader);
  if (reader.skip("==")) return { kind: "equals", left, right: readText(reader) };
  if (reader.skip("!=")) return { kind: "not", part: { kind: "equals", left, right: readText(reader) } };
  throw reader.wrong("== or != is missing: this is a text, not a condition");
}

/** The reference's longer names of the same fields. */
const longNames: Readonly<Record<string, QueryField>> = {
  "resource.metadata.name": "id",
  "resource.spec.hostname": "name",
  "resource.spec.version": "version",
};

function readText(reader: QueryReader): QueryText {
  const token = reader.next();
  if (token.kind === "text") return { kind: "literal", text: token.value };
  if (token.kind !== "name") throw reader.wrong("a field or a text in double quotes is missing", token);
  let path = token.value;
  for (;;) {
    if (path === "labels" || path === "resource.metadata.labels") return readLabel(reader);
    if (!reader.skip(".")) break;
    path += `.${readName(reader).value}`;
  }
  const field = queryFields.find((one) => one === path) ?? (Object.hasOwn(longNames, path) ? longNames[path] : undefined);
  if (field !== undefined) return { kind: "field", field };
  const known = `fields are ${queryFields.join(", ")} and labels["key"]; functions are ${Object.keys(calls).join(", ")}, split`;
  throw reader.wrong(`unknown field or function ${path.slice(0, 100)}: ${known}`, token);
}

function readLabel(reader: QueryReader): QueryText {
  if (reader.skip(".")) return { kind: "label", key: readName(reader).value };
  reader.expect("[", 'after labels, as in labels["env"]');
  const key = readQuoted(reader, "labels[…]");
  reader.expect("]", "after the label's key");
  return { kind: "label", key };
}

function readName(reader: QueryReader): Token {
  const token = reader.next();
  if (token.kind !== "name") throw reader.wrong("a name is missing after the dot", token);
  return token;
}

function readQuoted(reader: QueryReader, what: string): string {
  const token = reader.next();
  if (token.kind !== "text") throw reader.wrong(`${what} requires a text in double quotes`, token);
  return token.value;
}
