import fc from "fast-check";
import { expect, test } from "vitest";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import { parseQuery } from "./parse-query.ts";
import { matchQuery, type Query, type QueryText } from "./query.ts";
import { maxQuery } from "./query-reader.ts";

const host = {
  name: "db-1.example",
  id: "0b8a1e0e-8a35-4b06-9a9c-0a4f6a1f2a77",
  version: "1.2.3",
  status: "connected",
  labels: { env: "prod", team: "db", teams: "db,ops", "example.com/zone": 'a"b', empty: "" },
};

test.for<[query: string, expected: boolean]>([
  ['labels["env"] == "prod"', true],
  ['labels.env == "prod" && labels.team == "db"', true],
  ['labels["env"] == "staging" || name == "db-1.example"', true],
  ['labels["env"] == "staging" || labels["env"] == "prod" && labels["team"] == "web"', false],
  ['(labels["env"] == "staging" || labels["env"] == "prod") && labels["team"] == "db"', true],
  ['!equals(labels["env"], "prod")', false],
  ['!!equals("prod", labels["env"])', true],
  ['labels["env"] != "staging"', true],
  ['labels["nothing"] == ""', true],
  ['exists(labels["nothing"])', false],
  ['exists(labels["empty"])', true],
  ['exists(labels["toString"])', false],
  ['labels["constructor"] == ""', true],
  ['hasPrefix(name, "db-") && hasSuffix(name, ".example")', true],
  ['hasPrefix(labels["env"], "x")', false],
  ['search("PROD", "db-1")', true],
  ['search("env=prod")', true],
  ['search("prod", "nowhere")', false],
  ['contains(split(labels["teams"], ","), "ops")', true],
  ['contains(split(labels["teams"], ","), "op")', false],
  ['contains(split(labels["teams"], ","), labels["team"])', true],
  ['labels["example.com/zone"] == "a\\"b"', true],
  ['labels["example.com/zone"] == `a"b`', true],
  ['resource.metadata.labels["env"] == "prod" && resource.spec.hostname == name && resource.metadata.name == id', true],
  ['status == "connected" && version == "1.2.3"', true],
])("%s is %s", ([query, expected]) => {
  expect(matchQuery(parseQuery(query), host)).toBe(expected);
});

test.for<[query: string, at: number | "end", why: RegExp]>([
  ["", "end", /a field or a text/],
  ['labels["env"]', "end", /== or != is missing/],
  ['labels["env"] = "prod"', 15, /unexpected character/],
  ['labels["env"] == prod', 18, /unknown field or function prod: fields are name, id/],
  ['labels["env"] == "prod', 18, /not closed/],
  ['labels["env"] == "prod" &&', "end", /a field or a text/],
  ['labels["env"] == "prod" name', 25, /unexpected text after the query/],
  ['(name == "a"', "end", /"\)" is missing/],
  ["labels.1", 8, /unexpected character/],
  ['exists("env")', 8, /takes a label/],
  ["search(name)", 8, /search requires a text/],
  ['contains(labels["a"], "b")', 10, /contains takes a list/],
  ['equals(name "b")', 13, /between the two arguments/],
  ['matches(name, "b")', 1, /unknown field or function matches/],
  ["toString == `a`", 1, /unknown field or function toString/],
  ["name == 'a'", 9, /unexpected character/],
])("%s is refused at %s", ([query, at, why]) => {
  const place = at === "end" ? /at its end/ : new RegExp(`at character ${at},`);
  const refused = expect.objectContaining({ code: "invalid", message: expect.stringMatching(place) });
  expect(() => parseQuery(query)).toThrow(refused);
  expect(() => parseQuery(query)).toThrow(why);
});

test("what is too long or nested too deep is refused, and no stack overflows", () => {
  expect(() => parseQuery(`name == "${"x".repeat(maxQuery)}"`)).toThrow(/characters; the maximum is 4096/);
  expect(() => parseQuery(`${"(".repeat(2_000)}name == "a"${")".repeat(2_000)}`)).toThrow(/nested too deep/);
  expect(() => parseQuery(`${"!".repeat(4_000)}name == "a"`)).toThrow(/nested too deep/);
});

const key = fc.string({ minLength: 1, maxLength: 8 });
const text: fc.Arbitrary<QueryText> = fc.oneof(
  fc.record({ kind: fc.constant("literal" as const), text: fc.string({ maxLength: 8 }) }),
  fc.record({ kind: fc.constant("field" as const), field: fc.constantFrom("name", "id", "version", "status") }),
  fc.record({ kind: fc.constant("label" as const), key }),
);
const { query } = fc.letrec<{ query: Query; leaf: Query; node: Query }>((tie) => ({
  query: fc.oneof({ maxDepth: 4 }, tie("leaf"), tie("node")),
  leaf: fc.oneof(
    fc.record({ kind: fc.constantFrom("equals" as const, "hasPrefix" as const, "hasSuffix" as const), left: text, right: text }),
    fc.record({ kind: fc.constant("exists" as const), key }),
    fc.record({ kind: fc.constant("search" as const), words: fc.array(key, { minLength: 1, maxLength: 3 }) }),
    fc.record({ kind: fc.constant("contains" as const), text, separator: key, item: text }),
  ),
  node: fc.oneof(
    fc.record({ kind: fc.constantFrom("and" as const, "or" as const), parts: fc.array(tie("query"), { minLength: 2, maxLength: 3 }) }),
    fc.record({ kind: fc.constant("not" as const), part: tie("query") }),
  ),
}));

test("a written query reads back as it was, whatever is in it", () => {
  fc.assert(
    fc.property(query, (one) => {
      expect(parseQuery(written(one))).toEqual(one);
    }),
  );
});

test("any text is read or refused with its place, never anything else", () => {
  const words = fc.constantFrom(
    "labels",
    "[",
    "]",
    '"',
    '"env"',
    "==",
    "!=",
    "&&",
    "||",
    "!",
    "(",
    ")",
    "search",
    ",",
    ".",
    "name",
    "`",
    " ",
    "\\",
    "é",
  );
  const any = fc.oneof(
    fc.string(),
    fc.array(words, { maxLength: 40 }).map((parts) => parts.join("")),
  );
  fc.assert(
    fc.property(any, (one) => {
      try {
        expect(typeof matchQuery(parseQuery(one), host)).toBe("boolean");
      } catch (thrown) {
        if (!(thrown instanceof PlatformError)) throw thrown;
        expect(thrown.message).toMatch(/^could not parse the query at (its end|character \d+, before .*): ./);
      }
    }),
  );
});

/** Backticks where the text allows them, so that both ways of quoting are tried. */
function quoted(value: string): string {
  return /[\n`]/.test(value) && !value.includes("`") ? `\`${value}\`` : `"${value.replace(/["\\]/g, "\\$&")}"`;
}

function writtenText(one: QueryText): string {
  if (one.kind === "literal") return quoted(one.text);
  return one.kind === "field" ? one.field : `labels[${quoted(one.key)}]`;
}

function written(one: Query): string {
  switch (one.kind) {
    case "and":
    case "or":
      return `${one.parts.map((part) => `(${written(part)})`).join(one.kind === "and" ? " && " : " || ")}`;
    case "not":
      return `!(${written(one.part)})`;
    case "exists":
      return `exists(labels[${quoted(one.key)}])`;
    case "search":
      return `search(${one.words.map(quoted).join(", ")})`;
    case "contains":
      return `contains(split(${writtenText(one.text)}, ${quoted(one.separator)}), ${writtenText(one.item)})`;
    case "equals":
    case "hasPrefix":
    case "hasSuffix":
      return `${one.kind}(${writtenText(one.left)}, ${writtenText(one.right)})`;
  }
}
