import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { encodeMember } from "../../../core/recording/member.ts";
import { encodeBegin, encodeEnd, encodeStatementsHeader, type StatementBegin, type StatementEnd } from "../../../core/recording/statements.ts";
import { anyCharacter } from "../../../test/fuzz/any-character.ts";
import { openStatements } from "./statement-tape.ts";

const header = { started: "2026-01-02T03:04:05.000Z", protocol: "postgres", database: "orders", account: "reader", name: "shop" };
type Line = Partial<StatementBegin> | Partial<StatementEnd>;

/** A line with an outcome ends a statement. */
function tapeOf(lines: readonly Line[], more: Partial<typeof header> = {}) {
  const texts = lines.map((line) =>
    "outcome" in line
      ? encodeEnd({ number: 1, time: 0, outcome: "ok", ...line })
      : encodeBegin({ number: 1, time: 0, kind: "query", text: "select 1", ...line }),
  );
  return openStatements(encodeMember(Buffer.from(encodeStatementsHeader({ ...header, ...more }) + texts.join("")), 0), "one");
}

const textOf = (...lines: readonly Line[]): string => [...tapeOf(lines).text()].join("");
const first = "2026-01-02T03:04:05Z orders (postgres)\n";

describe("a recording of statements", () => {
  test("shows each statement with its account, parameters and result", () => {
    const shown = textOf(
      { number: 1, time: 0.5, kind: "execute", text: "select *\r\nfrom t where id = $1", parameters: ["7", null, "a\u001b[2J\n'"], count: 70 },
      { number: 1, time: 0.502, outcome: "ok", rows: 1, tag: "SELECT 1" },
      { number: 2, time: 3725.25, text: "drop table x", bytes: 99 },
      { number: 2, time: 3727.25, outcome: "failed", code: "42P01", message: 'table "x" does not exist' },
    );
    expect(shown).toBe(
      [
        "2026-01-02T03:04:05Z orders (postgres)",
        "0:00.500   #1 reader@orders/shop> select *",
        "           from t where id = $1",
        `           parameters: "7", NULL, "a\\u001b[2J\\n'", … (70 in all)`,
        "           1 row (2 ms)",
        "1:02:05.250#2 reader@orders/shop> drop table x",
        "           (99 bytes in all)",
        '           error 42P01: table "x" does not exist (2 s)',
        "",
      ].join("\n"),
    );
  });

  test.for<[result: Partial<StatementEnd>, text: string]>([
    [{ outcome: "ok" }, "ok"],
    [{ outcome: "ok", tag: "CREATE TABLE" }, "CREATE TABLE"],
    [{ outcome: "ok", rows: 0 }, "0 rows"],
    [{ outcome: "ok", rows: 2, affected: 1, tag: "INSERT 0 1; SELECT 2" }, "INSERT 0 1; SELECT 2, 2 rows, 1 row written"],
    [{ outcome: "failed", rows: 5, message: "canceled" }, "5 rows, then error: canceled"],
    [{ outcome: "refused", message: "COM_CLONE is refused" }, "refused: COM_CLONE is refused"],
    [{ outcome: "skipped" }, "skipped, as one before it had failed"],
    [{ outcome: "unknown" }, "outcome not known"],
  ])("the result %j is shown as %s", ([result, text]) => {
    expect(textOf({}, { outcome: "ok", ...result })).toBe(`${first}0:00.000   #1 reader@orders/shop> select 1\n           ${text} (0 ms)\n`);
  });

  test("results name their statement where another one stands between; the last have none", () => {
    const shown = textOf(
      { number: 1 },
      { number: 2, text: "" },
      { number: 1, time: 1, outcome: "ok" },
      { number: 3, kind: "call", text: "function 954" },
    );
    expect(shown.split("\n").slice(2)).toEqual([
      "0:00.000   #2 reader@orders/shop> (text not known)",
      "0:01.000   #1: ok (1 s)",
      "0:00.000   #3 reader@orders/shop> (call) function 954",
      "           #2: no answer in this recording",
      "           #3: no answer in this recording",
      "",
    ]);
  });

  test("a prepared statement is shown when it failed or had no answer", () => {
    const prepare = (number: number): Line => ({ number, kind: "prepare", text: "selec" });
    const shown = textOf(prepare(1), { number: 1, outcome: "ok" }, prepare(2), { number: 2, outcome: "failed", message: "no" }, prepare(3));
    expect(shown).toBe(
      `${first}0:00.000   #2 reader@orders/shop> (prepare) selec\n           error: no (0 ms)\n` +
        "0:00.000   #3 reader@orders/shop> (prepare) selec\n           #3: no answer in this recording\n",
    );
  });

  test("is played at its own times, which never decrease, and has a length", () => {
    const tape = tapeOf([{ time: 1 }, { time: 0.5, outcome: "ok" }, { number: 2, time: 4 }]);
    expect([tape.length, tape.damages]).toEqual([4, 0]);
    expect([...tape.events()].map(({ time }) => time)).toEqual([0, 1, 1, 4, 4]);
  });

  test("is printed for programs: each statement with its result", () => {
    const tape = tapeOf([
      { number: 1, time: 1, parameters: [null] },
      { number: 2 },
      { number: 1, time: 1.25, outcome: "ok", rows: 3 },
      { number: 9, outcome: "ok" },
    ]);
    expect([...tape.statements()]).toEqual([
      { number: 1, time: 1, kind: "query", text: "select 1", parameters: [null], duration: 0.25, outcome: "ok", rows: 3 },
      { number: 2, time: 0, kind: "query", text: "select 1" },
    ]);
    const again = openStatements(Buffer.from([...tape.content()].join("")), "again");
    expect([...again.content()]).toEqual([...tape.content()]);
  });

  test("of any texts has no character that controls a terminal", () => {
    const any = fc.string({ unit: anyCharacter });
    fc.assert(
      fc.property(any, any, any, (one, two, name) => {
        const tape = tapeOf([{ text: one, parameters: [two] }, { outcome: "failed", message: two, code: one, tag: two }, { text: two }], { name });
        const shown = [...tape.events()].map(({ data }) => data).join("");
        // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what this looks for
        expect(shown).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
        expect(shown.isWellFormed()).toBe(true);
      }),
    );
  });

  test("a file without any of it is refused", () => {
    expect(() => openStatements(Buffer.from("hello\n"), "x.txt")).toThrow(
      expect.objectContaining({ code: "invalid", message: "x.txt contains no recording of statements" }),
    );
  });
});
