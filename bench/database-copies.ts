import { join } from "node:path";
import { run } from "../test/world/program.ts";
import { type DatabaseWorld, logicalDatabase, plainAccount, redisLogin } from "./database-world.ts";
import { figure, interleave, ratio, spread } from "./measure.ts";

export interface CopiesOptions {
  readonly rounds: number;
  readonly megabytes: number;
  /** Requests of each run of redis-benchmark. */
  readonly requests: number;
}

/** One measurement, made three ways. */
interface Work {
  readonly title: string;
  readonly ours: string;
  readonly theirs: string;
  readonly direct: string;
  /** Runs before each, not measured. */
  readonly before?: string;
  /** Higher is better: MB/s by the time of the command, or the requests a second that it prints. */
  readonly figureOf: (seconds: number, printed: string) => number;
}

const rowBytes = 107;

/** Large results and large input, and many small requests at once. */
export async function databaseCopies(world: DatabaseWorld, { rounds, megabytes, requests }: CopiesOptions): Promise<string> {
  const rows = Math.round((megabytes * 1e6) / rowBytes);
  await fill(world, rows);
  const works = [...postgresWorks(world, megabytes), mysqlWork(world, megabytes), ...redisWorks(world, requests)];
  const lines: string[] = [];
  for (const work of works) {
    const one = async (command: string): Promise<number> => {
      if (work.before !== undefined) await shell(work.before);
      const began = performance.now();
      const printed = await shell(command);
      const result = work.figureOf((performance.now() - began) / 1000, printed);
      await world.settle();
      return result;
    };
    const all = await interleave(rounds, { ours: () => one(work.ours), theirs: () => one(work.theirs), direct: () => one(work.direct) });
    const figures = Object.values(all).map((values) => figure(spread(values).median, 0));
    const ratios = [ratio(all.ours, all.theirs), ratio(all.ours, all.direct)].map(({ median }) => `${figure(median)} ×`);
    lines.push(`| ${work.title} | ${[...figures, ...ratios].join(" | ")} |`);
  }
  return `${megabytes} MB in rows of ${rowBytes} bytes, whole commands; \`redis-benchmark -P 16\` with 50 connections, ${requests} requests; ${rounds} interleaved rounds, the same ways (ssh without TLS
in it). Aim beside ssh: at least 1.0 ×.

| | ours | ssh | direct TLS | to ssh | to direct |
|---|---|---|---|---|---|
${lines.join("\n")}
`;
}

const psql = (port: number, user: string, sslmode: string): string =>
  `PGSSLMODE=${sslmode} PGGSSENCMODE=disable psql -h 127.0.0.1 -p ${port} -U ${user} -d ${logicalDatabase} -XAtq -v ON_ERROR_STOP=1`;

const mysql = (program: string, port: number, user: string, tls: boolean): string => {
  const login = user === "reader" ? "" : ` -p${user}`;
  return `${program} --no-defaults --protocol=TCP -h 127.0.0.1 -P ${port} -u ${user}${login} ${tls ? "--ssl" : "--skip-ssl"}`;
};

async function fill({ direct, dir }: DatabaseWorld, rows: number): Promise<void> {
  const client = psql(direct.postgres, plainAccount, "require");
  const text = "repeat(md5(i::text), 3)";
  await shell(`${client} -c "create table sent as select i, ${text} as text from generate_series(10000000, 10000000 + ${rows}) i" \\
    -c "create table received (like sent)" -c "grant all on sent, received to reader"`);
  await shell(`${client} -c "copy sent to stdout" >${join(dir, "rows")}`);
  const maria = mysql("mariadb", direct.mysql, plainAccount, true);
  await shell(`${maria} ${logicalDatabase} -e "create table sent (i int, text varchar(100)) engine=Aria;
    insert into sent select seq, repeat(md5(seq), 3) from seq_10000000_to_${10_000_000 + rows}"`);
}

function postgresWorks({ ours, theirs, direct, dir }: DatabaseWorld, megabytes: number): readonly Work[] {
  const clients = {
    ours: psql(ours.postgres, "reader", "disable"),
    theirs: psql(theirs.postgres, plainAccount, "disable"),
    direct: psql(direct.postgres, plainAccount, "require"),
  };
  const work = (title: string, end: string): Work => ({
    title: `${title}, MB/s`,
    ours: `${clients.ours} ${end}`,
    theirs: `${clients.theirs} ${end}`,
    direct: `${clients.direct} ${end}`,
    before: `${clients.direct} -c "truncate received"`,
    figureOf: (seconds) => megabytes / seconds,
  });
  return [
    work("COPY to the client", '-c "copy sent to stdout" >/dev/null'),
    work("COPY from the client", `-c "copy received from stdin" <${join(dir, "rows")}`),
  ];
}

function mysqlWork({ ours, theirs, direct }: DatabaseWorld, megabytes: number): Work {
  const end = `--skip-lock-tables --quick ${logicalDatabase} sent >/dev/null`;
  return {
    title: "mysqldump, MB/s",
    ours: `${mysql("mariadb-dump", ours.mysql, "reader", false)} ${end}`,
    theirs: `${mysql("mariadb-dump", theirs.mysql, plainAccount, false)} ${end}`,
    direct: `${mysql("mariadb-dump", direct.mysql, plainAccount, true)} ${end}`,
    figureOf: (seconds) => megabytes / seconds,
  };
}

function redisWorks({ ours, theirs, direct }: DatabaseWorld, requests: number): readonly Work[] {
  return ["set", "get"].map((test) => {
    const end = `${redisLogin.join(" ")} -t ${test} -n ${requests} -P 16 -c 50 --csv`;
    return {
      title: `redis-benchmark -P 16, ${test}/s`,
      ours: `redis-benchmark -p ${ours.redis} ${end}`,
      theirs: `redis-benchmark -p ${theirs.redis} ${end}`,
      direct: `redis-benchmark --tls --insecure -p ${direct.redis} ${end}`,
      figureOf: (_seconds: number, printed: string) => Number(/^"(?:SET|GET)","([\d.]+)"/m.exec(printed)?.[1]),
    };
  });
}

async function shell(command: string): Promise<string> {
  const { status, stdout, stderr } = await run("sh", ["-c", command], { limitMs: 1_200_000 });
  if (status !== 0) throw new Error(`${command}: exit ${status}\n${stdout}${stderr}`);
  return stdout;
}
