import { expect, test } from "vitest";
import type { ProxyState } from "../../../core/resources/proxy.ts";
import { proxyWarnings } from "./proxy-warnings.ts";

const now = Date.parse("2026-01-01T12:00:00Z");
const long = now - 3_600_000;
const state = (name: string, change: Partial<ProxyState> = {}): ProxyState => ({
  id: `id-${name}`,
  name,
  addr: `${name}:443`,
  since: new Date(long).toISOString(),
  connected: true,
  hosts: 1,
  ...change,
});
const host = (hostname: string, proxies: readonly string[], since = long) => ({ hostname, since, proxies: proxies.map((name) => `id-${name}`) });

test.for<[name: string, facts: Omit<Parameters<typeof proxyWarnings>[0], "now">, expected: readonly RegExp[]]>([
  ["one proxy, one host", { states: [state("a")], hosts: [host("web", ["a"])] }, []],
  [
    "a proxy is lost",
    { states: [state("a"), state("b", { connected: false })], hosts: [host("web", ["a"])] },
    [/^proxy b \(b:443\) is not connected/],
  ],
  [
    "a host misses one",
    { states: [state("a"), state("b")], hosts: [host("web", ["a"]), host("db", ["a", "b"])] },
    [/^1 host has no tunnel to proxy b .*: web;/],
  ],
  ["a proxy has just come", { states: [state("a"), state("b", { since: new Date(now - 5_000).toISOString() })], hosts: [host("web", ["a"])] }, []],
  ["a host has just come", { states: [state("a"), state("b")], hosts: [host("web", ["a"], now - 5_000)] }, []],
  [
    "many hosts",
    { states: [state("a"), state("b")], hosts: Array.from({ length: 7 }, (_, at) => host(`web-${at}`, ["a"])) },
    [/^7 hosts have .*: web-0, web-1, web-2, web-3, web-4 and 2 more;/],
  ],
  [
    "more proxies than an agent keeps tunnels to",
    { states: Array.from({ length: 17 }, (_, at) => state(`p${at}`)), hosts: [] },
    [/has 17 proxies, and an agent keeps tunnels to at most 16/],
  ],
])("%s", ([, facts, expected]) => {
  const warnings = proxyWarnings({ ...facts, now });
  expect(warnings).toHaveLength(expected.length);
  for (const [at, pattern] of expected.entries()) expect(warnings[at]).toMatch(pattern);
});
