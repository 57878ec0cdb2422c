import { expect, test } from "vitest";
import { joinFacts, joinHost, openTestAuth } from "../../../test/inside/open-auth.ts";

test("resources that a connected host offers are listed with their labels and hosts, also over the network", async () => {
  await using t = await openTestAuth();
  const { secret } = await t.admin.createToken({ roles: ["node", "app"] });
  const { hostId } = await t.connect().join(joinFacts("node", secret, { hostname: "apps-1", services: ["app"] }));
  const proxy = await joinHost(t, "p1", { role: "proxy" });
  await proxy.client.reportNode({ hostId, hostname: "apps-1", services: ["app"], version: "1.0.0", connected: true });
  const orders = { kind: "app", name: "orders", labels: { env: "test" } };
  await proxy.client.reportOffered({ hostId, offered: [orders] });
  expect((await t.admin.listOffered({})).resources).toMatchObject([{ ...orders, hostIds: [hostId] }]);
  const many = Array.from({ length: 2001 }, (_, n) => ({ ...orders, name: `app-${n}` }));
  await expect(proxy.client.reportOffered({ hostId, offered: many })).rejects.toMatchObject({ code: "limit" });
  await expect(proxy.client.reportOffered({ hostId, offered: [{ ...orders, name: "" }] })).rejects.toMatchObject({ code: "invalid" });
});
