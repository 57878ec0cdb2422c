import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { type Duplex, PassThrough } from "node:stream";
import { afterEach, expect, test, vi } from "vitest";
import { silentLog } from "../../../core/log/log.ts";
import { createTestAuthority } from "../../../core/transport/dial/testing/test-certificate.ts";
import { fakeTunnel } from "../tunnels/testing/fake-tunnel.ts";
import { openMs, type Tunnel } from "../tunnels/tunnel.ts";
import { watchPresence } from "./client-presence.ts";
import { tunnelTarget } from "./find-target.ts";
import type { OfferingAgent } from "./offering-agents.ts";
import { openToAgent, waysTo } from "./open-to-agent.ts";

afterEach(() => void vi.useRealTimers());

/** An agent by its name: `t…` has a tunnel, all others are dialled. */
function agent(name: string, health = "healthy", openStream?: Tunnel["openStream"]): OfferingAgent {
  const offered = { kind: "kube", name: "prod", labels: {}, details: { health } };
  if (name.startsWith("t")) return { agent: tunnelTarget(fakeTunnel({ id: name, ...(openStream && { openStream }) })), offered };
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

const undialled = { current: () => Promise.reject(new Error("no agent is to be dialled")) as never };
const wanted = { kind: "kube", target: "prod", hostAuthorities: [] } as const;
const services = { identity: undialled, now: () => new Date(), log: silentLog };

/** Agents with a tunnel that do not answer, as `Tunnel.openStream` has it, under a clock that stands still. `answer`: the one that was tried last does now. */
function silentAgents(count: number) {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const tried: string[] = [];
  let answer: (channel: Duplex) => void = () => {};
  const agents = Array.from({ length: count }, (_, index) => {
    const name = `t${index}`;
    return agent(name, "healthy", (timeoutMs) => {
      tried.push(name);
      return new Promise((resolve, reject) => {
        answer = resolve;
        setTimeout(() => reject(new Error(`${name} did not open a stream in time`)), timeoutMs);
      });
    });
  });
  return { agents, tried, answer: (channel: Duplex) => answer(channel) };
}

test("all agents together have 15 s: the last one that was tried is given up, and no other is tried", async () => {
  const { agents, tried, answer } = silentAgents(5);
  const opening = expect(openToAgent(agents, wanted, services)).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringMatching(/2 of its 5 agents do not answer, and there was no time for the others: t0 did not open a stream in time/),
  });
  await vi.advanceTimersByTimeAsync(openMs + 5_000);
  await opening;
  expect(tried).toEqual(["t0", "t1"]);
  const late = new PassThrough();
  answer(late);
  await once(late, "close");
});

test("a client that leaves ends the search at once: a channel that comes later is closed", async () => {
  const { agents, tried, answer } = silentAgents(3);
  const client = new PassThrough();
  using presence = watchPresence(client);
  const opening = expect(openToAgent(agents, { ...wanted, left: presence.left }, services)).rejects.toMatchObject({ message: "the client has left" });
  client.destroy();
  await opening;
  expect(tried).toEqual(["t0"]);
  const late = new PassThrough();
  answer(late);
  await once(late, "close");
});

test("a client that leaves ends the dialling of agents, too", async () => {
  const { cert: tlsCertificate, key: tlsPrivateKey } = await (await createTestAuthority()).issue({ type: "dns", value: "proxy.test" });
  await using silent = createServer().listen(0, "127.0.0.1");
  await once(silent, "listening");
  const address = `127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const { offered, agent: dialled } = agent("d1");
  const agents = [{ offered, agent: { ...dialled, addresses: [address, address.replace("127.0.0.1", "127.0.0.2")] } }];
  const client = new PassThrough();
  using presence = watchPresence(client);
  const identity = { current: () => ({ cluster: "c", credentials: { tlsCertificate, tlsPrivateKey } }) };
  const opening = expect(openToAgent(agents, { ...wanted, left: presence.left }, { ...services, identity })).rejects.toMatchObject({
    message: "the client has left",
  });
  const [dial] = (await once(silent, "connection")) as [Socket];
  const closed = once(dial.on("error", () => {}).resume(), "close");
  client.destroy();
  await Promise.all([opening, closed]);
});
