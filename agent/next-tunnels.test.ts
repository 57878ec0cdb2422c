import { expect, test } from "vitest";
import { nextTunnels, type TunnelFacts } from "./next-tunnels.ts";

const facts = { wanted: 1, stopping: false, notBefore: 0, now: 1000 };
const one = (state: TunnelFacts["state"], streams = 0, id = 1, keepUntil = 0): TunnelFacts => ({ id, state, streams, keepUntil });

test.for([
  ["none: one is opened", [], { open: 1, end: [] }],
  ["one is being opened: nothing", [one("opening")], { open: 0, end: [] }],
  ["one is up: nothing", [one("up")], { open: 0, end: [] }],
  ["one leaves: the next is opened before it ends", [one("leaving")], { open: 1, end: [] }],
  ["one leaves, the next is on its way: both stay", [one("leaving"), one("opening", 0, 2)], { open: 0, end: [] }],
  ["one leaves idle and the next is up: it ends", [one("leaving"), one("up", 3, 2)], { open: 0, end: [1] }],
  [
    "one leaves idle, and its proxy may still open a stream: it stays for its time",
    [one("leaving", 0, 1, 1500), one("up", 0, 2)],
    { open: 0, end: [], wakeAt: 1500 },
  ],
  ["its time is over: it ends", [one("leaving", 0, 1, 1000), one("up", 0, 2)], { open: 0, end: [1] }],
  ["one leaves with streams: it stays", [one("leaving", 2), one("up", 0, 2)], { open: 0, end: [] }],
] as const)("%s", ([, tunnels, expected]) => {
  expect(nextTunnels({ ...facts, tunnels })).toEqual(expected);
});

test("the back-off is waited for", () => {
  expect(nextTunnels({ ...facts, tunnels: [], notBefore: 1500 })).toEqual({ open: 0, end: [], wakeAt: 1500 });
});

test("stopping opens nothing and ends what carries no streams", () => {
  expect(nextTunnels({ ...facts, stopping: true, tunnels: [one("up", 1), one("leaving", 0, 2)] })).toEqual({ open: 0, end: [2] });
});

test("stopping ends nothing that the proxy may still open a stream on", () => {
  const tunnels = [one("leaving", 0, 1, Number.POSITIVE_INFINITY)];
  expect(nextTunnels({ ...facts, stopping: true, tunnels })).toEqual({ open: 0, end: [] });
});

test("of back-off and the end of a tunnel's time, the next is woken for", () => {
  const tunnels = [one("leaving", 0, 1, 1200)];
  expect(nextTunnels({ ...facts, tunnels, notBefore: 1500 })).toEqual({ open: 0, end: [], wakeAt: 1200 });
});
