import { expect, test } from "vitest";
import { openTestAuth } from "../../../test/inside/open-auth.ts";

const ask = (connectionId: string, maximum = 2) => ({ user: "alice", connectionId, maximum });

test("a limit holds over restarts and between calls at once, is each user's own, and frees what is given back or expires", async () => {
  await using t = await openTestAuth();
  const all = await Promise.allSettled(["1", "2", "3", "4", "5"].map((id) => t.admin.holdConnection(ask(id))));
  expect(all.map(({ status }) => status).sort()).toEqual(["fulfilled", "fulfilled", "rejected", "rejected", "rejected"]);
  await t.restart();
  await expect(t.admin.holdConnection(ask("9"))).rejects.toMatchObject({ code: "limit", message: expect.stringContaining("max_connections") });
  await t.admin.holdConnection({ ...ask("9"), user: "bob" });
  const held = all.findIndex(({ status }) => status === "fulfilled");
  await t.admin.releaseConnection({ user: "alice", connectionId: String(held + 1) });
  await t.admin.holdConnection(ask("6"));
  t.forward(30_000);
  await t.admin.holdConnection(ask("6"));
  t.forward(31_000);
  await t.admin.holdConnection(ask("7"));
  await expect(t.admin.holdConnection(ask("8"))).rejects.toMatchObject({ code: "limit" });
});

test.for([ask("", 1), ask("1", 0), { ...ask("1"), user: "" }, ask("x".repeat(65))])("%j is refused as invalid", async (wrong) => {
  await using t = await openTestAuth();
  await expect(t.admin.holdConnection(wrong)).rejects.toMatchObject({ code: "invalid" });
});
