import { readFileSync } from "node:fs";

/*
 * The closing line of `make test`: `N passed, N failed`, with `, N skipped` when some were, summed over the reports of
 * vitest that are named. A report that is missing or empty is a failure: tests that did not run have not passed.
 */

interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  readonly numFailedTestSuites: number;
  readonly success: boolean;
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
}
process.stdout.write(`${sum.passed} passed, ${sum.failed} failed${sum.skipped > 0 ? `, ${sum.skipped} skipped` : ""}\n`);
process.exitCode = sum.failed === 0 && sum.passed > 0 ? 0 : 1;

function read(file: string): Report | undefined {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as Report;
  } catch {
    return undefined;
  }
}
