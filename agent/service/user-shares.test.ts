import { expect, test } from "vitest";
import { UserShares } from "./user-shares.ts";

test("one user has at most 500 connections to this host, and another one still gets in", () => {
  const shares = new UserShares();
  const releases = Array.from({ length: 500 }, () => shares.take("greedy"));
  expect(() => shares.take("greedy")).toThrow(expect.objectContaining({ code: "limit" }));
  shares.take("other");
  releases[0]?.();
  shares.take("greedy");
  expect(() => shares.take("greedy")).toThrow(expect.objectContaining({ code: "limit" }));
});
