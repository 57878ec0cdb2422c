import { run } from "../test/world/program.ts";
import { type DatabaseWorld, logicalDatabase, plainAccount } from "./database-world.ts";
import { figure, interleave, ratio, spread } from "./measure.ts";

export interface QueriesOptions {
  readonly rounds: number;
  /** Of each run. */
  readonly seconds: number;
}

/** A way to PostgreSQL; libpq's settings. */
interface Way {
  readonly port: number;
  readonly user: string;
  readonly sslmode: "disable" | "require";
}

const modes = [
  { title: "1 client, simple", args: ["-c", "1", "-M", "simple"] },
  { title: "1 client, prepared", args: ["-c", "1", "-M", "prepared"] },
  { title: "8 clients, simple", args: ["-c", "8", "-M", "simple"] },
  { title: "8 clients, prepared", args: ["-c", "8", "-M", "prepared"] },
  { title: "connect and first query", args: ["-c", "1", "-C"] },
] as const;

/** `pgbench -S`: transactions a second on open connections, and one connection for each transaction. */
export async function databaseQueries(world: DatabaseWorld, { rounds, seconds }: QueriesOptions): Promise<string> {
  const { ours, theirs, direct } = world;
  const ways = {
    ours: { port: ours.postgres, user: "reader", sslmode: "disable" },
    ssh: { port: theirs.postgres, user: plainAccount, sslmode: "disable" },
    "ssh, TLS": { port: theirs.postgres, user: plainAccount, sslmode: "require" },
    direct: { port: direct.postgres, user: plainAccount, sslmode: "require" },
  } as const satisfies Record<string, Way>;
  await pgbench(ways.direct, ["-i", "-q", "-s", "2"]);
  const grant = "grant all on all tables in schema public to reader";
  await psql(ways.direct, grant);
  const rows: string[] = [];
  for (const { title, args } of modes) {
    const one = async (way: Way): Promise<number> => {
      const text = await pgbench(way, ["-S", "-n", "-T", String(seconds), ...args]);
      await world.settle();
      const perSecond = Number(/^tps = ([\d.]+)/m.exec(text)?.[1]);
      return title.startsWith("connect") ? 1000 / perSecond : perSecond;
    };
    const all = await interleave(rounds, {
      ours: () => one(ways.ours),
      ssh: () => one(ways.ssh),
      "ssh, TLS": () => one(ways["ssh, TLS"]),
      direct: () => one(ways.direct),
    });
    const digits = title.startsWith("connect") ? 1 : 0;
    const figures = Object.values(all).map((values) => figure(spread(values).median, digits));
    const ratios = (["ssh", "ssh, TLS", "direct"] as const).map((peer) => `${figure(ratio(all.ours, all[peer]).median)} ×`);
    rows.push(`| ${title}${digits === 1 ? ", ms" : ""} | ${[...figures, ...ratios].join(" | ")} |`);
  }
  return `\`pgbench -S\` at PostgreSQL, ${rounds} interleaved rounds of ${seconds} s, transactions a second (last row: ms for a connection and its query, \`-C\`). Ours:
\`tsh proxy db\` → proxy → tunnel → agent → TLS to the server with the user's certificate, every statement in the audit log. ssh: \`ssh -J jump -L\`, without TLS and
with it up to the server. Direct: TLS. Ratios are those of ours to each, round by round. Aim beside ssh: at least 1.0 ×, in the last row at most 1.0 ×.

| | ours | ssh | ssh, TLS in it | direct TLS | to ssh | to ssh, TLS | to direct |
|---|---|---|---|---|---|---|---|
${rows.join("\n")}
`;
}

async function pgbench(way: Way, args: readonly string[]): Promise<string> {
  return await must("pgbench", ["-h", "127.0.0.1", "-p", String(way.port), "-U", way.user, ...args, logicalDatabase], way);
}

async function psql(way: Way, sql: string): Promise<string> {
  return await must("psql", ["-h", "127.0.0.1", "-p", String(way.port), "-U", way.user, "-XAtqc", sql, logicalDatabase], way);
}

async function must(program: string, args: readonly string[], { sslmode }: Way): Promise<string> {
  const { status, stdout, stderr } = await run(program, args, { env: { PGSSLMODE: sslmode, PGGSSENCMODE: "disable" }, limitMs: 600_000 });
  if (status !== 0) throw new Error(`${program} ${args.join(" ")}: exit ${status}\n${stdout}${stderr}`);
  return stdout;
}
