import { expect, test } from "vitest";
import { emptyNotes, offered } from "./empty-list.ts";
import { noOptions } from "./no-options.ts";

const kind = { noun: "database", labels: "db_labels", needs: offered };
const call = (args: readonly string[], options: Readonly<Record<string, string>> = {}) => ({
  args,
  options: {
    ...noOptions,
    text: (name: string) => options[name],
    values: (name: string) => (options[name] === undefined ? [] : [options[name]]),
  },
});

test("below an empty list stands what access takes, or that nothing matches; formats for programs and other lists have no note", () => {
  expect(emptyNotes(call([]), [], kind)).toEqual([
    "You do not have access to any database now: a role of yours has to allow its labels (db_labels), and a connected agent has to offer it.",
  ]);
  expect(emptyNotes(call([]), [], { noun: "host", labels: "node_labels" })).toEqual([
    "You do not have access to any host now: a role of yours has to allow its labels (node_labels).",
  ]);
  for (const filtered of [call(["env=prod"]), call([], { search: "x" }), call([], { query: "x" })])
    expect(emptyNotes(filtered, [], kind)).toEqual(["No database that you have access to matches."]);
  expect(emptyNotes(call([], { format: "json" }), [], kind)).toEqual([]);
  expect(emptyNotes(call([]), ["orders"], kind)).toEqual([]);
});
