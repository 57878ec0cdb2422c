import { expect, test } from "vitest";
import type { Options } from "../../command.ts";
import { chooseDatabases, summarize } from "./exec-database.ts";

const listed = [
  { name: "shop", labels: { env: "prod" }, details: { protocol: "mysql" }, hosts: ["a"] },
  { name: "orders", labels: { env: "prod", team: "db" }, details: { protocol: "postgres" }, hosts: ["a"] },
  { name: "orders", labels: { env: "prod", zone: "b" }, details: { protocol: "postgres" }, hosts: ["b"] },
  { name: "cache", labels: { env: "prod" }, details: { protocol: "redis" }, hosts: ["a"] },
];
const options = (lists: Readonly<Record<string, readonly string[]>>): Pick<Options, "list"> => ({ list: (name) => lists[name] ?? [] });

test("databases by name, in the given order and each once; by labels, by name", () => {
  const [orders, shop] = [
    { name: "orders", protocol: "postgres" },
    { name: "shop", protocol: "mysql" },
  ];
  expect(chooseDatabases(listed, options({ dbs: ["shop", "ord", "orders"] }))).toEqual({ chosen: [shop, orders], skipped: [] });
  expect(chooseDatabases(listed, options({ labels: ["env=prod"] }))).toEqual({ chosen: [orders, shop], skipped: ["cache"] });
  expect(chooseDatabases(listed, options({ labels: ["env=prod", "team=db"] }))).toEqual({ chosen: [orders], skipped: [] });
  expect(() => chooseDatabases(listed, options({ labels: ["env=test"] }))).toThrow(expect.objectContaining({ code: "not_found" }));
});

const outcome = (name: string, status: number, error?: string) => ({ name, protocol: "postgres", status, ...(error !== undefined && { error }) });

test("the summary: the highest status, the failed ones with their reasons, and those that were not started", () => {
  const outcomes = [outcome("a", 0), outcome("b", 2), outcome("c", 4, "access denied")];
  expect(summarize({ outcomes, stopped: undefined }, 3)).toEqual({
    status: 4,
    data: { total: 3, succeeded: 1, failed: 2, databases: outcomes },
    lines: ["2 of 3 databases failed:", "  b: exit status 2", "  c: access denied"],
  });
  expect(summarize({ outcomes: [outcome("a", 0)], stopped: undefined }, 1)).toMatchObject({ status: 0, lines: [] });
  expect(summarize({ outcomes: [outcome("a", 0)], stopped: "interrupt" }, 3)).toMatchObject({
    status: 130,
    lines: ["0 of 3 databases failed; 2 not started:"],
  });
  expect(summarize({ outcomes: [outcome("a", 1)], stopped: "reader" }, 3)).toMatchObject({ status: 141, lines: [] });
});

test("a thousand failures do not fill the screen", () => {
  const outcomes = Array.from({ length: 1000 }, (_, n) => outcome(`db-${n}`, 1));
  const { lines } = summarize({ outcomes, stopped: undefined }, 1000);
  expect(lines).toHaveLength(102);
  expect(lines.at(-1)).toBe("  … and 900 more");
});
