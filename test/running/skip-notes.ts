import type { Reporter, TestCase } from "vitest/node";

declare module "vitest" {
  interface TaskMeta {
    /** Why it was skipped: the note of `skip(note)`. */
    skipNote?: string;
  }
}

/** Reporter: gives the JSON report the reasons for which tests skipped themselves, which `scripts/test-summary.ts` lists. */
export class SkipNotes implements Reporter {
  onTestCaseResult(test: TestCase): void {
    const result = test.result();
    if (result.state === "skipped" && result.note !== undefined) test.meta().skipNote = result.note;
  }
}
