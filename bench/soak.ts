import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startCluster } from "../test/world/cluster.ts";
import { dialogueWith } from "../test/world/dialogue.ts";
import { program, start } from "../test/world/program.ts";
import { makeAccount } from "../test/world/unix-account.ts";
import { startLoadProcess } from "./load-process.ts";
import type { SessionsAsk, SessionsTold } from "./many-sessions-load.ts";
import { figure, memory, percentile, spread } from "./measure.ts";

export interface SoakOptions {
  readonly minutes: number;
  readonly perSecond: number;
}

/** New sessions all the time, and two that stay idle until the end, to find growth and lost connections. */
export interface SoakResult {
  /** Markdown. */
  readonly report: string;
  readonly failures: number;
}

export async function soak({ minutes, perSecond }: SoakOptions): Promise<SoakResult> {
  const dir = await mkdtemp(join(tmpdir(), "platform-soak-"));
  await using _dir = { [Symbol.asyncDispose]: () => rm(dir, { recursive: true, force: true }) };
  await using cluster = await startCluster();
  const agent = await cluster.agent({ name: "web-1" });
  await using account = await makeAccount("soak");
  const { login } = account;
  const user = await cluster.user("alice", { logins: login });
  const env = { TSH_HOME: user.home, PATH: `${join(program("tsh"), "..")}:${process.env.PATH ?? ""}` };
  const config = join(dir, "ssh-config");
  await writeFile(config, (await user.tsh(["config"])).stdout);
  const said = (word: string): string => `${word}\n`;
  const ours = dialogueWith(start(program("tsh"), ["ssh", `${login}@web-1`, "cat"], { env }), said);
  const stock = dialogueWith(start("ssh", ["-F", config, "-o", "BatchMode=yes", `${login}@web-1.test.cluster`, "cat"], { env }), said);
  using _idle = {
    [Symbol.dispose]: () => {
      for (const one of [ours, stock]) one.kill();
    },
  };
  await Promise.all([ours.ask(), stock.ask()]);
  using load = startLoadProcess<SessionsAsk, SessionsTold>("many-sessions-load.ts", [user.home, login, "web-1"]);
  await load.ask({ do: "hold", count: 20 });
  const rows: string[] = [];
  let [failures, sessions] = [0, 0];
  const mib = async (pid: number): Promise<number> => (await memory(pid)).rss / 1024;
  for (let minute = 1; minute <= minutes; minute += 1) {
    const { news, failures: all } = await load.ask({ do: "churn", perSecond, seconds: 60 });
    [failures, sessions] = [all.length, sessions + news.length];
    if (minute % Math.ceil(minutes / 12) !== 0 && minute !== 1) continue;
    const [control, host] = [await mib(cluster.control.pid), await mib(agent.service.pid)];
    rows.push(
      `| ${minute} | ${sessions} | ${figure(control, 0)} | ${figure(host, 0)} | ${figure(spread(news).median, 0)} | ${figure(percentile(news, 99), 0)} |`,
    );
    process.stderr.write(`${rows.at(-1)}\n`);
  }
  await Promise.all([ours.ask(), stock.ask()]);
  const report = `## An hour of sessions

${perSecond} new sessions a second for ${minutes} minutes, beside 20 at terminals and two, of \`tsh ssh\` and of a stock ssh, at which nobody types from the first minute to
the last; both answer at the end. Resident memory in MiB; times of new sessions in ms. Failed: **${failures}** of ${sessions + failures}.

| minute | sessions so far | control | agent | p50 | p99 |
|---|---|---|---|---|---|
${rows.join("\n")}
`;
  return { report, failures };
}
