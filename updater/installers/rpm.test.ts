import { expect, test } from "vitest";
import { hasDamage, parseRpmEntries } from "./rpm.ts";

test("of two entries the one that was installed later comes last", () => {
  const text = `1795190000|1795190010|1.1.0|platform-ent-1.1.0-1.x86_64|300020
1795100000|1795100010|1.0.0|platform-ent-1.0.0-1.x86_64|300010
`;
  expect(parseRpmEntries(text)).toEqual([
    { version: "1.0.0", full: "platform-ent-1.0.0-1.x86_64", bytes: 300_010 },
    { version: "1.1.0", full: "platform-ent-1.1.0-1.x86_64", bytes: 300_020 },
  ]);
  expect(parseRpmEntries("")).toEqual([]);
});

test.for([
  ["S.5......    /usr/bin/platform", true],
  ["..5......    /usr/lib/platform/pty.node", true],
  ["missing     /usr/bin/platform", true],
  ["S.5......  c /etc/default/platform", false],
  ["missing   c /etc/default/platform", false],
  [".........  g /run/platform", false],
  ["", false],
] as const)("%j is damage: %s", ([line, damage]) => {
  expect(hasDamage(`${line}\n`)).toBe(damage);
});
