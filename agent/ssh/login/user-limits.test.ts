import { expect, test } from "vitest";
import { limitsOfConnection, requireShare } from "./user-limits.ts";

test("one user has at most 500 connections to this host, and another one still gets in", () => {
  const all = Array.from({ length: 500 }, () => {
    requireShare("greedy");
    return limitsOfConnection("greedy");
  });
  expect(() => requireShare("greedy")).toThrow(expect.objectContaining({ code: "limit" }));
  requireShare("other");
  all[0]?.end();
  requireShare("greedy");
  for (const { end } of all.slice(1)) end();
});
