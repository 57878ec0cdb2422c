import { expect, test } from "vitest";
import { databaseLines } from "./database-lines.ts";

test.for<[accounts: string[], account: string]>([
  [["reader"], "reader"],
  [["a b"], "'a b'"],
  [["*"], "<account>"],
  [["reader", "writer"], "<account>"],
  [[], "<account>"],
])("accounts %j are written as %s", ([accounts, account]) => {
  expect(databaseLines({ name: "orders", accounts }, "p.test:443", "ann")).toEqual({
    login: "tsh login --proxy=p.test:443 --user=ann",
    connect: `tsh db connect orders --db-user=${account}`,
    local: `tsh proxy db orders --db-user=${account}`,
  });
});
