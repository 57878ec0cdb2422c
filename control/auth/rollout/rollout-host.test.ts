import { describe, expect, test } from "vitest";
import type { Node } from "../../../core/resources/node.ts";
import { toRolloutHost } from "./rollout-host.ts";

describe("a host of the inventory", () => {
  const started = 1_800_000_000_000;
  const node = (status?: Node["status"]): Node => ({
    kind: "node",
    version: "v2",
    metadata: { name: "0b8a1e0e-8a35-4b06-9a9c-0a4f6a1f2a77" },
    spec: { hostname: "web1", services: ["ssh"], version: "v1.0.0" },
    ...(status !== undefined && { status }),
  });
  const told = (channel?: string): Node["status"] => ({
    connected: true,
    since: new Date(started).toISOString(),
    host: { upgrader: "unit", sessions: 3, ...(channel !== undefined && { channel }) },
  });

  test.for<[why: string, status: Node["status"], asked: string | undefined, channel: string]>([
    ["says itself counts before what anybody asked in its name", told("stable/cloud"), "nightly", "stable/cloud"],
    ["was asked for, while it says nothing", told(), "stable/cloud", "stable/cloud"],
    ["nobody named is the default one", told(), undefined, "default"],
    ["was asked for, while it is away", undefined, "nightly", "nightly"],
  ])("the channel that a host %s", ([_why, status, asked, channel]) => {
    expect(toRolloutHost(node(status), { started, offered: undefined, asked }).channel).toBe(channel);
  });

  test("a host that was not heard of since the start may have an updater, and gets a minute before it counts as gone", () => {
    const host = toRolloutHost(node(), { started, offered: undefined, asked: undefined });
    expect(host).toMatchObject({ version: "1.0.0", connected: false, enrolled: true, since: started + 60_000, sessions: 0 });
    expect(toRolloutHost(node({ connected: true }), { started, offered: undefined, asked: undefined }).enrolled).toBe(false);
  });
});
