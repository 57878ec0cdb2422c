import { expect, test } from "vitest";
import type { StatementResult } from "../../../core/recording/statements.ts";
import { type Answered, maxTags, statementResult } from "./statement-result.ts";

const failure = { severity: "ERROR", state: "22012", message: "division by zero" };

test.for<[answered: Partial<Answered>, result: StatementResult]>([
  [{}, { outcome: "ok" }],
  [
    { tags: ["SELECT 5"], rows: 5 },
    { outcome: "ok", rows: 5, tag: "SELECT 5" },
  ],
  [{ tags: ["SELECT 0"] }, { outcome: "ok", rows: 0, tag: "SELECT 0" }],
  // CREATE TABLE AS returns no rows.
  [{ tags: ["SELECT 5"] }, { outcome: "ok", tag: "SELECT 5" }],
  [{ tags: ["INSERT 0 2"] }, { outcome: "ok", affected: 2, tag: "INSERT 0 2" }],
  [
    { tags: ["UPDATE 2"], rows: 2 },
    { outcome: "ok", rows: 2, affected: 2, tag: "UPDATE 2" },
  ],
  [{ tags: ["DELETE 1", "MERGE 2", "COPY 7"] }, { outcome: "ok", affected: 3, tag: "DELETE 1; MERGE 2; COPY 7" }],
  [
    { tags: ["SELECT 1"], rows: 3, failure },
    { outcome: "failed", rows: 3, tag: "SELECT 1", code: "22012", message: "division by zero" },
  ],
])("%j is %j", ([answered, result]) => {
  expect(statementResult({ tags: [], rows: 0, failure: undefined, ...answered })).toEqual(result);
});

test("of more tags than are kept no sum is stated", () => {
  const tags = Array.from({ length: maxTags }, () => "UPDATE 1");
  expect(statementResult({ tags, rows: 0, failure: undefined })).not.toHaveProperty("affected");
});
