import { expect, test } from "vitest";
import type { AgentBefore } from "../state/parse-state.ts";
import { type Fault, judge } from "./service.ts";

const rows: readonly (readonly [fault: Fault | "none", before: AgentBefore, up: ReturnType<typeof judge>, down: ReturnType<typeof judge>])[] = [
  ["none", "ready", "keep", "keep"],
  ["none", "stopped", "keep", "keep"],
  ["process", "ready", "bad", "bad"],
  ["process", "answering", "bad", "bad"],
  ["process", "silent", "keep", "keep"],
  ["process", "stopped", "keep", "keep"],
  ["refused", "ready", "bad", "wait"],
  ["refused", "answering", "bad", "wait"],
  ["refused", "silent", "keep", "keep"],
  ["tunnel", "ready", "bad", "wait"],
  ["tunnel", "answering", "keep", "keep"],
  ["tunnel", "silent", "keep", "keep"],
  ["tunnel", "stopped", "keep", "keep"],
];

test.for(rows)("fault %s, %s before: %s with a network, %s without", ([fault, before, up, down]) => {
  const result = fault === "none" ? ({ healthy: true } as const) : ({ healthy: false, why: "x", fault, refusesConfiguration: false } as const);
  expect([judge(result, before, true), judge(result, before, false)]).toEqual([up, down]);
});
