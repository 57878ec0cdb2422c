import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyCharacter } from "../../test/fuzz/any-character.ts";
import { encodeMember } from "./member.ts";
import { RecordingReader } from "./recording-reader.ts";
import {
  encodeBegin,
  encodeEnd,
  encodeStatementsHeader,
  parseStatementsLine,
  type StatementBegin,
  type StatementEnd,
  type StatementsHeader,
  type StatementsLine,
} from "./statements.ts";

const text = fc.string({ unit: anyCharacter });
const time = fc.integer({ min: 0, max: 10_000_000 }).map((micros) => micros / 1000);
const number = fc.nat();
const header: StatementsHeader = {
  started: "2026-01-02T03:04:05.000Z",
  protocol: "postgres",
  database: "orders",
  account: "reader",
  name: "shop",
  platform: { sid: "s", format: "statements" },
};
const begin = fc.record<StatementBegin>(
  {
    number,
    time,
    kind: fc.constantFrom("query", "prepare", "execute", "bulk", "fetch", "call", "command"),
    text,
    bytes: fc.nat(),
    parameters: fc.array(fc.option(text)),
    count: fc.nat(),
  },
  { requiredKeys: ["number", "time", "kind", "text"] },
);
const end = fc.record<StatementEnd>(
  {
    number,
    time,
    outcome: fc.constantFrom("ok", "failed", "refused", "skipped", "unknown"),
    rows: fc.nat(),
    affected: fc.nat(),
    tag: text,
    code: text,
    message: text,
  },
  { requiredKeys: ["number", "time", "outcome"] },
);
const line = fc.oneof(
  begin.map((one) => ({ begin: one })),
  end.map((one) => ({ end: one })),
);

function encoded(one: StatementsLine): string {
  if ("header" in one) return encodeStatementsHeader(one.header);
  return "begin" in one ? encodeBegin(one.begin) : encodeEnd(one.end);
}

/** As it is written. */
function toTheMicrosecond(one: StatementsLine): StatementsLine {
  const at = (time: number): number => Math.round(time * 1e6) / 1e6;
  if ("begin" in one) return { begin: { ...one.begin, time: at(one.begin.time) } };
  return "end" in one ? { end: { ...one.end, time: at(one.end.time) } } : one;
}

function read(file: Buffer, chunk: number) {
  const reader = new RecordingReader(parseStatementsLine);
  const items = [];
  for (let at = 0; at < file.length; at += chunk) items.push(...reader.push(file.subarray(at, at + chunk)));
  return [...items, ...reader.end()];
}

describe("a recording of statements", () => {
  test("is read back as it was written, compressed and plain, in any chunks", () => {
    fc.assert(
      fc.property(fc.array(fc.array(line, { maxLength: 5 }), { maxLength: 5 }), fc.integer({ min: 1, max: 300 }), (written, chunk) => {
        const parts: StatementsLine[][] = [[{ header }], ...written];
        const texts = parts.map((lines) => lines.map(encoded).join(""));
        const members = Buffer.concat(texts.map((part, index) => encodeMember(Buffer.from(part), index)));
        expect(read(members, chunk)).toEqual(parts.flat());
        expect(read(Buffer.from(texts.join("")), chunk)).toEqual(parts.flat());
      }),
    );
  });

  test("leaves out what is not known", () => {
    expect(encodeBegin({ number: 1, time: 0.5, kind: "query", text: "select 1" })).toBe('{"begin":1,"time":0.5,"kind":"query","text":"select 1"}\n');
    expect(encodeEnd({ number: 1, time: 0.50200049, outcome: "ok" })).toBe('{"end":1,"time":0.502,"outcome":"ok"}\n');
  });

  test.for([
    '{"begin":1,"time":0.5,"kind":"joke","text":"x"}',
    '{"begin":-1,"time":0.5,"kind":"query","text":"x"}',
    '{"begin":1,"time":-1,"kind":"query","text":"x"}',
    '{"begin":1,"time":1e12,"kind":"query","text":"x"}',
    '{"begin":1,"time":1,"kind":"query"}',
    '{"begin":1,"time":1,"kind":"query","text":"x","parameters":[1]}',
    '{"end":1,"time":1}',
    '{"end":1.5,"time":1,"outcome":"ok"}',
    '{"version":2}',
    "[1]",
    "null",
    "",
    "{",
  ])("%s is not a line of it", (one) => {
    expect(parseStatementsLine(one)).toBeUndefined();
  });

  test("of a newer version has fields that are ignored", () => {
    expect(parseStatementsLine('{"end":1,"time":1,"outcome":"ok","rows":"many","warnings":3}')).toEqual({
      end: { number: 1, time: 1, outcome: "ok" },
    });
  });

  test("of any text is a line or none, without an exception", () => {
    const value = fc.oneof(fc.jsonValue(), fc.constantFrom("query", "ok", 1, 0.5));
    const near = fc.dictionary(fc.constantFrom("begin", "end", "time", "kind", "text", "parameters", "outcome", "rows", "version", "count"), value);
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          near.map((one) => JSON.stringify(one)),
        ),
        (any) => {
          const parsed = parseStatementsLine(any);
          if (parsed !== undefined) expect(parseStatementsLine(encoded(parsed).trimEnd())).toEqual(toTheMicrosecond(parsed));
        },
      ),
    );
  });
});
