import { expect, test } from "vitest";
import { olderProcess, whileHealthy } from "../../../core/kinds/stream-kinds.ts";
import type { Tunnel } from "../tunnels/tunnel.ts";
import { wantedOffers } from "./wanted-offers.ts";

const [idA, idB] = ["11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"];

interface Fake {
  readonly id: string;
  readonly health?: string;
  readonly draining?: boolean;
}

/** Labels of the tunnels that a request with this `host` may use. */
function wanted(host: string, fakes: readonly Fake[]): readonly string[] {
  const tunnels = fakes.map(({ id, health = "unknown", draining = false }, index) => {
    const offered = [{ kind: "db", name: "orders", labels: {}, details: { health } }];
    const facts = { hostname: id, labels: {} };
    return { identity: { id }, facts, offerLimits: {}, draining, ended: false, offered, peer: `${index}` } as unknown as Tunnel;
  });
  const registry = {
    allOffering: () => tunnels.filter((one) => !one.draining).flatMap((tunnel) => tunnel.offered.map((offered) => ({ tunnel, offered }))),
    ofHost: (id: string) => tunnels.filter((one) => one.identity.id === id),
    newest: (id: string) => tunnels.find((one) => one.identity.id === id),
  };
  const parameters = { user: "", name: "", host, at: "" };
  const known = { registry, hosts: { offering: () => [] } };
  return wantedOffers({ kind: "db", target: "orders", parameters }, known).map(({ agent }) => agent.peer);
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
