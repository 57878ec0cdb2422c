import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyCharacter } from "../../../test/fuzz/any-character.ts";
import { putSections, removeSections } from "./ini-sections.ts";

const own = { name: "test-orders", lines: ["host=127.0.0.1", "port=21000"] };
const block = "[test-orders]\nhost=127.0.0.1\nport=21000\n";

describe("a section of ours", () => {
  test.for([
    ["", block],
    ["[mine]\nhost=db\n", `[mine]\nhost=db\n${block}`],
    ["[mine]\nhost=db", `[mine]\nhost=db\n${block}`],
    ["[a]\r\nx=1\r\n[test-orders]\nport=1\n# above b\n[b]\ny=2", "[a]\r\nx=1\r\n[test-orders]\nhost=127.0.0.1\nport=21000\n# above b\n[b]\ny=2"],
    ["[test-orders]\nport=1", block],
    ["[test-orders]\nport=1\n[z]\n[test-orders]\nport=2\n", `${block}[z]\n`],
    ["[test-orders]\nport=1\n\n!includedir /etc/mysql\n", `${block}\n!includedir /etc/mysql\n`],
    ["[Test-orders]\nport=1\n", `[Test-orders]\nport=1\n${block}`],
  ] as const)("%j", ([before, after]) => {
    expect(putSections(before, [own])).toBe(after);
  });

  test("is removed with its keys, and leaves comments", () => {
    expect(removeSections("[a]\nx=1\n[test-orders]\nport=1\n# mine\n[b]\n", [own.name])).toBe("[a]\nx=1\n# mine\n[b]\n");
    expect(removeSections("[a]\nx=1\n", [own.name])).toBe("[a]\nx=1\n");
  });

  test("holds text beyond ASCII as UTF-8", () => {
    const text = putSections("", [{ name: "x", lines: ["user=jörg"] }]);
    expect(Buffer.from(text, "latin1").toString("utf8")).toBe("[x]\nuser=jörg\n");
  });
});

/** Lines as people and programs leave them, of any bytes. */
const foreignLine = fc.oneof(
  fc.constantFrom(
    "[client]",
    " [mysqld] ",
    "[test-orders2]",
    "[test-order",
    "[]",
    "# x",
    "; y",
    "",
    "!include /x",
    "key=value",
    "\tport = 1",
    "password",
  ),
  fc
    .string({ unit: fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)), maxLength: 12 })
    .map((line) => line.replaceAll("\n", "")),
);
const end = fc.constantFrom("\n", "\r\n");
const foreign = fc
  .array(fc.tuple(foreignLine, end), { maxLength: 12 })
  .map((lines) => lines.map((line) => line.join("")).join(""))
  .filter((text) => !text.includes("[test-orders]"));
const ownText = fc.constantFrom(block, "[test-orders]\n", "[test-orders]\r\nport=1\r\nuser=x\r\n", " [test-orders]\nservice=1\n");

describe("every other byte", () => {
  test("stays when a section is added and removed", () => {
    fc.assert(
      fc.property(foreign, (text) => {
        const added = putSections(text, [own, { name: "other", lines: ["a=b"] }]);
        expect(added.startsWith(text)).toBe(true);
        if (!text.includes("[other]")) expect(removeSections(added, [own.name, "other"])).toBe(text);
      }),
    );
  });

  test("stays when a section between others is replaced and removed", () => {
    const headed = fc.tuple(foreign, ownText, foreign).map(([before, mine, after]) => [before, mine, `[next]\n${after}`] as const);
    fc.assert(
      fc.property(headed, ([before, mine, after]) => {
        expect(putSections(before + mine + after, [own])).toBe(before + block + after);
        expect(removeSections(before + mine + after, [own.name])).toBe(before + after);
      }),
    );
  });

  test("stays when the same is written again, whatever the file holds", () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter, maxLength: 60 }), (any) => {
        const once = putSections(any, [own]);
        expect(putSections(once, [own])).toBe(once);
      }),
    );
  });
});
