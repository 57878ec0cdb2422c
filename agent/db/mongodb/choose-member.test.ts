import { expect, test } from "vitest";
import { Candidates, knownMembers, memberWish, suitability } from "./choose-member.ts";
import type { MemberFacts } from "./hello.ts";

const facts = (more: Partial<MemberFacts>): MemberFacts => ({
  ok: true,
  setName: "rs0",
  isPrimary: false,
  isSecondary: false,
  primary: undefined,
  hosts: [],
  ...more,
});
const wish = (text: string) => memberWish(new Map(new URLSearchParams(text)));

test.for([
  ["", "use", "no"],
  ["readPreference=primary", "use", "no"],
  ["readPreference=primaryPreferred", "use", "fallback"],
  ["readPreference=secondary", "no", "use"],
  ["readPreference=secondaryPreferred", "fallback", "use"],
  ["readpreference=nearest", "use", "use"],
  ["replicaSet=rs0", "use", "no"],
  ["replicaSet=rs1", "no", "no"],
] as const)("with %s the primary is %s, a secondary %s", ([options, primary, secondary]) => {
  expect(suitability(facts({ isPrimary: true }), wish(options))).toBe(primary);
  expect(suitability(facts({ isSecondary: true }), wish(options))).toBe(secondary);
  expect(suitability(facts({}), wish(options))).toBe("no");
});

test("a server outside any set is used unless a set is asked for", () => {
  expect([wish(""), wish("replicaSet=rs0")].map((one) => suitability(facts({ setName: undefined }), one))).toEqual(["use", "no"]);
});

test("an unknown preference is refused", () => {
  expect(() => wish("readPreference=best")).toThrow(expect.objectContaining({ code: "invalid" }));
});

test("the members that a member knows come next, the primary first, each once", () => {
  const known = knownMembers(facts({ primary: "b:1", hosts: ["a:1", "b:1", "[::1]:2", "not an address"] }), wish(""));
  const candidates = new Candidates([
    { host: "a", port: 1 },
    { host: "seed", port: 1 },
  ]);
  expect(candidates.next()).toEqual({ host: "a", port: 1 });
  candidates.add(known);
  expect([candidates.next(), candidates.next(), candidates.next(), candidates.next()]).toEqual([
    { host: "b", port: 1 },
    { host: "::1", port: 2 },
    { host: "seed", port: 1 },
    undefined,
  ]);
});
