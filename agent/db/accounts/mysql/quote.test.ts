import fc from "fast-check";
import { expect, test } from "vitest";
import { mysqlNames, quoteAccount, quoteName, quoteSubject, quoteValue } from "./quote.ts";

const odd = fc.string({ unit: fc.constantFrom("`", "'", '"', "\\", ";", "-", " ", "@", "%", "a", "é", "\n") });
const texts = fc.oneof(odd, fc.string({ unit: "grapheme" }));

/** The text between quotes as the server reads it with NO_BACKSLASH_ESCAPES, and what follows. */
function scan(sql: string, quote: string): { readonly text: string; readonly rest: string } {
  const end = new RegExp(`^${quote}((?:[^${quote}\\0]|${quote}${quote})*)${quote}(?!${quote})`);
  const match = end.exec(sql);
  if (match === null) throw new Error("not quoted");
  return { text: (match[1] ?? "").replaceAll(quote + quote, quote), rest: sql.slice(match[0].length) };
}

test("any name is one identifier, and an account from any address", () => {
  fc.assert(
    fc.property(texts, (name) => {
      const isName = name !== "" && name.length <= 128 && !name.includes("\0") && name.isWellFormed();
      if (isName) {
        expect(scan(`${quoteName(name)} x`, "`")).toEqual({ text: name, rest: " x" });
        expect(scan(quoteAccount(name), "`")).toEqual({ text: name, rest: "@`%`" });
      } else {
        expect(() => quoteName(name)).toThrow(expect.objectContaining({ code: "invalid" }));
      }
    }),
  );
});

test("a value has hexadecimal digits alone", () => {
  fc.assert(fc.property(texts, (text) => void expect(quoteValue(text)).toMatch(/^x'([0-9a-f]{2})*'$/)));
  expect(Buffer.from(quoteValue("älice").slice(2, -1), "hex").toString()).toBe("älice");
});

test("a subject is one text of printable ASCII, different for different names", () => {
  fc.assert(
    fc.property(texts, texts, (one, other) => {
      const { text, rest } = scan(`${quoteSubject(one)} account lock`, "'");
      expect(rest).toBe(" account lock");
      expect(text).toMatch(/^\/CN=[\x20-\x7e]*$/);
      const isPlain = /^[\x20-\x5b\x5d-\x7e]*$/;
      if (isPlain.test(one) && isPlain.test(other) && one !== other) expect(quoteSubject(other)).not.toBe(quoteSubject(one));
    }),
  );
  // As OpenSSL shows the subject of such a certificate in one line.
  expect(quoteSubject("o'älice")).toBe("'/CN=o''\\xC3\\xA4lice'");
});

test.for([
  ["a".repeat(33), "mysql"],
  ["a".repeat(65), "mariadb"],
  ["root", "mysql"],
  ["PUBLIC", "mariadb"],
  ["mysql.sys", "mysql"],
  ["alice ", "mysql"],
  ["\u{1f600}", "mariadb"],
] as const)("%s cannot be an account of %s", ([name, kind]) => {
  expect(mysqlNames(kind).fault(name)).toBeTypeOf("string");
});

test.for([
  ["alice@example.com", "mysql"],
  ["a".repeat(64), "mariadb"],
  ["älice", "mysql"],
] as const)("%s can be one of %s", ([name, kind]) => {
  expect(mysqlNames(kind).fault(name)).toBeUndefined();
});
