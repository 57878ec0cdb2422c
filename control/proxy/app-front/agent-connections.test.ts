import { Duplex } from "node:stream";
import { create } from "@bufbuild/protobuf";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { AuthClient } from "../../../core/api/auth-client.ts";
import { SignBrowserAppResponseSchema } from "../../../core/api/generated/platform/auth/v1/auth_pb.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { UserIdentity } from "../../../core/identity/identity.ts";
import { silentLog } from "../../../core/log/log.ts";
import { roleSchema } from "../../../core/resources/role.ts";
import { RunningStreams } from "../routing/running-streams.ts";
import { accessOf } from "../routing/testing/access-of.ts";
import { routingParts } from "../routing/testing/routing-parts.ts";
import { type RoutedTunnel, TunnelRegistry } from "../tunnels/registry.ts";
import { fakeTunnel } from "../tunnels/testing/fake-tunnel.ts";
import { AgentConnections } from "./agent-connections.ts";

const now = (): Date => new Date("2026-11-20T12:00:00Z");
const labels = { env: "test" };
const spec = { allow: { app_labels: labels } };
const access = accessOf({ roles: [roleSchema.parse({ kind: "role", version: "v7", metadata: { name: "dev" }, spec })] });
const validBefore = new Date("2026-11-20T13:00:00Z");
const user: UserIdentity = { kind: "user", name: "ann", roles: ["dev"], traits: {}, principals: {}, cluster: "c", validBefore };
const visit = { credential: { id: "s1", secret: "", subject: "" }, app: "wiki", peer: "192.0.2.7:40000" };

/** Connections to `wiki` at two agents, which answer the proxy's request for a stream by `open`. `asked`: their ids, one for each request. */
function connectionsTo(open: () => Promise<Duplex>, sign: AuthClient["signBrowserApp"] = async () => create(SignBrowserAppResponseSchema)) {
  const asked: string[] = [];
  const registry = new TunnelRegistry<RoutedTunnel>();
  for (const id of ["a", "b"]) {
    const openStream = (): Promise<Duplex> => {
      asked.push(id);
      return open();
    };
    const tunnel = fakeTunnel({ id, openStream });
    registry.add(tunnel);
    registry.offer(tunnel, [{ kind: "app", name: "wiki", labels, details: { scheme: "http" } }]);
  }
  const end = new AbortController();
  const connections = new AgentConnections({
    ...routingParts(access),
    registry,
    running: new RunningStreams({ log: silentLog, now }),
    between: async (channel) => channel,
    now,
    signal: end.signal,
    auth: { signBrowserApp: sign },
    sessions: { hold: () => () => {}, userOf: async () => user },
  });
  return { connections, asked, [Symbol.dispose]: () => end.abort() };
}

test("agents that open no stream are asked once: all of them were tried", async () => {
  using world = connectionsTo(() => Promise.reject(new PlatformError("unavailable", "refused a stream")));
  await expect(world.connections.connect(visit)).rejects.toThrow(/none of its 2 agents answers/);
  expect(world.asked.toSorted()).toEqual(["a", "b"]);
});

test("a connection that breaks at its agent is tried once more", async () => {
  const broken = (): Duplex => {
    const stream = new Duplex({ read: () => {}, write: (_chunk, _encoding, written) => written() });
    stream.push(null);
    return stream;
  };
  using world = connectionsTo(async () => broken());
  await expect(world.connections.connect(visit)).rejects.toMatchObject({ code: "unavailable" });
  expect(world.asked).toHaveLength(2);
});

test("a client that leaves while an agent is asked ends it at once", async () => {
  const asked = Promise.withResolvers<void>();
  using world = connectionsTo(() => {
    asked.resolve();
    return new Promise(() => {});
  });
  const left = new AbortController();
  const connecting = expect(world.connections.connect(visit, left.signal)).rejects.toThrow(/the client has left/);
  await asked.promise;
  left.abort();
  await connecting;
  expect(world.asked).toHaveLength(1);
});

describe("a request that waits", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
  afterEach(() => void vi.useRealTimers());

  const stays = new AbortController().signal;
  const silent = (): Duplex => new Duplex({ read: () => {}, write: (_chunk, _encoding, written) => written() });
  const until = (signal?: AbortSignal | null): Promise<never> =>
    new Promise((_resolve, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));

  test("for one of 32 to end fails after a minute, or goes with its client, and has its turn before", async () => {
    using world = connectionsTo(async () => silent());
    const { promise, resolve } = Promise.withResolvers<void>();
    const running = Array.from({ length: 32 }, () => world.connections.inTurn(visit, stays, () => promise));
    const pass = vi.fn(async () => {});
    const left = new AbortController();
    const gone = expect(world.connections.inTurn(visit, left.signal, pass)).rejects.toThrow(/the client has left/);
    left.abort();
    await gone;
    const late = expect(world.connections.inTurn(visit, stays, pass)).rejects.toMatchObject({
      code: "timeout",
      message: "32 requests of this browser to wiki are still running; this one has waited 60 s for one to end",
    });
    await vi.advanceTimersByTimeAsync(59_999);
    const inTime = world.connections.inTurn(visit, stays, pass);
    await vi.advanceTimersByTimeAsync(1);
    await late;
    expect(pass).not.toHaveBeenCalled();
    // What runs has no limit of time.
    await vi.advanceTimersByTimeAsync(59_998);
    resolve();
    await Promise.all([inTime, ...running]);
    expect(pass).toHaveBeenCalledTimes(1);
  });

  test("for a connection to an agent fails after a minute, or goes with its client, wherever it stands", async () => {
    using world = connectionsTo(
      async () => silent(),
      async (_ask, options) => await until(options?.signal),
    );
    const left = new AbortController();
    // Eight at a time: the last one stands in line.
    const all = Array.from({ length: 9 }, () => world.connections.connect(visit, stays));
    const outcomes = Promise.allSettled(all);
    const gone = expect(world.connections.connect(visit, left.signal)).rejects.toThrow(/the client has left/);
    left.abort();
    await gone;
    await vi.advanceTimersByTimeAsync(60_000);
    const reasons = (await outcomes).map((outcome) => outcome.status === "rejected" && String(outcome.reason));
    expect(new Set(reasons)).toEqual(new Set(["PlatformError: a connection to wiki could not be opened within 60 s"]));
  });

  test("whose client leaves while the agent is silent gives the agent's stream back at once", async () => {
    const opened: Duplex[] = [];
    using world = connectionsTo(async () => {
      opened.push(silent());
      return opened.at(-1) ?? silent();
    });
    const left = new AbortController();
    const connecting = expect(world.connections.connect(visit, left.signal)).rejects.toThrow(/the client has left/);
    await vi.waitUntil(() => opened.length > 0);
    left.abort();
    await connecting;
    expect(opened.map(({ destroyed }) => destroyed)).toEqual([true]);
  });
});
