import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { type ClusterProxy, maxAgentProxies } from "../core/resources/proxy.ts";
import { chooseProxies } from "./choose-proxies.ts";

const proxies = (count: number): ClusterProxy[] =>
  Array.from({ length: count }, (_, at) => ({ id: randomUUID(), name: `p${at}`, addr: `p${at}.example.com:443`, since: "2026-01-01T00:00:00Z" }));

test("up to the limit, all proxies are chosen", () => {
  const all = proxies(maxAgentProxies);
  expect(chooseProxies(all, "host")).toEqual(all);
});

test("above the limit, as many as the limit; a proxy that goes away changes one slot, and hosts spread evenly", () => {
  const all = proxies(20);
  const chosen = chooseProxies(all, "host");
  expect(chosen).toHaveLength(maxAgentProxies);
  const left = all.filter(({ id }) => id !== chosen[3]?.id);
  const then = chooseProxies(left, "host");
  expect(then.filter((proxy) => !chosen.includes(proxy))).toHaveLength(1);
  const counts = Map.groupBy(Array.from({ length: 500 }, (_, at) => chooseProxies(all, `host-${at}`)).flat(), ({ id }) => id);
  for (const { id } of all) expect(counts.get(id)?.length).toBeGreaterThan(330);
});
