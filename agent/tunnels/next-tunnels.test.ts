import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { type ClusterProxy, maxAgentProxies } from "../../core/resources/proxy.ts";
import { anyProxy, chooseProxies, nextTunnels, type TunnelFacts } from "./next-tunnels.ts";

const facts = { wanted: [{ proxy: anyProxy, notBefore: 0 }], stopping: false, now: 1000 };
const one = (state: TunnelFacts["state"], streams = 0, id = 1, keepUntil = 0): TunnelFacts => ({ id, state, streams, keepUntil, proxy: "a" });

test.for([
  ["none: one is opened", [], { open: [anyProxy], end: [] }],
  ["one is being opened: nothing", [one("opening")], { open: [], end: [] }],
  ["one is up: nothing", [one("up")], { open: [], end: [] }],
  ["one leaves: the next is opened before it ends", [one("leaving")], { open: [anyProxy], end: [] }],
  ["one leaves, the next is being opened: both stay", [one("leaving"), one("opening", 0, 2)], { open: [], end: [] }],
  ["one leaves idle and the next is up: it ends", [one("leaving"), one("up", 3, 2)], { open: [], end: [1] }],
  [
    "one leaves idle, and its proxy may still open a stream: it stays for its time",
    [one("leaving", 0, 1, 1500), one("up", 0, 2)],
    { open: [], end: [], wakeAt: 1500 },
  ],
  ["its time is over: it ends", [one("leaving", 0, 1, 1000), one("up", 0, 2)], { open: [], end: [1] }],
  ["one leaves with streams: it stays", [one("leaving", 2), one("up", 0, 2)], { open: [], end: [] }],
] as const)("%s", ([, tunnels, expected]) => {
  expect(nextTunnels({ ...facts, tunnels })).toEqual(expected);
});

test("the back-off is honoured", () => {
  expect(nextTunnels({ ...facts, tunnels: [], wanted: [{ proxy: anyProxy, notBefore: 1500 }] })).toEqual({ open: [], end: [], wakeAt: 1500 });
});

test("stopping opens nothing and ends what carries no streams", () => {
  expect(nextTunnels({ ...facts, stopping: true, tunnels: [one("up", 1), one("leaving", 0, 2)] })).toEqual({ open: [], end: [2] });
});

test("stopping ends nothing that the proxy may still open a stream on", () => {
  const tunnels = [one("leaving", 0, 1, Number.POSITIVE_INFINITY)];
  expect(nextTunnels({ ...facts, stopping: true, tunnels })).toEqual({ open: [], end: [] });
});

test("it wakes for the earlier of back-off and the end of a tunnel's time", () => {
  const tunnels = [one("leaving", 0, 1, 1200)];
  expect(nextTunnels({ ...facts, tunnels, wanted: [{ proxy: anyProxy, notBefore: 1500 }] })).toEqual({ open: [], end: [], wakeAt: 1200 });
});

const several = ["a", "b", "c"].map((proxy) => ({ proxy, notBefore: 0 }));

test.for<[name: string, tunnels: TunnelFacts[], expected: ReturnType<typeof nextTunnels>]>([
  ["three proxies, one tunnel: the other two are opened", [one("up")], { open: ["b", "c"], end: [] }],
  ["one that is being opened counts for the proxy that it is for", [one("up"), { ...one("opening", 0, 2), proxy: "b" }], { open: ["c"], end: [] }],
  [
    "one proxy stops: its next tunnel is opened, the others stay",
    [one("leaving", 1), { ...one("up", 0, 2), proxy: "b" }],
    { open: ["a", "c"], end: [] },
  ],
  ["a tunnel to a proxy that nobody lists stays", [{ ...one("up"), proxy: "z" }], { open: ["a", "b", "c"], end: [] }],
])("%s", ([, tunnels, expected]) => {
  expect(nextTunnels({ ...facts, wanted: several, tunnels })).toEqual(expected);
});

test("each proxy has a back-off of its own: one that is away holds up no other", () => {
  const wanted = [
    { proxy: "a", notBefore: 9000 },
    { proxy: "b", notBefore: 0 },
    { proxy: "c", notBefore: 1700 },
  ];
  expect(nextTunnels({ ...facts, wanted, tunnels: [] })).toEqual({ open: ["b"], end: [], wakeAt: 1700 });
});

describe("the chosen proxies", () => {
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
});
