import { expect, test } from "vitest";
import { LastAgents } from "./last-agents.ts";

const alice = { name: "alice" };
const bob = { name: "bob" };
const asked = (target: string, user: string) => ({ kind: "db", target, parameters: { user, name: "", host: "", at: "" } }) as const;
const shop = asked("shop", "reader");

test("the host of the last connection is remembered for each user, database and account", () => {
  const last = new LastAgents();
  expect(last.of(alice, shop)).toBeUndefined();
  last.used(alice, shop, "a");
  last.used(bob, shop, "b");
  last.used(alice, asked("shop reader", ""), "c");
  expect([last.of(alice, shop), last.of(bob, shop), last.of(alice, asked("shop", "writer"))]).toEqual(["a", "b", undefined]);
  last.used(alice, shop, "d");
  expect(last.of(alice, shop)).toBe("d");
});

test("a host that has failed is forgotten, unless another one was used since", () => {
  const last = new LastAgents();
  last.used(alice, shop, "a");
  last.used(bob, shop, "a");
  last.failed(alice, shop, "b");
  expect(last.of(alice, shop)).toBe("a");
  last.failed(alice, shop, "a");
  expect([last.of(alice, shop), last.of(bob, shop)]).toEqual([undefined, "a"]);
});

test("of too many accounts those are forgotten that have not connected for the longest time", () => {
  const last = new LastAgents();
  for (let account = 0; account < 10_000; account += 1) last.used(alice, asked("shop", String(account)), "a");
  last.used(alice, asked("shop", "0"), "b");
  last.used(alice, shop, "a");
  expect(["0", "1", "2", "reader"].map((account) => last.of(alice, asked("shop", account)))).toEqual(["b", undefined, "a", "a"]);
});
