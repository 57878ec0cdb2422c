import { spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";

const script = resolve(import.meta.dirname, "test-summary.ts");

test("the closing lines are the reasons for what was skipped, what failed, and the sum", async () => {
  const dir = await mkdtemp(join(tmpdir(), "summary-"));
  const one = (status: string, more: object = {}) => ({ fullName: "a b", title: "b", ancestorTitles: ["a"], status, failureMessages: [], ...more });
  const assertionResults = [
    one("passed"),
    one("failed", { failureMessages: ["Error: 1 is not 2"] }),
    one("skipped", { meta: { skipNote: "no sid (here)" } }),
    one("skipped", { ancestorTitles: ["a (skipped: needs root (and a disk))"] }),
    one("skipped", { title: "c (skipped: needs root (and a disk))" }),
    one("pending"),
  ];
  const testResults = [{ name: resolve(script, "../../test/x.test.ts"), status: "failed", message: "", assertionResults }];
  const counts = { numPassedTests: 1, numFailedTests: 1, numPendingTests: 4, numTodoTests: 0, numFailedTestSuites: 1, success: false };
  const report = join(dir, "report.json");
  await writeFile(report, JSON.stringify({ ...counts, testResults }));
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, report], { encoding: "utf8" });
  await rm(dir, { recursive: true });
  expect({ status, stderr }).toEqual({ status: 1, stderr: "" });
  expect(stdout.trimEnd().split("\n")).toEqual([
    "skipped 1: no sid (here)",
    "skipped 2: needs root (and a disk)",
    "skipped 1: test/x.test.ts gives no reason",
    "FAILED test/x.test.ts: a b",
    "  Error: 1 is not 2",
    "1 passed, 1 failed, 4 skipped",
  ]);
});
