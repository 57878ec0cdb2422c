import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startCluster } from "../test/world/cluster.ts";
import { freePorts } from "../test/world/free-port.ts";
import { output, program } from "../test/world/program.ts";
import { startService } from "../test/world/service.ts";
import { makeAccount } from "../test/world/unix-account.ts";
import { until } from "../test/world/until.ts";
import { startDelayRelay } from "./delay-relay.ts";
import { figure, interleave, percentile, ratio, spread } from "./measure.ts";
import { behindJump, startSshd } from "./openssh.ts";

/** The round trip between the client and what it dials, ms; 0: loopback alone. */
const roundTrips = [0, 50] as const;

/**
 * One more session on a connection that is there: a stock ssh with a control master, over `tsh proxy ssh` to our agent, beside the same over
 * `ssh -J` to an sshd behind a jump host.
 */
export async function newChannel(rounds: number): Promise<string> {
  const rows: string[] = [];
  for (const roundTripMs of roundTrips) {
    const { ours, theirs } = await measure(rounds, roundTripMs);
    const row = (name: string, values: readonly number[]): string =>
      `| ${roundTripMs} ms | ${name} | ${figure(spread(values).median, 1)} | ${figure(percentile(values, 99), 1)} |`;
    rows.push(row("our agent", ours), row("sshd behind a jump host", theirs));
    rows.push(`| ${roundTripMs} ms | ratio, round by round | ${figure(ratio(ours, theirs).median)} × | |`);
  }
  return `## One more session on a connection

\`ssh host true\` of the same stock ssh through its control master, over a connection that is there; ${rounds} interleaved rounds, wall time of ssh, ms.
The round trip is that of a relay between the client and what it dials (our proxy, the jump host).

| round trip | host | p50 | p99 |
|---|---|---|---|
${rows.join("\n")}
`;
}

async function measure(rounds: number, roundTripMs: number) {
  const dir = await mkdtemp(join(tmpdir(), "platform-channel-"));
  await using _dir = { [Symbol.asyncDispose]: () => rm(dir, { recursive: true, force: true }) };
  // Whose shell loads next to nothing, where this is root's machine.
  await using account = await makeAccount("bc");
  const { login } = account;
  const [jumpPort, hostPort] = (await freePorts(2)) as [number, number];
  await using jump = await startSshd(join(dir, "jump"), jumpPort);
  await using host = await startSshd(join(dir, "host"), hostPort);
  await chmod(dir, 0o711);
  await using cluster = await startCluster();
  await cluster.agent({ name: "web-1" });
  const user = await cluster.user("alice", { logins: login });
  using toJump = await startDelayRelay(jump.port, roundTripMs);
  using toProxy = await startDelayRelay(cluster.ports.web, roundTripMs);
  const proxy = roundTripMs === 0 ? cluster.proxy : `127.0.0.1:${toProxy.port}`;
  if (proxy !== cluster.proxy) await user.login(`--proxy=${proxy}`);
  const theirConfig = join(dir, "theirs");
  const jumpVia = roundTripMs === 0 ? jump.port : toJump.port;
  await writeFile(theirConfig, behindJump({ dir, login, jump: jumpVia, host: host.port }));
  const ourConfig = join(dir, "ours");
  await writeFile(ourConfig, (await user.tsh(["config"])).stdout);
  const env = { TSH_HOME: user.home, PATH: `${join(program("tsh"), "..")}:${process.env.PATH ?? ""}` };
  const path = async (name: string, config: string, target: string) => {
    const args = ["-F", config, "-o", "BatchMode=yes", "-o", `ControlPath=${join(dir, name)}.ctl`];
    const master = startService("ssh", [...args, "-M", "-N", target], { env });
    await until(`${name} is connected`, async () => (await output("ssh", [...args, "-O", "check", target], { env })) !== undefined);
    const once = async (): Promise<number> => {
      const began = performance.now();
      await output("ssh", [...args, target, "true"], { env });
      return performance.now() - began;
    };
    return { once, [Symbol.asyncDispose]: () => master.stop() };
  };
  await using ours = await path("agent", ourConfig, `${login}@web-1.test.cluster`);
  await using theirs = await path("sshd", theirConfig, "host");
  const candidates = { ours: ours.once, theirs: theirs.once };
  await interleave(5, candidates);
  return await interleave(rounds, candidates);
}
