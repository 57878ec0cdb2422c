import { setMaxListeners } from "node:events";
import { openTunnel } from "../agent/tunnels/open-tunnel.ts";
import { Tunnels } from "../agent/tunnels/tunnels.ts";
import { type HostCredentials, joinHost } from "../core/api/host-credentials.ts";
import { silentLog } from "../core/log/log.ts";
import { dial } from "../core/transport/dial/dial.ts";
import { discoverTunnels } from "../core/transport/discover-tunnel.ts";
import { formatHostPort, parseHostPort } from "../core/transport/host-port.ts";
import { version } from "../core/versions/version.ts";

/*
 * Many agents in one process, as far as a tunnel needs them: each host has joined by itself, asks where the proxy is, opens
 * its tunnel, keeps it by heartbeats and comes back after a random delay, all with the agent's own modules.
 * node many-agents-load.ts PROXY PIN TOKEN, spoken to over the channel of child_process.
 */

export type LoadAsk = { readonly do: "join" | "open"; readonly count: number } | { readonly do: "state" };
/** `ids`: of the hosts that joined. `ups`: when each tunnel came up, wall clock, ms, since the last `state`. */
export interface LoadState {
  readonly joined: number;
  readonly open: number;
  readonly ids: readonly string[];
  readonly ups: readonly number[];
  /** Failed attempts since the last `state`, by code. */
  readonly failures: Readonly<Record<string, number>>;
}

/** Maximum concurrent joins. */
const joinsAtOnce = 8;
const [address = "", pin = "", token = ""] = process.argv.slice(2);
const proxy = parseHostPort(address, 443, "the proxy");
const clock = { wall: () => Date.now(), steady: () => performance.now() };
const hosts: { readonly name: string; readonly credentials: HostCredentials }[] = [];
const kept: Tunnels[] = [];
let [open, ups, failures]: [number, number[], Record<string, number>] = [0, [], {}];

async function joinUpTo(count: number): Promise<void> {
  let next = hosts.length;
  const worker = async (): Promise<void> => {
    while (next < count) {
      next += 1;
      const name = `load-${next}`;
      const facts = { role: "node", hostname: name, names: [], labels: { kind: "load" }, services: ["ssh"], version } as const;
      hosts.push({ name, credentials: await joinHost({ open: () => dial(proxy, { env: {} }), trust: { pins: [pin] }, token, ...facts }) });
    }
  };
  await Promise.all(Array.from({ length: joinsAtOnce }, worker));
}

function keep({ name, credentials }: (typeof hosts)[number]): Tunnels {
  const status = () => ({ upgrader: "none", sessions: 0 }) as const;
  const labels = () => ({ kind: "load" });
  const facts = { hostname: name, labels, services: ["ssh"], version, status };
  return new Tunnels({
    log: silentLog,
    clock,
    serve: async (channel) => void channel.destroy(),
    onAccess: () => {},
    onMaintenance: () => {},
    onAuthorities: () => {},
    onProxies: () => {},
    onResources: () => {},
    hostId: credentials.hostId,
    home: formatHostPort(proxy),
    remembered: [],
    status,
    labels,
    offered: () => undefined,
    open: async (_way, onStream, signal) => {
      try {
        setMaxListeners(0, signal);
        const [target] = await discoverTunnels({ proxy, hostCa: credentials.hostCaPem, env: {}, signal, refers: false });
        if (target === undefined) throw new Error("no tunnel address");
        const opened = await openTunnel({ target, credentials, facts, dial: { env: {} }, onStream, signal });
        open += 1;
        ups.push(Date.now());
        opened.transport.once("close", () => {
          open -= 1;
        });
        return opened;
      } catch (thrown) {
        const code = thrown instanceof Error && "code" in thrown ? String(thrown.code) : "bug";
        failures[code] = (failures[code] ?? 0) + 1;
        throw thrown;
      }
    },
  });
}

function state(): LoadState {
  const answer = { joined: hosts.length, open, ids: hosts.map(({ credentials }) => credentials.hostId), ups, failures };
  [ups, failures] = [[], {}];
  return answer;
}

process.on("message", (ask: LoadAsk) => {
  const answered = async (): Promise<LoadState> => {
    if (ask.do === "join") await joinUpTo(ask.count);
    if (ask.do === "open") for (const host of hosts.slice(kept.length, ask.count)) kept.push(keep(host));
    return state();
  };
  answered().then(
    (answer) => process.send?.(answer),
    (thrown: unknown) => {
      process.stderr.write(`${thrown instanceof Error ? thrown.stack : String(thrown)}\n`);
      process.exit(1);
    },
  );
});
process.on("disconnect", () => process.exit(0));
