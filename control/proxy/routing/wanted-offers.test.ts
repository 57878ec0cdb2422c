import { expect, test } from "vitest";
import { olderProcess, whileHealthy } from "../../../core/kinds/stream-kinds.ts";
import { type RoutedTunnel, TunnelRegistry } from "../tunnels/registry.ts";
import { fakeTunnel } from "../tunnels/testing/fake-tunnel.ts";
import { wantedOffers } from "./wanted-offers.ts";

const [idA, idB] = ["11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"];

interface Fake {
  readonly id: string;
  readonly health?: string;
  readonly draining?: boolean;
}

/** Labels of the tunnels that a request with this `host` may use. */
function wanted(host: string, fakes: readonly Fake[]): readonly string[] {
  const registry = new TunnelRegistry<RoutedTunnel>();
  // The newest tunnel of a host comes first.
  for (const [index, { id, health = "unknown", draining = false }] of [...fakes.entries()].toReversed()) {
    const tunnel = fakeTunnel({ id, draining, peer: `${index}` });
    registry.add(tunnel);
    registry.offer(tunnel, [{ kind: "db", name: "orders", labels: {}, details: { health } }]);
  }
  const parameters = { user: "", name: "", host, at: "" };
  const known = { registry, hosts: { offering: () => [] } };
  return wantedOffers({ kind: "db", target: "orders", parameters }, known)
    .map(({ agent }) => agent.peer)
    .toSorted();
}

test("without a host every agent may serve, with one its own alone", () => {
  expect(wanted("", [{ id: idA }, { id: idB }])).toEqual(["0", "1"]);
  expect(wanted(idB, [{ id: idA }, { id: idB, health: "unhealthy" }])).toEqual(["1"]);
  expect(wanted("nobody", [{ id: idA }])).toEqual([]);
});

test.for([
  ["healthy", "healthy", ["0"]],
  ["unknown", "healthy", ["0"]],
  ["unhealthy", "unhealthy", ["0"]],
  ["unhealthy", "unknown", ["0"]],
  ["unhealthy", "healthy", []],
] as const)("a preferred agent that sees the database %s, beside one that sees it %s", ([mine, other, expected]) => {
  const agents = [
    { id: idA, health: mine },
    { id: idB, health: other },
  ];
  expect(wanted(`${idA}${whileHealthy}`, agents)).toEqual(expected);
});

test("the processes before the one that serves now are found by their age, as long as they drain", () => {
  const agents = [{ id: idA }, { id: idA, draining: true }, { id: idB, draining: true }, { id: idA, draining: true }];
  expect(wanted(idA, agents)).toEqual(["0"]);
  expect(wanted(`${idA}${olderProcess}1`, agents)).toEqual(["1"]);
  expect(wanted(`${idA}${olderProcess}2`, agents)).toEqual(["3"]);
  for (const none of ["0", "3", "-1", "x", "1x", ""]) expect(wanted(`${idA}${olderProcess}${none}`, agents)).toEqual([]);
});
