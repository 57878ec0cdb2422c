import { cpus } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { type Cluster, startCluster } from "../test/world/cluster.ts";
import { type AgentsLoad, startAgentsLoad } from "./agents-load.ts";
import { cpuSeconds, figure, memory, spread } from "./measure.ts";

/** All that is measured of one mode; memory in KiB. */
type Mode = "multiplex" | "separate";
type Memory = Awaited<ReturnType<typeof memory>>;
interface Return {
  readonly how: string;
  /** Since the signal to the old control, seconds: first, median, last. */
  readonly first: number;
  readonly median: number;
  readonly last: number;
  /** Until the new control answers, seconds. */
  readonly ready: number;
  /** Of the new control, from its start until the last agent was back. */
  readonly cpu: number;
  readonly failures: string;
}
interface Measured {
  readonly mode: Mode;
  readonly agents: number;
  readonly one: Memory;
  readonly hundred: Memory;
  readonly all: Memory;
  readonly returns: readonly Return[];
}

export interface ManyAgentsOptions {
  readonly agents: number;
  readonly rounds: number;
  /** How long tunnels are idle before memory is read, ms. */
  readonly idleMs?: number;
  readonly modes?: readonly Mode[];
}

const few = 100;
/**
 * Until the pages of the executable that V8's compilers use are back, with few agents as with many: they count as control's, and 30 s after the last tunnel
 * either had them or not, 6 MiB. ms.
 */
const usualIdleMs = 60_000;

/** Memory of the proxy for each idle agent, and the return of all agents after control was restarted. */
export async function manyAgents({ agents, rounds, idleMs = usualIdleMs, modes = ["multiplex", "separate"] }: ManyAgentsOptions): Promise<string> {
  const all: Measured[] = [];
  for (let round = 0; round < rounds; round += 1) {
    for (const mode of modes) all.push(await measure(mode, { agents, idleMs }));
  }
  const of = (mode: Mode): readonly Measured[] => all.filter((one) => one.mode === mode);
  const kinds = ["rss", "pss", "anonymous"] as const;
  const memoryRows = modes.flatMap((mode) => kinds.map((kind) => memoryRow(of(mode), { kind, agents })));
  const returnRows = modes.flatMap((mode) => ["SIGTERM", "SIGKILL"].map((how) => returnRow(of(mode), how)));
  return `## ${agents} agents

Control is the executable, auth and proxy in one process. The agents are separate hosts that joined one by one, held by one process with the
agent's own modules; heartbeats flow. Medians of ${rounds} runs (range). Memory: control freshly started, read ${idleMs / 1000} s after the last
of 1, ${few} and ${agents} tunnels was opened; the cost of one agent is the difference between ${few} and ${agents}, divided. Bound: 64 KiB.

| mode | memory | 1 agent, MiB | ${few}, MiB | ${agents}, MiB | KiB for each agent, ${few} → ${agents} | 1 → ${agents} |
|---|---|---|---|---|---|---|
${memoryRows.join("\n")}

Return of all ${agents} after control was ended and started again on the same ports; seconds since the signal. Processor time is the new
control's, its start included; the agents' half of each handshake runs on the same ${cpus().length} processors.

| mode | ended by | control answers | first back | median | last | control CPU s | ms for each agent | failed tries |
|---|---|---|---|---|---|---|---|---|
${returnRows.join("\n")}

What TLS adds is native memory: about 28 KiB of OpenSSL's and Node's state for each connection (counted with a wrapped malloc).
What is left and what was done is in docs/decisions/0012-memory-of-an-idle-tunnel.md: shared listeners and nothing kept of handshakes (37 → 24 KiB of
JavaScript heap, code included), no pooled memory held (4 KiB), a garbage collection and a trimmed C heap once a burst is over,
no names for closures that are made at run time (7 KiB of V8's pages). Tried before that:
MALLOC_ARENA_MAX (no clear effect); X25519 instead of the post-quantum hybrid (13 KiB less, not kept: it would weaken what an
eavesdropper stores).
`;
}

function memoryRow(runs: readonly Measured[], { kind, agents }: { kind: keyof Memory; agents: number }): string {
  const mib = (pick: (run: Measured) => Memory): string => figure(spread(runs.map((run) => pick(run)[kind] / 1024)).median, 1);
  const cost = (from: (run: Measured) => Memory, count: number): string => {
    const { min, median, max } = spread(runs.map((run) => (run.all[kind] - from(run)[kind]) / (agents - count)));
    return `${figure(median, 1)} (${figure(min, 1)}–${figure(max, 1)})`;
  };
  const sizes = [mib((run) => run.one), mib((run) => run.hundred), mib((run) => run.all)];
  return `| ${runs[0]?.mode} | ${kind} | ${sizes.join(" | ")} | ${cost((run) => run.hundred, few)} | ${cost((run) => run.one, 1)} |`;
}

function returnRow(runs: readonly Measured[], how: string): string {
  const returns = runs.flatMap((run) => run.returns.filter((one) => one.how === how));
  const median = (pick: (one: Return) => number): string => {
    const { min, median: middle, max } = spread(returns.map(pick));
    return `${figure(middle, 1)} (${figure(min, 1)}–${figure(max, 1)})`;
  };
  const columns = [median((one) => one.ready), median((one) => one.first), median((one) => one.median), median((one) => one.last)];
  const each = median((one) => (one.cpu * 1000) / (runs[0]?.agents ?? 1));
  return `| ${runs[0]?.mode} | ${how} | ${columns.join(" | ")} | ${median((one) => one.cpu)} | ${each} | ${returns.map((one) => one.failures).join("; ")} |`;
}

async function measure(mode: Mode, { agents, idleMs }: { agents: number; idleMs: number }): Promise<Measured> {
  await using cluster = await startCluster({ mode });
  using load = startAgentsLoad([cluster.proxy, await cluster.pin(), await cluster.token()]);
  await load.ask({ do: "join", count: agents });
  // What the joins left behind is not the tunnels'.
  await cluster.restart();
  const idle = async (count: number): Promise<Memory> => {
    await load.ask({ do: "open", count });
    await load.allOpen(count);
    await sleep(idleMs);
    const used = await memory(cluster.control.pid);
    process.stderr.write(`  ${mode}: ${count} agents: ${JSON.stringify(used)}\n`);
    return used;
  };
  const [one, hundred, all] = [await idle(1), await idle(few), await idle(agents)];
  const returns: Return[] = [];
  for (const how of ["SIGTERM", "SIGKILL"] as const) {
    returns.push(await comeBack(cluster, load, { how, agents }));
    process.stderr.write(`  ${mode}: ${JSON.stringify(returns.at(-1))}\n`);
  }
  return { mode, agents, one, hundred, all, returns };
}

async function comeBack(cluster: Cluster, load: AgentsLoad, { how, agents }: { how: "SIGTERM" | "SIGKILL"; agents: number }): Promise<Return> {
  await load.ask({ do: "state" });
  const start = Date.now();
  if (how === "SIGKILL") await cluster.control.kill();
  await cluster.restart();
  const ready = (Date.now() - start) / 1000;
  const { ups, failures } = await load.allOpen(agents);
  const cpu = await cpuSeconds(cluster.control.pid);
  const { min, median, max } = spread(ups.map((time) => (time - start) / 1000));
  const codes = Object.entries(failures).map(([code, count]) => `${count} ${code}`);
  return { how, first: min, median, last: max, ready, cpu, failures: codes.join(", ") || "none" };
}
