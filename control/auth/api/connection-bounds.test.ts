import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import type { Caller } from "./caller.ts";
import { ConnectionBounds } from "./connection-bounds.ts";

const anonymous = (address: string): Caller => ({ kind: "anonymous", address });
const certified = (kind: "node" | "proxy" | "user"): Caller => {
  const common = { cluster: "c", validBefore: new Date(0) };
  if (kind === "user") return { kind, identity: { kind, name: "alice", roles: [], traits: {}, principals: {}, ...common }, address: "" };
  return { kind: "host", identity: { kind: "host", id: "1", role: kind, names: [], ...common }, address: "" };
};

function arrive(bounds: ConnectionBounds, address: string, count: number): PassThrough[] {
  return Array.from({ length: count }, () => {
    const stream = new PassThrough();
    bounds.arrive(stream, address);
    return stream;
  });
}

const open = (streams: readonly PassThrough[]): number => streams.filter(({ destroyed }) => !destroyed).length;

test("one address that opens thousands keeps out nobody but itself, neither who arrives nor who has shown a certificate", () => {
  const bounds = new ConnectionBounds();
  const [agent] = arrive(bounds, "198.51.100.1:40000", 1);
  expect(bounds.settle(agent as PassThrough, certified("node"), "198.51.100.1:40000")).toBe(true);
  const [other] = arrive(bounds, "198.51.100.2:40000", 1);
  const [admin] = arrive(bounds, "127.0.0.1:50000", 1);
  const flood = arrive(bounds, "203.0.113.7:1", 10_400);
  expect(open(flood)).toBe(1_023);
  expect(open([agent, other, admin] as PassThrough[])).toBe(3);
  const here = arrive(bounds, "127.0.0.2:1", 5_000);
  expect(open(here)).toBe(1_023);
  expect(open([admin] as PassThrough[])).toBe(1);
});

test("anonymous sessions have a bound of their own, by address; an IPv6 network is one", () => {
  const bounds = new ConnectionBounds();
  const settle = (address: string) => (stream: PassThrough) => bounds.settle(stream, anonymous(address), address);
  const login = arrive(bounds, "198.51.100.2:1", 1);
  login.map(settle("198.51.100.2:1"));
  const flood = Array.from({ length: 3_000 }, (_one, index) => {
    const address = `[2001:db8:1:2::${index.toString(16)}]:1`;
    const [stream] = arrive(bounds, address, 1);
    settle(address)(stream as PassThrough);
    return stream as PassThrough;
  });
  expect(open(flood)).toBe(1_023);
  expect(open(login)).toBe(1);
  for (const stream of flood) stream.destroy();
});

test("a host's certificate opens 64 connections at a time and a user's 1,000, a proxy's more", async () => {
  for (const [kind, most] of [
    ["node", 64],
    ["user", 1_000],
    ["proxy", Number.POSITIVE_INFINITY],
  ] as const) {
    const bounds = new ConnectionBounds();
    const streams = arrive(bounds, "203.0.113.7:1", 1_000);
    for (const stream of [...streams]) {
      if (!bounds.settle(stream, certified(kind), "203.0.113.7:1")) stream.destroy();
    }
    expect(open(streams)).toBe(Math.min(most, 1_000));
    const [more] = arrive(bounds, "203.0.113.7:1", 1) as [PassThrough];
    expect(bounds.settle(more, certified(kind), "203.0.113.7:1")).toBe(most > 1_000);
    const [first] = streams as [PassThrough];
    await new Promise((resolve) => first.once("close", resolve).destroy());
    const [next] = arrive(bounds, "203.0.113.7:1", 1) as [PassThrough];
    expect(bounds.settle(next, certified(kind), "203.0.113.7:1")).toBe(true);
  }
});
