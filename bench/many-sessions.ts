import { setTimeout as sleep } from "node:timers/promises";
import { startCluster } from "../test/world/cluster.ts";
import { makeAccount } from "../test/world/unix-account.ts";
import { startLoadProcess } from "./load-process.ts";
import type { SessionsAsk, SessionsTold } from "./many-sessions-load.ts";
import { cpuOf, figure, memory, percentile, spread } from "./measure.ts";

export interface ManySessionsOptions {
  /** Sessions that stay. */
  readonly held: number;
  readonly perSecond: number;
  readonly seconds: number;
}

/** What a process has at one time; `children`: those that have ended. */
interface Used {
  readonly mib: number;
  readonly cpu: { readonly own: number; readonly children: number };
}

/** Sessions at a terminal that stay, and new ones all the time, through one proxy to one host. */
export async function manySessions({ held, perSecond, seconds }: ManySessionsOptions): Promise<string> {
  await using cluster = await startCluster();
  const agent = await cluster.agent({ name: "web-1" });
  // Its start files do nothing: those of the user who runs this may take longer than everything else.
  await using account = await makeAccount("sessions");
  const user = await cluster.user("alice", { logins: account.login });
  using load = startLoadProcess<SessionsAsk, SessionsTold>("many-sessions-load.ts", [user.home, account.login, "web-1"]);
  const processes = { control: cluster.control.pid, agent: agent.service.pid, clients: load.pid };
  const use = async (): Promise<Record<keyof typeof processes, Used>> => {
    const of = async (pid: number): Promise<Used> => ({ mib: (await memory(pid)).rss / 1024, cpu: await cpuOf(pid) });
    return { control: await of(processes.control), agent: await of(processes.agent), clients: await of(processes.clients) };
  };
  const before = await use();
  const standing = await load.ask({ do: "hold", count: held });
  await sleep(5_000);
  const full = await use();
  // The first half warms up, and shows whether the second has more memory.
  const first = await load.ask({ do: "churn", perSecond, seconds });
  const middle = await use();
  const second = await load.ask({ do: "churn", perSecond, seconds });
  const after = await use();
  const row = (name: string, values: readonly number[]): string =>
    `| ${name} | ${values.length} | ${figure(spread(values).median, 1)} | ${figure(percentile(values, 99), 1)} | ${figure(spread(values).max, 1)} |`;
  const visits = first.news.length + second.news.length;
  const spent = (name: keyof typeof processes, whose: keyof Used["cpu"]): number => after[name].cpu[whose] - full[name].cpu[whose];
  const used = (name: keyof typeof processes): string => {
    const mib = [before, full, middle, after].map((one) => figure(one[name].mib, 0));
    const each = ((full[name].mib - before[name].mib) * 1024) / held;
    return `| ${name} | ${mib.join(" | ")} | ${figure(each, 0)} | ${figure((spent(name, "own") * 1000) / visits, 1)} |`;
  };
  return `## ${held} sessions, and ${perSecond} new ones a second

${standing.held} sessions at terminals (recorded), each over a connection of its own, through one proxy to one agent; beside them ${perSecond} new ones a second for twice
${seconds} s, each a connection, a command and its end; a key is typed in one of those that stay ten times a second. Clients, proxy and agent share the
processors of this machine. Times in ms, as the client sees them, of the second half. Aim: no error.

| what | count | p50 | p99 | longest |
|---|---|---|---|---|
${row("a new session, from dialling to exit status", second.news)}
${row("a key's echo in a session that stays", second.echoes)}

| process | MiB before | with all sessions | after ${seconds} s | after ${2 * seconds} s | KiB for each session | ms of processor for each new one |
|---|---|---|---|---|---|---|
${used("control")}
${used("agent")}
${used("clients")}

What the agent starts takes ${figure((spent("agent", "children") * 1000) / visits, 1)} ms of processor besides, for each new session.

Failed: **${second.failures.length}** of ${standing.held + first.news.length + second.news.length + second.failures.length} sessions.${second.failures.length === 0 ? "" : ` ${second.failures.slice(0, 3).join("; ")}`}
`;
}
