import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, test } from "vitest";
import { auditCodes } from "../../core/audit/audit-events.ts";

test("docs/audit.md lists every event that can be recorded, with its codes", () => {
  const page = readFileSync(resolve(import.meta.dirname, "../../docs/audit.md"), "utf8");
  const rows = [...page.matchAll(/^\| `([\w.]+)` \| ([A-Z0-9, ]+) \| \S/gm)].map(
    ([, name = "", codes = ""]) => [name, codes.split(", ").sort()] as const,
  );
  expect(Object.fromEntries(rows)).toEqual(Object.fromEntries(auditCodes().map(([name, codes]) => [name, [...codes].sort()])));
});

test("no event stands in two areas", () => {
  const names = auditCodes().map(([name]) => name);
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});

test("every code has its form, and no two events share one", () => {
  const all = auditCodes().flatMap(([, codes]) => codes);
  expect(all.filter((code) => !/^T[A-Z]{0,3}\d{2,4}[IWE]$/.test(code))).toEqual([]);
  expect(all.filter((code, index) => all.indexOf(code) !== index)).toEqual([]);
});
