import { expect, test } from "vitest";
import { fakeTunnel } from "../tunnels/testing/fake-tunnel.ts";
import { tunnelTarget } from "./find-target.ts";
import type { OfferingAgent } from "./offering-agents.ts";
import { waysTo } from "./open-to-agent.ts";

/** An agent by its name: `t…` has a tunnel, all others are dialled. */
function agent(name: string, health = "healthy"): OfferingAgent {
  const offered = { kind: "kube", name: "prod", labels: {}, details: { health } };
  if (name.startsWith("t")) return { agent: tunnelTarget(fakeTunnel({ id: name })), offered };
  const host = { identity: { id: name }, facts: { hostname: name, labels: {} }, peer: name };
  return { agent: { via: "dial", addresses: [], shared: [], ...host }, offered };
}

test.for<readonly [what: string, agents: readonly OfferingAgent[], expected: readonly (readonly string[])[]]>([
  ["none", [], []],
  ["tunnels are tried one after the other", [agent("t1"), agent("t2")], [["t1"], ["t2"]]],
  ["equally good agents are dialled together", [agent("d1"), agent("d2")], [["d1", "d2"]]],
  ["a tunnel between them has its turn", [agent("d1"), agent("t1"), agent("d2"), agent("d3")], [["d1"], ["t1"], ["d2", "d3"]]],
  ["a healthy one does not race with others", [agent("d1"), agent("d2", "unhealthy"), agent("d3", "unhealthy")], [["d1"], ["d2", "d3"]]],
  ["at most four together", ["d1", "d2", "d3", "d4", "d5"].map((name) => agent(name)), [["d1", "d2", "d3", "d4"], ["d5"]]],
])("%s", ([, agents, expected]) => {
  expect(waysTo(agents).map((way) => way.map(({ identity }) => identity.id))).toEqual(expected);
});
