import { expect, test } from "vitest";
import { orderFiles } from "./order-files.ts";

const story = (name: string): string => `test/stories/${name}.test.ts`;

test("what took longest is first, what has not run yet and is not known to be long is last", () => {
  const paths = ["apps", "upgrades", "doctor", "recording"].map(story);
  const times = { [story("apps")]: 5, [story("recording")]: 60 };
  expect(orderFiles(paths, times)).toEqual(["upgrades", "recording", "apps", "doctor"].map(story));
});

test("in a fresh checkout the order is that of the times that were measured last", () => {
  const paths = ["rotation", "doctor", "readme", "upgrade-holds-and-timer", "upgrades", "power-cuts"].map(story);
  expect(orderFiles(paths, {})).toEqual(["upgrades", "power-cuts", "readme", "upgrade-holds-and-timer", "rotation", "doctor"].map(story));
});

test.each([
  ["nothing has run yet", {}],
  ["all have run", { kubernetes: 40, "kubernetes-rules": 90, "kubernetes-agents": 20, apps: 50, crash: 30, recording: 90, doctor: 0 }],
  ["one of them is new", { kubernetes: 40, "kubernetes-rules": 90, apps: 2_000, crash: 30 }],
])("files that share a cluster are neighbours: %s", (_, seconds) => {
  const names = ["kubernetes", "apps", "kubernetes-agents", "recording", "crash", "kubernetes-rules", "doctor"];
  const times = Object.fromEntries(Object.entries(seconds).map(([name, time]) => [story(name), time]));
  const ordered = orderFiles(names.map(story), times);
  const places = ordered.flatMap((path, at) => (path.includes("kubernetes") ? [at] : []));
  expect(places).toEqual([0, 1, 2].map((at) => (places[0] ?? 0) + at));
  expect(ordered.toSorted()).toEqual(names.map(story).toSorted());
});
