import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startCluster } from "../test/world/cluster.ts";
import { freePorts } from "../test/world/free-port.ts";
import { output, program } from "../test/world/program.ts";
import { makeAccount } from "../test/world/unix-account.ts";
import { figure, interleave, ratio, spread } from "./measure.ts";
import { behindJump, startSshd } from "./openssh.ts";

/** One command on a host: `tsh ssh host true` beside `ssh -J jump host true`. */
export async function sshLoginTime(rounds: number): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "platform-bench-"));
  // Whose shell loads next to nothing, where this is root's machine.
  await using account = await makeAccount("bl");
  const { login } = account;
  const [jumpPort, hostPort] = (await freePorts(2)) as [number, number];
  await using jump = await startSshd(join(dir, "jump"), jumpPort);
  await using host = await startSshd(join(dir, "host"), hostPort);
  const config = join(dir, "config");
  await chmod(dir, 0o711);
  await writeFile(config, behindJump({ dir, login, jump: jump.port, host: host.port }));
  await using cluster = await startCluster();
  await cluster.agent({ name: "web-1" });
  const user = await cluster.user("alice", { logins: login });
  const timed = async (command: string, args: readonly string[]): Promise<number> => {
    const start = performance.now();
    await output(command, args, { env: { TSH_HOME: user.home } });
    return performance.now() - start;
  };
  const candidates = {
    tsh: () => timed(program("tsh"), ["ssh", `${login}@web-1`, "true"]),
    ssh: () => timed("ssh", ["-F", config, "host", "true"]),
  };
  await interleave(1, candidates);
  const times = await interleave(rounds, candidates);
  await rm(dir, { recursive: true, force: true });
  const row = (name: string, values: readonly number[]): string => {
    const { min, median, max } = spread(values);
    return `| ${name} | ${figure(median, 0)} | ${figure(min, 0)}–${figure(max, 0)} |`;
  };
  return `## One command on a host

Wall time of the whole client, ms, ${rounds} interleaved rounds, loopback. Aim: at most 1.0 ×.

| command | median | range |
|---|---|---|
${row("`tsh ssh host true`", times.tsh)}
${row("`ssh -J jump host true`", times.ssh)}

Ratio, round by round: **${figure(ratio(times.tsh, times.ssh).median)} ×**.
`;
}
