import { expect, test } from "vitest";
import { joinHost, openTestAuth } from "../../../test/inside/open-auth.ts";
import { renewalSpread } from "./renewal-spread.ts";

test.for([
  { hosts: 10, spread: 15 },
  { hosts: 1_500, spread: 15 },
  { hosts: 10_000, spread: 100 },
  { hosts: 10_000, grace: 108_000, spread: 100 },
  { hosts: 10_000, grace: 300, spread: 50 },
  { hosts: 1, grace: 15, spread: 2 },
])("renewals of $hosts hosts take $spread s with a grace of $grace s", ({ hosts, grace, spread }) => {
  const state = grace === undefined ? ({ mode: "manual" } as const) : ({ mode: "automatic", grace_seconds: grace } as const);
  expect(renewalSpread(hosts, state)).toBe(spread);
});

test("the answer for an agent has the time, that for a proxy has none", async () => {
  await using t = await openTestAuth();
  const [agent, proxy] = [await joinHost(t, "web-1"), await joinHost(t, "p1", { role: "proxy" })];
  const times = await Promise.all([agent, proxy].map(async ({ client }) => (await client.getAccess({})).renewalSpreadSeconds));
  expect(times).toEqual([15, 0]);
});
