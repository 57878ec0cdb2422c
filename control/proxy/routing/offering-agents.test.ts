import { expect, test } from "vitest";
import { type RoutedTunnel, TunnelRegistry } from "../tunnels/registry.ts";
import { fakeTunnel } from "../tunnels/testing/fake-tunnel.ts";
import type { DialledOffer } from "./dialled-offers.ts";
import { offeringAgents } from "./offering-agents.ts";

const offered = { kind: "kube", name: "prod", labels: {} };
interface Fake {
  readonly id: string;
  /** Its join token names the cluster. */
  readonly isNamed?: boolean;
}

function dialled({ id, isNamed = false }: Fake): DialledOffer {
  return { target: { via: "dial", identity: { id }, facts: { hostname: id, labels: {} }, addresses: [], shared: [], peer: "" }, offered, isNamed };
}

/** The agents that may serve, as `id way`. */
function agents({ tunnels = [], others = [] }: { readonly tunnels?: readonly Fake[]; readonly others?: readonly Fake[] }): readonly string[] {
  const registry = new TunnelRegistry<RoutedTunnel>();
  for (const { id, isNamed = false } of tunnels) {
    const tunnel = fakeTunnel({ id, offerLimits: isNamed ? { kube: ["prod"] } : {} });
    registry.add(tunnel);
    registry.offer(tunnel, [offered]);
  }
  const hosts = { offering: () => others.map(dialled) };
  return offeringAgents(offered, { registry, hosts }).map(({ agent }) => `${agent.identity.id} ${agent.via}`);
}

test("agents with a tunnel and dialled ones are taken together, a host with a tunnel once", () => {
  expect(agents({ tunnels: [{ id: "a" }], others: [{ id: "b" }] })).toEqual(["a tunnel", "b dial"]);
  expect(agents({ tunnels: [{ id: "a" }], others: [{ id: "a" }] })).toEqual(["a tunnel"]);
  expect(agents({})).toEqual([]);
});

test("a join token that names the cluster counts whichever way its host is reached", () => {
  expect(agents({ tunnels: [{ id: "a" }], others: [{ id: "b", isNamed: true }] })).toEqual(["b dial"]);
  expect(agents({ tunnels: [{ id: "a", isNamed: true }], others: [{ id: "b" }] })).toEqual(["a tunnel"]);
});
