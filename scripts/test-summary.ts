import { readFileSync } from "node:fs";
import { relative, resolve } from "node:path";
import { stripVTControlCharacters } from "node:util";

/*
 * The closing line of `make test`: `N passed, N failed`, with `, N skipped` when some were, summed over the reports of
 * vitest that are named. A report that is missing or empty is a failure: tests that did not run have not passed. Before it, each
 * reason for which tests were skipped, with their number, and each test that failed, with the beginning of its error: a reader with only the end of
 * a log must find it there.
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
  readonly assertionResults: readonly TestResult[];
}

interface TestResult {
  readonly fullName: string;
  readonly title: string;
  readonly ancestorTitles: readonly string[];
  readonly status: string;
  readonly failureMessages: readonly string[];
  readonly meta?: { readonly skipNote?: string };
}

const sum = { passed: 0, failed: 0, skipped: 0 };
const skipped = new Map<string, number>();
const failed: string[] = [];
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
  failed.push(...report.testResults.flatMap(failures));
  for (const reason of report.testResults.flatMap(skips)) skipped.set(reason, (skipped.get(reason) ?? 0) + 1);
}
for (const [reason, count] of skipped) process.stdout.write(`skipped ${count}: ${reason}\n`);
for (const text of failed) process.stdout.write(text);
process.stdout.write(`${sum.passed} passed, ${sum.failed} failed${sum.skipped > 0 ? `, ${sum.skipped} skipped` : ""}\n`);
process.exitCode = sum.failed === 0 && sum.passed > 0 ? 0 : 1;

function failures({ name, status, message, assertionResults }: FileResult): string[] {
  const path = relative(root, name);
  const tests = assertionResults.filter((test) => test.status === "failed");
  if (tests.length === 0 && status === "failed") return [failure(path, message)];
  return tests.map(({ fullName, failureMessages }) => failure(`${path}: ${fullName}`, failureMessages.join("\n")));
}

/** Of each test that was skipped: its note, the reason in a title, or only where it is. */
function skips({ name, assertionResults }: FileResult): string[] {
  return assertionResults
    .filter(({ status }) => status !== "passed" && status !== "failed")
    .map(({ title, ancestorTitles, meta }) => {
      const inTitle = [title, ...ancestorTitles].map((text) => /\(skipped: (.+)\)$/.exec(text)?.[1]).find((reason) => reason !== undefined);
      return meta?.skipNote ?? inTitle ?? `${relative(root, name)} gives no reason`;
    });
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
