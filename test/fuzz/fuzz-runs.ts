import fc, { type RunDetails } from "fast-check";
import { expect } from "vitest";

/*
 * Loaded before unit tests. `make fuzz` sets how often each property is tried; one that needs longer than the limit ends there and
 * prints how far it came.
 */

const limitMs = 300_000;
const runs = Number(process.env.FUZZ_RUNS ?? 0);
if (runs > 0) fc.configureGlobal({ numRuns: runs, interruptAfterTimeLimit: limitMs, reporter: report });

function report<T>(details: RunDetails<T>): void {
  if (details.failed) throw new Error(fc.defaultReportMessage(details), { cause: details.errorInstance });
  if (details.interrupted) process.stdout.write(`${details.numRuns} runs in ${limitMs / 1000} s: ${expect.getState().currentTestName}\n`);
}
