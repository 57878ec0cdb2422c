import { once } from "node:events";
import { type Duplex, duplexPair } from "node:stream";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { silentLog } from "../../core/log/log.ts";
import { FailedArrivals, HalfOpen } from "../../core/transport/arrivals/half-open.ts";
import { receiveSocket } from "./receive-socket.ts";

const balancer = "192.0.2.1";
const header = "PROXY TCP4 203.0.113.9 192.0.2.9 40001 443\r\n";

/** A connection from this address, with what it is served as and what is logged of its end. */
function connection(remoteAddress: string, halfOpen = new HalfOpen(100)) {
  const [near, far] = duplexPair();
  const served: { peer: string; first: Promise<string> }[] = [];
  const logged: string[] = [];
  const socket = Object.assign(far, { remoteAddress, remotePort: 1 });
  const services = {
    halfOpen,
    failed: new FailedArrivals({ log: { info: (_text, facts) => void logged.push(String(facts?.error)) }, clock: () => 0 }),
    log: silentLog,
    signal: new AbortController().signal,
  };
  const received = receiveSocket(socket, { port: "web", balancers: { has: (ip) => ip === balancer } }, services, async ({ peer, socket: stream }) => {
    served.push({ peer, first: firstOf(stream) });
  });
  return { near: near.on("error", () => {}), socket, served, logged, halfOpen, received };
}

async function firstOf(stream: Duplex): Promise<string> {
  const [first] = (await once(stream.resume(), "data")) as [Buffer];
  return String(first);
}

describe("a connection to a port of the proxy", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
  afterEach(() => void vi.useRealTimers());

  test("from a balancer is its client's, with the bytes behind the header, and counts for that one", async () => {
    const { near, served, received, halfOpen, socket } = connection(balancer);
    near.write(`${header}hello`);
    await received;
    expect(served).toEqual([{ peer: "203.0.113.9:40001", first: expect.anything() }]);
    expect(await served[0]?.first).toBe("hello");
    expect([halfOpen.size, socket.remoteAddress]).toEqual([1, "203.0.113.9"]);
  });

  test("from a balancer whose header does not come, or byte by byte without an end, is ended in ten seconds", async () => {
    const [silent, slow] = [connection(balancer), connection(balancer)];
    for (const byte of header.slice(0, 9)) {
      slow.near.write(byte);
      await vi.advanceTimersByTimeAsync(1_000);
    }
    expect([silent, slow].map(({ socket }) => socket.destroyed)).toEqual([false, false]);
    await vi.advanceTimersByTimeAsync(1_000);
    await Promise.all([silent.received, slow.received]);
    for (const { socket, served, logged } of [silent, slow]) {
      expect([socket.destroyed, served, logged]).toEqual([true, [], ["no complete first message within 10 s"]]);
    }
  });

  test("from a balancer without its header makes room for a newer one, as any other does", async () => {
    const halfOpen = new HalfOpen(1);
    const first = connection(balancer, halfOpen);
    const second = connection(balancer, halfOpen);
    await first.received;
    expect([first.socket.destroyed, second.socket.destroyed, halfOpen.size]).toEqual([true, false, 1]);
    second.near.write(header);
    await second.received;
    expect(second.served).toHaveLength(1);
  });

  test("from any other address is served as it comes", async () => {
    const { near, served, received } = connection("198.51.100.1");
    await received;
    near.write(header);
    expect(served).toEqual([{ peer: "198.51.100.1:1", first: expect.anything() }]);
    expect(await served[0]?.first).toBe(header);
  });
});
