import fc from "fast-check";
import { expect, test } from "vitest";
import { findVersionLock, parseRows } from "./yum.ts";

test("rows of the repository are read, with the empty lines of dnf 4 between them", () => {
  const text = "platform-ent|1.0.0|306789|300020\n\nplatform-ent|1.2.0~rc.1|306792|300020\n\nplatform-ent-updater|9|1|1\n";
  expect(parseRows(text, "platform-ent")).toEqual([
    { version: "1.0.0", fetch: 306_789, unpack: 300_020 },
    { version: "1.2.0~rc.1", fetch: 306_792, unpack: 300_020 },
  ]);
});

test.for([
  ["platform-ent-0:1.0.0-1.*", true],
  ["platform-ent-1.0.*", true],
  ["platform-ent-*", true],
  ["platform-*", true],
  ["platform*", true],
  ["platform-ent", true],
  ["platform-ent-updater-0:1.0.0-1.*", false],
  ["!platform-ent-0:1.2.0-1.*", false],
  ["bash-0:5.2-1.*", false],
  ["", false],
] as const)("the version lock %j holds platform-ent: %s", ([line, holds]) => {
  expect(findVersionLock(`kernel-0:5.14-1.*\n${line}\n`, "platform-ent")).toBe(holds ? line : undefined);
});

test("any text is read without harm", () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      parseRows(text, "platform-ent");
      findVersionLock(text, "platform-ent");
    }),
  );
});
