import { expect, test, vi } from "vitest";
import { createLog } from "../log/log.ts";
import { releaseMemory } from "./release-memory.ts";

function logged() {
  const lines: string[] = [];
  return { lines, log: createLog({ level: "debug", format: "text", write: (line) => void lines.push(line) }) };
}

test("the addon is called", () => {
  const { lines, log } = logged();
  const release = vi.fn<() => void>();
  releaseMemory(log, () => ({ release }));
  expect(release).toHaveBeenCalledOnce();
  expect(lines).toEqual([]);
});

test("without the addon it does nothing", () => {
  const { lines, log } = logged();
  releaseMemory(log);
  expect(lines).toEqual([]);
});

test("an addon that cannot be loaded is a debug line", () => {
  const { lines, log } = logged();
  releaseMemory(log, () => {
    throw new Error("no folder for it");
  });
  expect(lines.join("")).toContain("no folder for it");
});
