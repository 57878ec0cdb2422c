import { expect, test } from "vitest";
import { createLog } from "../../core/log/log.ts";
import { lastError } from "./look-at-service.ts";

test.for(["text", "json"] as const)("the last error of a log in %s is found", (format) => {
  const lines: string[] = [];
  const log = createLog({ level: "info", format, write: (line) => lines.push(line) });
  log.error("an older one");
  log.error("ended by a fault", { reason: "no room" });
  log.info("stopped");
  expect(lastError(lines.join(""))).toContain("ended by a fault");
});

test("so is what a program prints before it ends; a log without any has none", () => {
  expect(lastError("x\nERROR: joining failed: the join token is not known\nmake one\nplatform.service: Failed\n")).toBe(
    "joining failed: the join token is not known",
  );
  expect([lastError(""), lastError("2026 INFO the word ERROR inside\n")]).toEqual([undefined, undefined]);
});
