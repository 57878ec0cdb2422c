import { setTimeout as sleep } from "node:timers/promises";
import type { DatabaseAsk, DatabaseTold } from "./database-sessions-load.ts";
import type { DatabaseWorld } from "./database-world.ts";
import { type LoadProcess, startLoadProcess } from "./load-process.ts";
import { figure, memory, percentile, spread } from "./measure.ts";

export interface DatabaseSessionsOptions {
  /** Idle sessions whose memory is counted, beside those that are there before; a server of PostgreSQL has 100 at most. */
  readonly idle: { readonly pg: number; readonly cache: number };
  /** Sessions that stay, and new ones beside them. */
  readonly held: number;
  readonly perSecond: number;
  readonly seconds: number;
}

type Load = LoadProcess<DatabaseAsk, DatabaseTold>;

/** Sessions that are there before memory is counted: what the first ones load is not counted. */
const before = 20;
/** Time for garbage of the logins to be collected, ms. */
const quietMs = 20_000;

/** Memory of idle sessions; and many that stay, with new ones beside them. */
export async function databaseSessions(world: DatabaseWorld, options: DatabaseSessionsOptions): Promise<string> {
  const homes = world.users.map(({ home }) => home);
  using load = startLoadProcess<DatabaseAsk, DatabaseTold>("database-sessions-load.ts", homes);
  const rows: string[] = [];
  for (const [at, title] of [
    ["pg", "PostgreSQL"],
    ["cache", "Redis"],
  ] as const) {
    const { agent, control, count } = await idleMemory(world, load, { at, count: options.idle[at] });
    rows.push(`| ${title} | ${count} | ${figure(control, 0)} | ${figure(agent, 0)} | ${figure(control + agent, 0)} |`);
  }
  return `Memory of an idle session, KiB (anonymous, ${quietMs / 1000} s after the last one has logged in; the difference to ${before} sessions). Aim: 100 at agent and proxy together.

| | sessions | proxy | agent | together |
|---|---|---|---|---|
${rows.join("\n")}

${await manyDatabaseSessions(world, load, options)}`;
}

async function idleMemory(
  { pids, settle }: DatabaseWorld,
  load: Load,
  { at, count }: { readonly at: "pg" | "cache"; readonly count: number },
): Promise<{ readonly control: number; readonly agent: number; readonly count: number }> {
  const used = async (): Promise<{ readonly control: number; readonly agent: number }> => {
    await settle();
    await sleep(quietMs);
    return { control: (await memory(pids.control)).anonymous, agent: (await memory(pids.agent)).anonymous };
  };
  await load.ask({ do: "hold", at, count: before });
  const first = await used();
  const { held, failures } = await load.ask({ do: "hold", at, count: before + count });
  if (held !== before + count) throw new Error(`${held} of ${before + count} sessions at ${at}: ${failures[0] ?? ""}`);
  const second = await used();
  await load.ask({ do: "drop" });
  return { control: (second.control - first.control) / count, agent: (second.agent - first.agent) / count, count };
}

async function manyDatabaseSessions(
  { settle }: DatabaseWorld,
  load: Load,
  { held: count, perSecond, seconds }: DatabaseSessionsOptions,
): Promise<string> {
  await settle();
  const { held } = await load.ask({ do: "hold", at: "cache", count });
  const { news, failures } = await load.ask({ do: "churn", perSecond, seconds });
  await load.ask({ do: "drop" });
  const times = [spread(news).median, percentile(news, 99), spread(news).max].map((one) => figure(one, 1)).join(", ");
  const first = [...new Set(failures)].slice(0, 3).join("; ");
  return `${held} sessions at Redis that stay, of two users, and ${perSecond} new ones a second at PostgreSQL for ${seconds} s, each a connection, a login, a query and its end: median, p99
and longest ${times} ms. Failed: **${failures.length}** of ${held + news.length + failures.length}.${first === "" ? "" : ` ${first}`} Aim: none.
`;
}
