import { join } from "node:path";
import { expect, test } from "vitest";
import { joinHost, openTestAuth } from "../../../test/inside/open-auth.ts";
import { openSqlite } from "../../storage/sqlite.ts";
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

test("a record of a host that cannot be read keeps no agent from its answer: how to spread is left to it", async () => {
  await using t = await openTestAuth();
  const { client } = await joinHost(t, "web-1");
  const storage = openSqlite({ path: join(t.dataDir, "auth", "state.sqlite") });
  await storage.put({ key: "/node/broken", value: "{}" });
  await storage.close();
  expect(await client.getAccess({})).toMatchObject({ renewalSpreadSeconds: 0, rolesJson: expect.any(Array) });
});
