import { duplexPair } from "node:stream";
import { expect, test } from "vitest";
import { u32 } from "../../../core/bytes/fields.ts";
import { silentLog } from "../../../core/log/log.ts";
import { readFrame } from "../../../core/transport/read-frame.ts";
import { decodeStreamRequest } from "../../../core/transport/stream-request.ts";
import { hostIdentity } from "../tunnels/testing/fake-tunnel.ts";
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
}

/** Agents of a proxy, what each of them got, and the time. */
function world(agents: readonly FakeAgent[]) {
  const time = { ms: 0 };
  const got: string[] = [];
  const tunnels = agents.map(({ host, offered = [postgres], draining = false, ended = false, isBroken = false, thread }, index) => ({
    identity: hostIdentity(host ?? String(index)),
    offered,
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
  const requests = new CancelRequests({ tunnels: () => tunnels, log: silentLog, now: () => new Date(time.ms) });
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

test("the agents of a database of MySQL are asked for the server's number of a connection, also replaced processes; the first reply counts", async () => {
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
