import { setTimeout as sleep } from "node:timers/promises";
import { startCluster } from "../test/world/cluster.ts";
import { cpuSeconds, figure, memory, percentile, spread } from "./measure.ts";
import { sshLogin } from "./openssh.ts";
import { startSessionsLoad } from "./sessions-load.ts";

export interface ManySessionsOptions {
  /** Sessions that stay. */
  readonly held: number;
  readonly perSecond: number;
  readonly seconds: number;
}

/** What the two processes of the path have at one time; memory in MiB. */
interface Used {
  readonly control: { readonly mib: number; readonly cpu: number };
  readonly agent: { readonly mib: number; readonly cpu: number };
}

/** Sessions at a terminal that stay, and new ones all the time, through one proxy to one host. */
export async function manySessions({ held, perSecond, seconds }: ManySessionsOptions): Promise<string> {
  await using cluster = await startCluster();
  const agent = await cluster.agent({ name: "web-1" });
  const user = await cluster.user("alice", { logins: sshLogin });
  using load = startSessionsLoad([user.home, sshLogin, "web-1"]);
  const use = async (): Promise<Used> => {
    const of = async (pid: number) => ({ mib: (await memory(pid)).rss / 1024, cpu: await cpuSeconds(pid) });
    return { control: await of(cluster.control.pid), agent: await of(agent.service.pid) };
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
  const used = (name: string, pick: (one: Used) => Used["control"]): string => {
    const [mib, cpu] = [[before, full, middle, after].map((one) => figure(pick(one).mib, 0)), (pick(after).cpu - pick(full).cpu) / (2 * seconds)];
    return `| ${name} | ${mib.join(" | ")} | ${figure(cpu, 2)} | ${figure(((pick(full).mib - pick(before).mib) * 1024) / held, 0)} |`;
  };
  return `## ${held} sessions, and ${perSecond} new ones a second

${standing.held} sessions at terminals (recorded), each over a connection of its own, through one proxy to one agent; beside them ${perSecond} new ones a second for twice
${seconds} s, each a connection, a command and its end; a key is typed in one of those that stay ten times a second. Clients, proxy and agent share the
processors of this machine. Times in ms, as the client sees them, of the second half. Aim: no error.

| what | count | p50 | p99 | longest |
|---|---|---|---|---|
${row("a new session, from dialling to exit status", second.news)}
${row("a key's echo in a session that stays", second.echoes)}

| process | MiB before | with all sessions | after ${seconds} s | after ${2 * seconds} s | processors busy | KiB for each session |
|---|---|---|---|---|---|---|
${used("control", (one) => one.control)}
${used("agent", (one) => one.agent)}

Failed: **${second.failures.length}** of ${standing.held + first.news.length + second.news.length + second.failures.length} sessions.${second.failures.length === 0 ? "" : ` ${second.failures.slice(0, 3).join("; ")}`}
`;
}
