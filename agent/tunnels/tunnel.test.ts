import { duplexPair } from "node:stream";
import { expect, test } from "vitest";
import { silentLog } from "../../core/log/log.ts";
import { Client } from "../../core/ssh/ssh2/hooks.ts";
import { readMessages } from "../../core/transport/read-frame.ts";
import { type AgentMessage, decodeAgentMessage, encodeTunnelMessage, maxTunnelMessage } from "../../core/transport/tunnel-message.ts";
import { firstHeartbeat, type HeartbeatAct, type HeartbeatState, heartbeat, lookMs, Tunnel } from "./tunnel.ts";

/** A tunnel to a proxy that answers nothing, and what it logs and sends. */
function silentTunnel(welcome: { readonly takesResources?: boolean } = {}) {
  const [control, far] = duplexPair();
  const [transport] = duplexPair();
  const sent: AgentMessage[] = [];
  readMessages(far, {
    maxLength: maxTunnelMessage,
    what: "tunnel message",
    decode: decodeAgentMessage,
    onMessage: (message) => sent.push(message),
    onError: () => {},
  });
  const warnings: [string, unknown][] = [];
  const log = { ...silentLog, warn: (text: string, facts?: unknown) => void warnings.push([text, facts]) };
  const opened = {
    connection: new Client(),
    transport: Object.assign(transport, { bytesRead: 0 }),
    control,
    welcome: { type: "welcome" as const, proxyId: "p", accessRevision: "1", ...welcome },
    status: { upgrader: "unit" as const, sessions: 0 },
    labels: {},
  };
  const no = (): void => {};
  const events = { onAccess: no, onMaintenance: no, onAuthorities: no, onProxies: no, onResources: no, onDrain: no, onEnd: no };
  const tunnel = new Tunnel(opened, { log, clock: { wall: () => 5, steady: () => 5 }, events });
  return { tunnel, warnings, sent };
}

const database = (health: string) => ({ kind: "db", name: "orders", labels: {}, details: { health } });

test("a proxy of the version before is sent no resources, and that is logged once, however often they change", () => {
  const { tunnel, warnings } = silentTunnel();
  tunnel.offer([]);
  for (const health of ["unknown", "healthy", "unhealthy", "healthy"]) tunnel.offer([database(health)]);
  tunnel.end("the test ends");
  expect(warnings).toEqual([["the proxy is too old for what this host offers: it is not reachable through it", { count: 1, kinds: "db" }]]);
});

test("a new tunnel asks at once for the proxy's revisions: the maintenance windows may have changed", async () => {
  const [control, far] = duplexPair();
  const [transport] = duplexPair();
  const asked: AgentMessage[] = [];
  readMessages(far, {
    maxLength: maxTunnelMessage,
    what: "tunnel message",
    decode: decodeAgentMessage,
    onMessage: (message) => {
      asked.push(message);
      if (message.type === "ping")
        far.write(encodeTunnelMessage({ type: "pong", time: message.time, accessRevision: "1", maintenanceRevision: "7" }));
    },
    onError: () => {},
  });
  const revision = Promise.withResolvers<string>();
  const connection = new Client();
  const opened = {
    connection,
    transport: Object.assign(transport, { bytesRead: 0 }),
    control,
    welcome: { type: "welcome" as const, proxyId: "p", accessRevision: "1" },
    status: { upgrader: "unit" as const, sessions: 0 },
    labels: {},
  };
  const ignored = (): void => {};
  const events = {
    onAccess: ignored,
    onMaintenance: revision.resolve,
    onAuthorities: ignored,
    onProxies: ignored,
    onResources: ignored,
    onDrain: ignored,
    onEnd: ignored,
  };
  const tunnel = new Tunnel(opened, { log: silentLog, clock: { wall: () => 5, steady: () => 5 }, events });
  expect(await revision.promise).toBe("7");
  expect(asked).toEqual([{ type: "ping", time: 5 }]);
  tunnel.end("the test ends");
});

interface Step {
  /** Time passed on both clocks since the previous step, ms. */
  readonly after: number;
  /** Time passed on the wall clock alone. */
  readonly jump?: number;
  readonly heard?: boolean;
}

function play(steps: readonly Step[]): HeartbeatAct[] {
  let [wall, steady] = [1_000_000, 500];
  let state: HeartbeatState = firstHeartbeat({ wall, steady });
  return steps.map(({ after, jump = 0, heard = false }) => {
    steady += after;
    wall += after + jump;
    const next = heartbeat(state, { wall, steady, heard: heard ? steady : state.heard });
    state = next.state;
    return next.act;
  });
}

const look: Step = { after: lookMs };
const answered: Step = { after: lookMs, heard: true };

test("a ping goes out every 10 s", () => {
  expect(play([look, answered, look, answered])).toEqual(["nothing", "ping", "nothing", "ping"]);
});

test("a silent peer is dead within 45 s", () => {
  const acts = play(Array.from({ length: 8 }, () => look));
  expect(acts.slice(0, 7)).not.toContain("dead");
  expect(acts[7]).toBe("dead");
});

test.for([
  ["forward", 3_600_000],
  ["back", -60_000],
])("a clock that jumps %s makes the agent ping at once, and the peer must answer within 10 s", ([, jump]) => {
  expect(play([answered, { after: lookMs, jump: jump as number }, look, look])).toEqual(["nothing", "ping", "nothing", "dead"]);
  expect(play([answered, { after: lookMs, jump: jump as number }, answered, look, look])).toEqual(["nothing", "ping", "nothing", "ping", "nothing"]);
});

test("a process that stood still does not take its own silence for the peer's", () => {
  expect(play([answered, { after: 300_000 }, look, look])).toEqual(["nothing", "ping", "nothing", "dead"]);
  expect(play([answered, { after: 300_000 }, answered])).toEqual(["nothing", "ping", "nothing"]);
});
