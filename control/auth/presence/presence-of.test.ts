import { expect, test } from "vitest";
import type { LiveNode } from "../inventory/live-nodes.ts";
import { goneWarnings } from "./gone-warning.ts";
import { type Presence, presenceOf } from "./presence-of.ts";
import type { Absence } from "./presence-watch.ts";

const t0 = 1_800_000_000_000;
const live = (connected: boolean, agoMs: number, ending?: LiveNode["ending"]): LiveNode => ({
  hostname: "web1",
  version: "1.0.0",
  connected,
  since: new Date(t0 - agoMs),
  address: "",
  proxies: [],
  names: [],
  ending,
});

test.for<[why: string, live: LiveNode | undefined, recorded: "gone" | "stopped" | undefined, startedAgoMs: number, then: Presence]>([
  ["has a tunnel", live(true, 0), undefined, 0, "connected"],
  ["lost its tunnel a moment ago", live(false, 14_999, "closed"), undefined, 0, "away"],
  ["lost its tunnel 15 s ago", live(false, 15_000, "closed"), undefined, 0, "gone"],
  ["lost its tunnel, and an old proxy does not say how", live(false, 15_000), undefined, 0, "gone"],
  ["is silent: the proxy has waited already", live(false, 0, "silent"), undefined, 0, "gone"],
  ["lost its proxy a moment ago", live(false, 24_999, "lost"), undefined, 0, "away"],
  ["lost its proxy and found no other", live(false, 25_000, "lost"), undefined, 0, "gone"],
  ["said that it stops", live(false, 3_600_000, "stopped"), undefined, 0, "stopped"],
  ["was not heard of since the start, a moment ago", undefined, undefined, 59_999, "unknown"],
  ["was not heard of since the start", undefined, undefined, 60_000, "gone"],
  ["was gone before the start", undefined, "gone", 0, "gone"],
  ["had stopped before the start", undefined, "stopped", 3_600_000, "stopped"],
])("a host that %s", ([_why, node, recorded, startedAgoMs, then]) => {
  expect(presenceOf(node, { recorded, started: t0 - startedAgoMs, now: t0 })).toBe(then);
});

test("the warning names the newest few", () => {
  const absent = (kind: Absence["kind"], ...names: string[]): Absence[] => names.map((hostname, since) => ({ kind, hostname, since }));
  expect(goneWarnings(absent("stopped", "a"))).toEqual([]);
  expect(goneWarnings(absent("gone", "a"))[0]).toMatch(/^1 agent is gone: a; see tctl nodes ls, and remove it with/);
  expect(goneWarnings(absent("gone", "a", "b", "c"))[0]).toMatch(/^3 agents are gone: c, b, a; /);
  expect(goneWarnings(absent("gone", ..."abcdefg"))[0]).toMatch(/^7 agents are gone: g, f, e, d, c and 2 more; /);
});
