import { copyFile, mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startCluster } from "../test/world/cluster.ts";
import { program } from "../test/world/program.ts";
import { type Processes, processes } from "../test/world/reload.ts";
import { type SessionLoad, startLoad } from "../test/world/session-load.ts";
import { figure, spread } from "./measure.ts";
import { sshLogin } from "./openssh.ts";

const bytes = 1_000_000_000;
const bytesPerSecond = 20_000_000;
const everyMs = 1_000;

/** People at work while the executable of the agent and that of control are replaced and both reload, one after the other. */
export async function upgradeUnderLoad(rounds: number): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "platform-upgrade-"));
  // Last of all: the status sockets in it tell which processes to end.
  await using _dir = { [Symbol.asyncDispose]: () => rm(dir, { recursive: true, force: true }) };
  for (const name of ["control", "agent"]) await mkdir(join(dir, name));
  const platform = join(dir, "platform");
  const replace = async (): Promise<void> => {
    await copyFile(program("platform"), `${platform}.new`);
    await rename(`${platform}.new`, platform);
  };
  await replace();
  await using cluster = await startCluster({ platform, env: { RUNTIME_DIRECTORY: join(dir, "control") } });
  const agent = await cluster.agent({ name: "web-1", platform, env: { RUNTIME_DIRECTORY: join(dir, "agent") } });
  await using onHost = await processes(join(agent.dir, "agent.pid"), join(dir, "agent"));
  await using control = await processes(join(cluster.dir, "control.pid"), join(dir, "control"));
  const user = await cluster.user("alice", { logins: sshLogin });
  const waits = { rest: [] as number[], agent: [] as number[], control: [] as number[] };
  let [cut, failed] = [0, 0];
  for (let round = 0; round < rounds; round += 1) {
    await using load = await startLoad(user, { target: `${sshLogin}@web-1`, folder: dir, bytes, bytesPerSecond, everyMs });
    const during = async (into: number[], work: Promise<unknown>): Promise<void> => {
      const before = load.logins.waitsMs.length;
      await work;
      into.push(...load.logins.waitsMs.slice(before));
    };
    await during(waits.rest, sleep(15_000));
    await during(waits.agent, upgrade(onHost, replace));
    await during(waits.control, upgrade(control, replace));
    cut += await countCut(load);
    failed += load.logins.failures.length;
  }
  const row = (name: string, values: readonly number[]): string => {
    const { median, max } = spread(values);
    return `| ${name} | ${values.length} | ${figure(median, 0)} | ${figure(max, 0)} |`;
  };
  return `## Upgrade under load

An interactive shell, a transfer of ${bytes / 1e6} MB at ${bytesPerSecond / 1e6} MB/s, a stock OpenSSH connection through \`tsh proxy ssh\`, a
connection through a port forwarded with -L and back with -R, and a new \`tsh ssh host\` every second, while the executable is
replaced and the agent reloads, then control (each hands over after a probation of 10 s); ${rounds} rounds, loopback. Times are
those of the whole client, ms. Aim: nothing is cut, no login fails.

| new logins | count | median | longest |
|---|---|---|---|
${row("at rest, with the transfer", waits.rest)}
${row("while the agent is replaced", waits.agent)}
${row("while control is replaced", waits.control)}

Cut: **${cut}** of ${rounds * 4} connections in progress. Failed: **${failed}** logins.
`;
}

/** Until the new process serves, and three seconds more: what begins right after the change counts too. */
async function upgrade(service: Processes, replace: () => Promise<void>): Promise<void> {
  await replace();
  await service.reload();
  await sleep(3_000);
}

/** How many of the connections did not come to their proper end. */
async function countCut(load: SessionLoad): Promise<number> {
  const stillThere = await load.stillThere().then(
    () => 0,
    () => 1,
  );
  const whole = await load.transferred;
  const ended = Object.values(await load.finish());
  return Math.max(stillThere, ended.filter((status) => status !== 0).length) + Number(!whole);
}
