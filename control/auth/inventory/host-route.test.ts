import { describe, expect, test } from "vitest";
import type { Node } from "../../../core/resources/node.ts";
import { hostRoute, isFoundByTunnel, type RouteFacts } from "./host-route.ts";
import type { LiveNode } from "./live-nodes.ts";

const id = "aaaaaaaa-1111-4111-8111-111111111111";
const node: Node = {
  kind: "node",
  version: "v2",
  metadata: { name: id, labels: { env: "prod" } },
  spec: { hostname: "web-1", services: ["ssh"], version: "1.0.0" },
};
const live = (more: Partial<LiveNode> = {}): LiveNode => ({
  connected: true,
  since: new Date(0),
  address: "10.0.0.5:50000",
  proxies: ["p1"],
  hostname: "web-1",
  version: "1.0.0",
  names: ["web-1", "www"],
  ...more,
});
const direct = { id, hostname: "web-1", labels: {}, names: ["web-1", "dial"], addresses: ["10.0.0.5:3022"], shared: [] };
const since = "2026-11-20T10:00:00.000Z";
const proxies = [{ id: "p2", name: "proxy-b", addr: "b.example.com:443", since: "" }];
const route = (facts: Partial<RouteFacts>) =>
  hostRoute({ node, names: ["web-1", "web.example.com"], live: undefined, direct: undefined, since: undefined, proxies, ...facts }, "p1");

describe("the way from proxy p1 to a host is", () => {
  test.for<[string, Partial<RouteFacts>, object]>([
    [
      "through a proxy that has its tunnel",
      { live: live({ proxies: ["p2", "p3"] }) },
      {
        case: "tunnel",
        value: {
          proxies: [
            { id: "p2", name: "proxy-b", addr: "b.example.com:443" },
            { id: "p3", name: "p3", addr: "" },
          ],
        },
      },
    ],
    ["to dial it", { direct, live: live({ isDialled: true, proxies: [id] }) }, { case: "dial", value: { addresses: ["10.0.0.5:3022"], shared: [] } }],
    ["to dial it, also while it is not connected", { direct }, { case: "dial", value: { addresses: ["10.0.0.5:3022"], shared: [] } }],
    ["its own tunnel, which has replaced dialling", { direct, live: live() }, { case: "record", value: { since: "" } }],
    ["none while it is away", { since }, { case: "record", value: { since } }],
    ["none, since an unknown time", { live: live({ connected: false, proxies: [] }) }, { case: "record", value: { since: "" } }],
  ])("%s", ([, facts, via]) => {
    expect(route(facts)).toMatchObject({ id, hostname: "web-1", labels: { env: "prod" }, via });
  });

  test("under all its names", () => {
    expect(route({ direct, live: live() }).names).toEqual(["web-1", "web.example.com", "dial", "www"]);
  });
});

describe("a proxy finds a host by itself", () => {
  test.for<[string, LiveNode | undefined, readonly string[], boolean]>([
    ["with a tunnel to it", live(), [], true],
    ["not with a namesake", live(), ["other"], false],
    ["not with a tunnel to another proxy", live({ proxies: ["p2"] }), [], false],
    ["not when it is dialled", live({ isDialled: true }), [], false],
    ["not when it is away", live({ connected: false, proxies: [] }), [], false],
    ["not before its first report", undefined, [], false],
  ])("%s", ([, known, namesakes, is]) => {
    expect(isFoundByTunnel(known, "p1", namesakes)).toBe(is);
  });
});
