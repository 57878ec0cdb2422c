import fc from "fast-check";
import { expect, test } from "vitest";
import { postgresNames, quoteName } from "./quote-name.ts";

/** What the server's scanner makes of an identifier in quotes: its name, and whatever follows it. */
function scan(sql: string): { readonly name: string; readonly rest: string } {
  const match = /^"((?:[^"\0]|"")*)"(?!")/.exec(sql);
  if (match === null) throw new Error("not an identifier");
  return { name: (match[1] ?? "").replaceAll('""', '"'), rest: sql.slice(match[0].length) };
}

test("any name is one identifier, and nothing of it is left for the statement", () => {
  const odd = fc.string({ unit: fc.constantFrom('"', "'", "\\", ";", "-", " ", "$", "a", "é", "\n", "\u{1f600}") });
  fc.assert(
    fc.property(fc.oneof(odd, fc.string({ unit: "grapheme" })), (name) => {
      const isName = name !== "" && Buffer.byteLength(name) <= 63 && !name.includes("\0") && name.isWellFormed();
      if (!isName) expect(() => quoteName(name)).toThrow(expect.objectContaining({ code: "invalid" }));
      else expect(scan(`${quoteName(name)} login`)).toEqual({ name, rest: " login" });
    }),
  );
});

test.for([["public"], ["none"], ["pg_monitor"], ["ä".repeat(32)]])("%s cannot be an account", ([name = ""]) => {
  expect(postgresNames.fault(name)).toBeTypeOf("string");
});

test.for([["alice"], ["Alice"], ["current_user"], ["alice@example.com"], ["a".repeat(63)]])("%s can", ([name = ""]) => {
  expect(postgresNames.fault(name)).toBeUndefined();
});
