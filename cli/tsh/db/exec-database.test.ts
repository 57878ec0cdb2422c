import { mkdir, mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Options } from "../../command.ts";
import { memoryIo } from "../../memory-io.ts";
import { chooseDatabases, saveSummary, summarize } from "./exec-database.ts";

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

const well = { isInterrupted: false, lost: undefined };
const failure = (code: string) => Object.assign(new Error(`${code}: write`), { code });
const outcome = (name: string, status: number, error?: string) => ({ name, protocol: "postgres", status, ...(error !== undefined && { error }) });

test("the summary: the highest status, the failed ones with their reasons, and those that were not started", () => {
  const outcomes = [outcome("a", 0), outcome("b", 2), outcome("c", 4, "access denied")];
  expect(summarize({ outcomes, ...well }, 3)).toEqual({
    status: 4,
    data: { total: 3, succeeded: 1, failed: 2, databases: outcomes },
    lines: ["2 of 3 databases failed:", "  b: exit status 2", "  c: access denied"],
  });
  expect(summarize({ outcomes: [outcome("a", 0)], ...well }, 1)).toMatchObject({ status: 0, lines: [] });
  expect(summarize({ outcomes: [outcome("a", 0)], ...well, isInterrupted: true }, 3)).toMatchObject({
    status: 130,
    lines: ["0 of 3 databases failed; 2 not started:"],
  });
  expect(summarize({ outcomes: [outcome("a", 1)], ...well, lost: failure("EPIPE") }, 3)).toMatchObject({ status: 141, lines: [] });
});

test("printed output that was lost is a failure in words", () => {
  expect(summarize({ outcomes: [outcome("a", 0)], ...well, lost: failure("ENOSPC") }, 1)).toMatchObject({
    status: 9,
    lines: ["could not write to standard output: ENOSPC: write"],
  });
});

test("where the summary cannot be written, the outcomes are printed, and where the statements did run", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "platform-exec-"));
  await mkdir(join(folder.path, "summary.json"));
  const io = memoryIo();
  const summary = summarize({ outcomes: [outcome("a", 0), outcome("b", 0), outcome("c", 2)], ...well }, 3);
  await expect(saveSummary(io, folder.path, summary)).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringContaining("could not write"),
    hint: `the statements did run at a, b; the output that could be saved is in ${folder.path}`,
  });
  expect(io.err()).toBe("1 of 3 databases failed:\n  c: exit status 2\n");
});

test("a thousand failures do not fill the screen", () => {
  const outcomes = Array.from({ length: 1000 }, (_, n) => outcome(`db-${n}`, 1));
  const { lines } = summarize({ outcomes, ...well }, 1000);
  expect(lines).toHaveLength(102);
  expect(lines.at(-1)).toBe("  … and 900 more");
});
