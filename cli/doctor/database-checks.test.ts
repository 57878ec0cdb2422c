import { expect, test } from "vitest";
import { judgeDatabases } from "./database-checks.ts";

test("databases that answer are said to, and those of the cluster are left to the running agent", () => {
  expect(judgeDatabases([{ name: "orders" }], false)).toEqual({ says: "database orders answers, with a certificate that its tls settings accept" });
  expect(judgeDatabases([{ name: "orders" }, { name: "shop" }], true).says).toMatch(/^all 2 databases answer, .*; those of the cluster: tctl db ls$/);
  expect(judgeDatabases([], true).says).toMatch(/^the configuration names no databases of this host's own; those of the cluster/);
});

test("each database that cannot be used is named with its reason, up to ten of them", () => {
  const one = [{ name: "orders" }, { name: "shop", fault: "could not connect to db:3306: connection refused" }];
  expect(() => judgeDatabases(one, false)).toThrow(
    expect.objectContaining({
      code: "unavailable",
      message: "1 of 2 databases cannot be used: shop: could not connect to db:3306: connection refused",
      hint: expect.stringContaining("tctl auth sign"),
    }),
  );
  const many = Array.from({ length: 12 }, (_, index) => ({ name: `db-${index}`, fault: "gone" }));
  expect(() => judgeDatabases(many, false)).toThrow(/^12 of 12 .*db-9: gone; and 2 more$/);
});
