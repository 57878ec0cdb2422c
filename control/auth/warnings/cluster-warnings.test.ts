import { expect, test } from "vitest";
import type { LiveNode } from "../inventory/live-nodes.ts";
import { versionWarnings } from "./cluster-warnings.ts";

const node = (hostname: string, version: string, connected = true): LiveNode => ({
  hostname,
  version,
  connected,
  since: new Date(0),
  address: "",
  proxies: ["p"],
  names: [hostname],
});

test("hosts whose version does not fit are named by kind, the first three of each; who is gone is not", () => {
  const nodes = [
    node("web1", "2.4.0"),
    node("web2", "1.9.0"),
    node("old", "0.9.0"),
    node("mute", ""),
    node("patched", "2.4.1"),
    node("away", "17.0.0", false),
    ...["d", "c", "b", "a"].map((name) => node(name, "3.0.0")),
  ];
  expect(versionWarnings(nodes, "2.4.0")).toEqual([
    "the cluster is 2.4.0; a (3.0.0), b (3.0.0), c (3.0.0) and 1 more: newer by a major than the cluster, so newer features may not work: upgrade the cluster first",
    "the cluster is 2.4.0; old (0.9.0): too old for the cluster, so newer features may not work: upgrade them",
    "the cluster is 2.4.0; patched (2.4.1): newer than the cluster, which must be upgraded first",
  ]);
  expect(versionWarnings([], "2.4.0")).toEqual([]);
});
