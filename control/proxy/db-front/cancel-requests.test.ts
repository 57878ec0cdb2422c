import { duplexPair } from "node:stream";
import { expect, test } from "vitest";
import { u32 } from "../../../core/bytes/fields.ts";
import { silentLog } from "../../../core/log/log.ts";
import { readFrame } from "../../../core/transport/read-frame.ts";
import { decodeStreamRequest } from "../../../core/transport/stream-request.ts";
import type { DialledOffer } from "../routing/dialled-offers.ts";
import { fakeTunnel, hostIdentity } from "../tunnels/testing/fake-tunnel.ts";
import { CancelRequests } from "./cancel-requests.ts";

const postgres = { kind: "db", name: "orders", labels: {}, details: { protocol: "postgres" } };
const mysql = { ...postgres, details: { protocol: "mysql" } };
const key = Buffer.from("0000002a01020304", "hex");

interface FakeAgent {
  /** Default: its place. */
  readonly host?: string;
  readonly offered?: readonly (typeof postgres)[];
  readonly draining?: boolean;
  readonly ended?: boolean;
  /** Opens no stream. */
  readonly isBroken?: boolean;
  /** Of the connection that it is asked for. */
  readonly thread?: number;
  /** Databases that its join token names. */
  readonly named?: readonly string[];
}

/** Agents of a proxy, what each of them got, and the time. */
function world(agents: readonly FakeAgent[], dialled: readonly DialledOffer[] = []) {
  const time = { ms: 0 };
  const got: string[] = [];
  const tunnels = agents.map(({ host, offered = [postgres], draining = false, ended = false, isBroken = false, thread, named }, index) => ({
    ...fakeTunnel({ id: host ?? String(index) }),
    offered,
    ...(named !== undefined && { offerLimits: { db: named } }),
    draining,
    ended,
    openStream: async () => {
      if (isBroken) throw new Error("broken");
      const [near, far] = duplexPair();
      void readFrame(far, { maxLength: 1_000, timeoutMs: 1_000, what: "request" }).then((body) => {
        const { kind, target, parameters, clientAddress } = decodeStreamRequest(body);
        got.push(`${index} ${kind} ${target}${JSON.stringify(parameters)} ${clientAddress}`);
        far.end(thread === undefined ? undefined : u32(thread));
      });
      return near;
    },
  }));
  const requests = new CancelRequests({ tunnels: () => tunnels, hosts: { offering: () => dialled }, log: silentLog, now: () => new Date(time.ms) });
  return { requests, got, time };
}

test("every process of an agent with a PostgreSQL database is asked, also one that was replaced; a broken one keeps nobody waiting", async () => {
  const { requests, got } = world([
    {},
    { offered: [mysql] },
    { draining: true },
    { ended: true },
    { isBroken: true },
    { offered: [mysql, postgres] },
  ]);
  await requests.send(key, "192.0.2.1:5");
  expect(got).toEqual([0, 5, 2].map((agent) => `${agent} cancel {"key":"0000002a01020304"} 192.0.2.1:5`));
});

test("500 hosts are asked, each by all of its processes; those that were replaced take no places of others", async () => {
  const before = Array.from({ length: 500 }, (_, index) => ({ host: `host ${index}`, draining: true }));
  const now = before.map(({ host }) => ({ host }));
  const { requests, got } = world([...before, { host: "replaced alone", draining: true }, ...now]);
  await requests.send(key, "192.0.2.1:5");
  const asked = got.map((line) => Number(line.split(" ")[0]));
  expect(asked.filter((index) => index > 500)).toHaveLength(500);
  expect([asked.length, asked.includes(500)]).toEqual([1_000, false]);
});

test("an address has a burst, then two requests a second; others are not affected, up to the limit of all", async () => {
  const { requests, got, time } = world([{}]);
  for (let count = 0; count < 50; count += 1) await requests.send(key, "192.0.2.1:5");
  expect(got).toHaveLength(20);
  await requests.send(key, "192.0.2.2:5");
  expect(got).toHaveLength(21);
  time.ms = 1_000;
  for (let count = 0; count < 5; count += 1) await requests.send(key, "192.0.2.1:6");
  expect(got).toHaveLength(23);
  // Far more than people send; each costs one stream here.
  for (let address = 0; address < 200; address += 1) await requests.send(key, `198.51.100.${address}:1`);
  expect(got).toHaveLength(223);
});

test("all addresses of one IPv6 network share a burst", async () => {
  const { requests, got } = world([{}]);
  for (let address = 0; address < 50; address += 1) await requests.send(key, `[2001:db8:1:1::${address.toString(16)}]:5`);
  expect(got).toHaveLength(20);
  await requests.send(key, "[2001:db8:1:2::1]:5");
  expect(got).toHaveLength(21);
});

test("all requests together may use a number of streams: with many agents they are fewer", async () => {
  const { requests, got, time } = world([{}, ...Array.from({ length: 499 }, () => ({ isBroken: true }))]);
  for (let address = 0; address < 200; address += 1) await requests.send(key, `198.51.100.${address}:1`);
  expect(got).toHaveLength(100);
  time.ms = 1_000;
  for (let address = 0; address < 200; address += 1) await requests.send(key, `203.0.113.${address}:1`);
  expect(got).toHaveLength(120);
});

test("the agents of a database of MySQL are asked for the server's number of a connection, also replaced processes", async () => {
  const shop = { ...mysql, name: "shop" };
  const { requests, got } = world([
    { offered: [mysql] },
    { offered: [shop] },
    { offered: [shop], draining: true, thread: 42 },
    { offered: [shop], isBroken: true },
  ]);
  expect(await requests.threadOf({ database: "shop", own: 3_000_000_000 }, "192.0.2.1:5")).toBe(42);
  expect(got).toEqual([1, 2].map((agent) => `${agent} cancel shop{"key":"b2d05e00"} 192.0.2.1:5`));
  expect(await requests.threadOf({ database: "orders", own: 3_000_000_000 }, "192.0.2.1:5")).toBeUndefined();
  expect(await requests.threadOf({ database: "nothing", own: 3_000_000_000 }, "192.0.2.1:5")).toBeUndefined();
});

const shop = { ...mysql, name: "shop" };
const otherwise = { ...shop, labels: { env: "dev" } };
const connection = { database: "shop", own: 3_000_000_000 };

test.for<readonly [what: string, agents: readonly FakeAgent[], asked: readonly number[], thread: number | undefined]>([
  [
    "agents that assign differing labels: nobody is asked",
    [
      { offered: [shop], thread: 42 },
      { offered: [otherwise], thread: 43 },
    ],
    [],
    undefined,
  ],
  [
    "the same, of which one has only a replaced process",
    [
      { offered: [shop], thread: 42 },
      { offered: [otherwise], draining: true, thread: 43 },
    ],
    [],
    undefined,
  ],
  [
    "an agent whose token names no databases beside one whose token does: that one alone is asked",
    [
      { offered: [shop], thread: 42, named: ["shop"] },
      { offered: [otherwise], thread: 43 },
    ],
    [0],
    42,
  ],
  [
    "a process that a reload with other labels has replaced: it has its connections still",
    [
      { host: "a", offered: [shop] },
      { host: "a", offered: [otherwise], draining: true, thread: 42 },
    ],
    [0, 1],
    42,
  ],
  [
    "two replies that agree",
    [
      { offered: [shop], thread: 42 },
      { offered: [shop], thread: 42 },
    ],
    [0, 1],
    42,
  ],
  [
    "two replies that differ: neither is believed",
    [
      { offered: [shop], thread: 42 },
      { offered: [shop], thread: 43 },
    ],
    [0, 1],
    undefined,
  ],
])("the server's number of a connection: %s", async ([, agents, asked, thread]) => {
  const { requests, got } = world(agents);
  expect(await requests.threadOf(connection, "192.0.2.1:5")).toBe(thread);
  expect(got.map((line) => Number(line.split(" ")[0]))).toEqual(asked);
});

test("the offer of an agent without a tunnel counts: nobody is asked while it differs, or while its token alone names the database", async () => {
  const { facts } = fakeTunnel({ id: "away" });
  const target = { via: "dial", identity: hostIdentity("away"), facts, addresses: ["192.0.2.9:3022"], shared: [], peer: "192.0.2.9:3022" } as const;
  for (const [offer, thread] of [
    [{ target, offered: shop, isNamed: false }, 42],
    [{ target, offered: otherwise, isNamed: false }, undefined],
    [{ target, offered: shop, isNamed: true }, undefined],
  ] as const) {
    const { requests } = world([{ offered: [shop], thread: 42 }], [offer]);
    expect(await requests.threadOf(connection, "192.0.2.1:5")).toBe(thread);
  }
});
