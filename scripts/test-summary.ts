import { readFileSync } from "node:fs";
import { relative, resolve } from "node:path";
import { stripVTControlCharacters } from "node:util";

/*
 * The closing line of `make test`: `N passed, N failed`, with `, N skipped` when some were, summed over the reports of
 * vitest that are named. A report that is missing or empty is a failure: tests that did not run have not passed. Before it, each
 * test that failed, with the beginning of its error: a reader with only the end of a log must find it there.
 */

const root = resolve(import.meta.dirname, "..");
const linesOfError = 6;

interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  readonly numFailedTestSuites: number;
  readonly success: boolean;
  readonly testResults: readonly FileResult[];
}

interface FileResult {
  readonly name: string;
  readonly status: string;
  /** Why the file could not be loaded, or its hooks failed. */
  readonly message: string;
  readonly assertionResults: readonly { readonly fullName: string; readonly status: string; readonly failureMessages: readonly string[] }[];
}

const sum = { passed: 0, failed: 0, skipped: 0 };
for (const file of process.argv.slice(2)) {
  const report = read(file);
  if (report === undefined || report.numPassedTests + report.numFailedTests === 0) {
    process.stderr.write(`${file} holds no results\n`);
    sum.failed += 1;
    continue;
  }
  sum.passed += report.numPassedTests;
  // A file that could not be loaded has no tests to count.
  sum.failed += report.numFailedTests > 0 || report.success ? report.numFailedTests : Math.max(1, report.numFailedTestSuites);
  sum.skipped += report.numPendingTests + report.numTodoTests;
  for (const text of report.testResults.flatMap(failures)) process.stdout.write(text);
}
process.stdout.write(`${sum.passed} passed, ${sum.failed} failed${sum.skipped > 0 ? `, ${sum.skipped} skipped` : ""}\n`);
process.exitCode = sum.failed === 0 && sum.passed > 0 ? 0 : 1;

function failures({ name, status, message, assertionResults }: FileResult): string[] {
  const path = relative(root, name);
  const failed = assertionResults.filter((test) => test.status === "failed");
  if (failed.length === 0 && status === "failed") return [failure(path, message)];
  return failed.map(({ fullName, failureMessages }) => failure(`${path}: ${fullName}`, failureMessages.join("\n")));
}

function failure(what: string, error: string): string {
  const lines = stripVTControlCharacters(error).split("\n").slice(0, linesOfError);
  return [`FAILED ${what}`, ...lines.map((line) => `  ${line}`), ""].join("\n");
}

function read(file: string): Report | undefined {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as Report;
  } catch {
    return undefined;
  }
}
