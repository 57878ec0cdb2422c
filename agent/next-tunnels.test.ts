import { expect, test } from "vitest";
import { nextTunnels, type TunnelFacts } from "./next-tunnels.ts";

const facts = { wanted: 1, stopping: false, notBefore: 0, now: 1000 };
const one = (state: TunnelFacts["state"], streams = 0, id = 1): TunnelFacts => ({ id, state, streams });

test.for([
  ["none: one is opened", [], { open: 1, end: [] }],
  ["one is being opened: nothing", [one("opening")], { open: 0, end: [] }],
  ["one is up: nothing", [one("up")], { open: 0, end: [] }],
  ["one leaves: the next is opened before it ends", [one("leaving")], { open: 1, end: [] }],
  ["one leaves, the next is on its way: both stay", [one("leaving"), one("opening", 0, 2)], { open: 0, end: [] }],
  ["one leaves idle and the next is up: it ends", [one("leaving"), one("up", 3, 2)], { open: 0, end: [1] }],
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
