import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { cpus, loadavg, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type Cluster, startCluster } from "../test/world/cluster.ts";
import { freePorts } from "../test/world/free-port.ts";
import { output, program, start } from "../test/world/program.ts";
import { putRole } from "../test/world/put-role.ts";
import { type Service, startService } from "../test/world/service.ts";
import { until } from "../test/world/until.ts";
import { startAgentsLoad } from "./agents-load.ts";
import { type LoadProcess, startLoadProcess } from "./load-process.ts";
import { cpuSeconds, figure, machineSeconds, percentile, spread } from "./measure.ts";
import type { ClientsAnswer, ClientsAsk } from "./version-clients.ts";

export interface VersionRequestsOptions {
  /** Clients, each with one request a second, and as many tunnels. */
  readonly clients: number;
  readonly seconds: number;
  /** Of the stream. */
  readonly megabytesPerSecond: number;
  readonly rounds: number;
}

type Clients = LoadProcess<ClientsAsk, ClientsAnswer>;

interface Requesting {
  readonly clients: Clients;
  /** One for each client. */
  readonly queries: readonly string[];
}

/** What one run of one phase shows; the stream's: MB/s of the whole, of the worst second, and its longest delay, ms. */
interface Run {
  readonly requests?: ClientsAnswer;
  readonly stream?: readonly [mean: number, worst: number, behind: number];
  /** Of control, processors. */
  readonly cpu: number;
  /** Of everything on the machine, processors. */
  readonly all: number;
}

const [version, path] = ["v1.2.3", "/v1/webapi/automaticupgrades/channel/default/version"];

/** Version requests of many clients, beside as many tunnels and one stream, each of them also without the others. */
export async function versionRequests(options: VersionRequestsOptions): Promise<string> {
  const { clients: count, seconds, megabytesPerSecond, rounds } = options;
  const load = figure(loadavg()[0] ?? 0, 1);
  const channel = `  automatic_upgrades_channels:\n    default: { static_version: ${version} }\n`;
  await using cluster = await startCluster({ proxyService: channel });
  await using stream = await openStream(cluster);
  using agents = startAgentsLoad([cluster.proxy, await cluster.pin(), await cluster.token()]);
  const { ids } = await agents.ask({ do: "join", count });
  await agents.ask({ do: "open", count });
  await agents.allOpen(count);
  const [host = "", port = ""] = cluster.proxy.split(":");
  using byChannel = startLoadProcess<ClientsAsk, ClientsAnswer>("version-clients.ts", [host, port, path, version]);
  using byHost = startLoadProcess<ClientsAsk, ClientsAnswer>("version-clients.ts", [host, port, path, version]);
  const channelClients: Requesting = { clients: byChannel, queries: ids.map(() => "") };
  const hostClients: Requesting = { clients: byHost, queries: ids.map((id) => `?host=${id}`) };
  const phase = async (parts: { requests?: Requesting; stream?: boolean }): Promise<Run> => {
    // The proxy closes connections that were idle in the phase before.
    await parts.requests?.clients.ask({ do: "connect", queries: parts.requests.queries });
    const before = [await cpuSeconds(cluster.control.pid), machineSeconds()] as const;
    const [requests, pace] = await Promise.all([
      parts.requests?.clients.ask({ do: "run", seconds }),
      parts.stream === true ? stream.read(megabytesPerSecond, seconds) : undefined,
    ]);
    const cpu = ((await cpuSeconds(cluster.control.pid)) - before[0]) / seconds;
    const all = (machineSeconds() - before[1]) / seconds;
    return { cpu, all, ...(requests && { requests }), ...(pace && { stream: pace }) };
  };
  const phases = {
    "the stream alone": () => phase({ stream: true }),
    "requests alone, of a channel": () => phase({ requests: channelClients }),
    "requests alone, of hosts": () => phase({ requests: hostClients }),
    "both, of a channel": () => phase({ requests: channelClients, stream: true }),
    "both, of hosts": () => phase({ requests: hostClients, stream: true }),
  };
  // The first requests compile what all later ones use.
  for (const { clients, queries } of [hostClients, channelClients]) {
    await clients.ask({ do: "connect", queries });
    await clients.ask({ do: "run", seconds: 5 });
  }
  await agents.ask({ do: "state" });
  const runs: Record<string, Run[]> = {};
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, run] of Object.entries(phases)) {
      const one = await run();
      process.stderr.write(`  ${name}: ${line([one])}\n`);
      runs[name] = [...(runs[name] ?? []), one];
    }
  }
  const { open, ups } = await agents.ask({ do: "state" });
  const rows = Object.entries(runs).map(([name, all]) => `| ${name} | ${line(all)} |`);
  return `## ${count} version requests a second

${count} clients with a connection (TLS 1.3) and an address of their own, each requesting \`GET …/channel/default/version\` once a second, on time whether or not the answer before
has come: latency counts from that time, and the clients' own delays with it. "Of hosts": with \`?host=<id>\`, as updaters request it: the auth service decides by the roll-out and
signs. Beside them ${count} tunnels of ${count} hosts, idle but for heartbeats, and a stream of ${megabytesPerSecond} MB/s down, by \`tsh proxy app\` from a TCP application. Control is the executable, auth and
proxy in one process; clients, agents, \`tsh\` and both ends of the stream share the ${cpus().length} processors with it. ${seconds} s a run, medians of ${rounds} rounds; "longest", "worst" and "behind" are those of
all rounds: the slowest answer, the stream's slowest second, the longest time that it was behind its rate. Aim: p99 under 50 ms, no error, the stream and the tunnels as without requests.

| run | requests/s | p50 ms | p99 ms | longest ms | failed | stream MB/s | worst second | behind, ms | control, processors | machine, processors |
|---|---|---|---|---|---|---|---|---|---|---|
${rows.join("\n")}

Tunnels at the end: **${open}** of ${count}, opened again meanwhile: **${ups.length}**. Load of the machine before it began: ${load}.
`;

  function line(all: readonly Run[]): string {
    const requests = all.flatMap((one) => (one.requests === undefined ? [] : [one.requests]));
    const latencies = requests.flatMap((one) => one.latencies);
    const median = (pick: (one: ClientsAnswer) => number): number => spread(requests.map(pick)).median;
    const asked = [
      figure(
        median((one) => one.latencies.length / seconds),
        0,
      ),
      figure(
        median((one) => percentile(one.latencies, 50)),
        1,
      ),
      figure(
        median((one) => percentile(one.latencies, 99)),
        1,
      ),
      figure(spread(latencies).max, 0),
      String(requests.reduce((sum, one) => sum + one.failed, 0)),
    ];
    const paces = all.flatMap((one) => (one.stream === undefined ? [] : [one.stream]));
    const means = [
      spread(paces.map(([mean]) => mean)).median,
      spread(paces.map(([, worst]) => worst)).min,
      spread(paces.map(([, , behind]) => behind)).max,
    ];
    const cells = [...(requests.length === 0 ? asked.map(() => "-") : asked), ...means.map((one) => (paces.length === 0 ? "-" : figure(one, 0)))];
    return [...cells, ...[all.map((one) => one.cpu), all.map((one) => one.all)].map((used) => figure(spread(used).median))].join(" | ");
  }
}

interface Stream extends AsyncDisposable {
  read(megabytesPerSecond: number, seconds: number): Promise<readonly [number, number, number]>;
}

/** A TCP application behind an agent, and `tsh proxy app` to it. */
async function openStream(cluster: Cluster): Promise<Stream> {
  await using stack = new AsyncDisposableStack();
  const dir = await mkdtemp(join(tmpdir(), "platform-stream-"));
  stack.defer(() => rm(dir, { recursive: true, force: true }));
  const load = join(dir, "load");
  await output("gcc", ["-O2", "-pthread", "-o", load, resolve(import.meta.dirname, "load.c")]);
  const [resource] = (await freePorts(1)) as [number];
  const serving: Service = stack.use(startService(load, ["serve", String(resource)]));
  await until("the resource listens", () => serving.printed().includes("ready"));
  await putRole(cluster, "stream", { options: { max_session_ttl: "8h" }, allow: { app_labels: { env: "bench" } } });
  const app = `app_service:\n  enabled: yes\n  apps:\n    - { name: stream, uri: "tcp://127.0.0.1:${resource}", labels: { env: bench } }\n`;
  await cluster.agent({ name: "stream-1", services: app, token: await cluster.token("--type=app"), noWait: true });
  const user = await cluster.user("alice", { roles: "stream" });
  await until("the application is offered", async () => (await user.tsh(["apps", "ls"])).stdout.includes("stream"));
  const proxy = start(program("tsh"), ["proxy", "app", "stream"], { env: { TSH_HOME: user.home } });
  let said = "";
  for (const pipe of [proxy.stdout, proxy.stderr]) pipe?.on("data", (chunk: Buffer) => (said += chunk.toString()));
  stack.defer(async () => {
    const closed = once(proxy, "close");
    proxy.kill("SIGINT");
    await closed;
  });
  const port = await until("tsh listens", () => {
    if (proxy.exitCode !== null) throw new Error(said);
    return /127\.0\.0\.1:(\d+)/.exec(said)?.[1];
  });
  const ending = stack.move();
  return {
    read: async (rate, seconds) => {
      const text = await output(load, ["pace", port, String(rate), String(seconds)], { limitMs: 10 * seconds * 1000 });
      const [mean = 0, worst = 0, behind = 0] = text.split(" ").map(Number);
      return [mean, worst, behind];
    },
    [Symbol.asyncDispose]: () => ending.disposeAsync(),
  };
}
