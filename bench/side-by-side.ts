import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Cluster, startCluster } from "../test/world/cluster.ts";
import { freePorts } from "../test/world/free-port.ts";
import { output, program } from "../test/world/program.ts";
import { startService } from "../test/world/service.ts";
import { makeAccount } from "../test/world/unix-account.ts";
import { until } from "../test/world/until.ts";
import { startDelayRelay } from "./delay-relay.ts";
import { behindJump, type Sshd, startSshd } from "./openssh.ts";

/** How stock ssh, scp and sftp get to a host. */
export interface SshPath {
  /** Options that come first. */
  readonly options: readonly string[];
  /** Name of the host; its account is part of it where it has to be. */
  readonly target: string;
}

/** A host of ours behind our proxy, and an sshd behind a jump host, for the same account. */
export interface SideBySide extends AsyncDisposable {
  /** Scratch folder, which the account may walk through. */
  readonly dir: string;
  readonly login: string;
  /** For stock programs and for tsh, whose user is logged in. */
  readonly env: Readonly<Record<string, string>>;
  readonly ours: SshPath;
  readonly theirs: SshPath;
  readonly cluster: Cluster;
  readonly jump: Sshd;
  readonly host: Sshd;
}

export interface SideBySideOptions {
  /** Left out: an account of its own, whose shell loads next to nothing, where root's may load much. */
  readonly login?: string;
  /** Between the client and what it dials (our proxy, the jump host), ms. */
  readonly roundTripMs?: number;
  /** Further lines of sshd's configuration. */
  readonly sshd?: string;
  /** More lines of `proxy_service`, indented by two. */
  readonly proxyService?: string;
}

/** Our agent's name for `tsh`. */
export const ourHost = "web-1";

export async function startSideBySide({ login: given, roundTripMs = 0, sshd, proxyService }: SideBySideOptions = {}): Promise<SideBySide> {
  await using stack = new AsyncDisposableStack();
  const dir = await mkdtemp(join(tmpdir(), "platform-bench-"));
  stack.defer(() => rm(dir, { recursive: true, force: true }));
  await chmod(dir, 0o711);
  const login = given ?? stack.use(await makeAccount("be")).login;
  const [jumpPort, hostPort] = (await freePorts(2)) as [number, number];
  const jump = stack.use(await startSshd(join(dir, "jump"), jumpPort, sshd));
  const host = stack.use(await startSshd(join(dir, "host"), hostPort, sshd));
  const cluster = stack.use(await startCluster(proxyService === undefined ? {} : { proxyService }));
  await cluster.agent({ name: ourHost });
  const user = await cluster.user("alice", { logins: login });
  let via = jump.port;
  if (roundTripMs > 0) {
    via = stack.use(await startDelayRelay(jump.port, roundTripMs)).port;
    const toProxy = stack.use(await startDelayRelay(cluster.ports.web, roundTripMs));
    await user.login(`--proxy=127.0.0.1:${toProxy.port}`);
  }
  const [theirConfig, ourConfig] = [join(dir, "theirs"), join(dir, "ours")];
  await writeFile(theirConfig, behindJump({ dir, login, jump: via, host: host.port }));
  await writeFile(ourConfig, (await user.tsh(["config"])).stdout);
  const owned = stack.move();
  return {
    dir,
    login,
    env: { TSH_HOME: user.home, PATH: `${join(program("tsh"), "..")}:${process.env.PATH ?? ""}` },
    ours: { options: ["-F", ourConfig, "-o", "BatchMode=yes"], target: `${login}@${ourHost}.test.cluster` },
    theirs: { options: ["-F", theirConfig, "-o", "BatchMode=yes"], target: "host" },
    cluster,
    jump,
    host,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

export interface Master extends AsyncDisposable {
  /** Stock ssh's options with which a session goes over this connection. */
  readonly options: readonly string[];
  readonly target: string;
}

/** A connection that is there, which stock ssh opens more sessions on. */
export async function startMaster({ options, target }: SshPath, { dir, env }: Pick<SideBySide, "dir" | "env">): Promise<Master> {
  const all = [...options, "-o", `ControlPath=${join(dir, `${target.replace(/@.*/, "")}.ctl`)}`];
  const master = startService("ssh", [...all, "-M", "-N", target], { env });
  await until(`${target} is connected`, async () => (await output("ssh", [...all, "-O", "check", target], { env })) !== undefined);
  return { options: all, target, [Symbol.asyncDispose]: () => master.stop() };
}
