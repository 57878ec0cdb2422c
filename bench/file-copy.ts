import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startCluster } from "../test/world/cluster.ts";
import { freePorts } from "../test/world/free-port.ts";
import { output, program } from "../test/world/program.ts";
import { figure, interleave, ratio, spread } from "./measure.ts";
import { behindJump, sshLogin, startSshd } from "./openssh.ts";

const bigBytes = 1_000_000_000;
const smallFiles = 10_000;
const limitMs = 300_000;

/** One large file and many small ones, up and down: through our proxy, and with stock programs through a jump host. */
export async function fileCopy(rounds: number): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "platform-copies-"));
  const [jumpPort, hostPort] = (await freePorts(2)) as [number, number];
  await using jump = await startSshd(join(dir, "jump"), jumpPort, "Subsystem sftp /usr/lib/openssh/sftp-server");
  await using host = await startSshd(join(dir, "host"), hostPort, "Subsystem sftp /usr/lib/openssh/sftp-server");
  await writeFiles(dir);
  const config = join(dir, "config");
  const hosts = behindJump({ dir, login: sshLogin, jump: jump.port, host: host.port });
  await using cluster = await startCluster();
  await cluster.agent({ name: "web-1" });
  const user = await cluster.user("alice", { logins: sshLogin });
  const stanza = (await user.tsh(["config"])).stdout;
  await writeFile(config, hosts + stanza);
  const env = { TSH_HOME: user.home, PATH: `${join(program("tsh"), "..")}:${process.env.PATH ?? ""}` };
  const timed = async (command: string, args: readonly string[]): Promise<number> => {
    const target = join(dir, "target");
    await rm(target, { recursive: true, force: true });
    await mkdir(target);
    const start = performance.now();
    await output(command, args, { env, limitMs });
    const seconds = (performance.now() - start) / 1000;
    if ((await readdir(target)).length === 0) throw new Error(`${command} ${args.join(" ")} copied nothing`);
    return seconds;
  };
  const of = (what: "big" | "small") => ({
    tshUp: () => timed(program("tsh"), ["scp", "-r", join(dir, what), `${sshLogin}@web-1:${dir}/target/`]),
    scpUp: () => timed("scp", ["-F", config, "-r", join(dir, what), `host:${dir}/target/`]),
    throughUp: () => timed("scp", ["-F", config, "-r", join(dir, what), `${sshLogin}@web-1.test.cluster:${dir}/target/`]),
    tshDown: () => timed(program("tsh"), ["scp", "-r", `${sshLogin}@web-1:${dir}/${what}`, `${dir}/target/`]),
    scpDown: () => timed("scp", ["-F", config, "-r", `host:${dir}/${what}`, `${dir}/target/`]),
    throughDown: () => timed("scp", ["-F", config, "-r", `${sshLogin}@web-1.test.cluster:${dir}/${what}`, `${dir}/target/`]),
  });
  const big = await interleave(rounds, of("big"));
  const small = await interleave(rounds, of("small"));
  await rm(dir, { recursive: true, force: true });
  return report(rounds, { big, small });
}

async function writeFiles(dir: string): Promise<void> {
  await output("sh", ["-c", `head -c ${bigBytes} /dev/urandom > "$1/big"`, "sh", dir], { limitMs });
  await mkdir(join(dir, "small"));
  for (let index = 0; index < smallFiles; index += 1) await writeFile(join(dir, "small", `file-${index}`), "x".repeat(index % 2000));
}

type Figures = Readonly<Record<"tshUp" | "scpUp" | "throughUp" | "tshDown" | "scpDown" | "throughDown", readonly number[]>>;

function report(rounds: number, { big, small }: { big: Figures; small: Figures }): string {
  const speed = (seconds: readonly number[]): string => figure(bigBytes / 1e6 / spread(seconds).median, 0);
  const rate = (seconds: readonly number[]): string => figure(smallFiles / spread(seconds).median, 0);
  const row = (name: string, key: "tsh" | "scp" | "through"): string =>
    `| ${name} | ${speed(big[`${key}Up`])} | ${speed(big[`${key}Down`])} | ${rate(small[`${key}Up`])} | ${rate(small[`${key}Down`])} |`;
  // Times: the peer's over ours is how much faster ours is.
  const times = (figures: Figures, key: "tsh" | "through", way: "Up" | "Down"): string =>
    figure(ratio(figures[`scp${way}`], figures[`${key}${way}`]).median);
  return `## Copying files

One file of ${bigBytes / 1e6} MB, and ${smallFiles.toLocaleString("en")} files of 0 to 2 kB in one folder, whole commands with their login, ${rounds} interleaved rounds, loopback.
Ours goes client → proxy → tunnel → agent; the peer is \`scp\` (over SFTP) through a jump host to OpenSSH's sftp-server. Aim: at least 1.0 ×.

| command | large, up, MB/s | large, down, MB/s | small, up, files/s | small, down, files/s |
|---|---|---|---|---|
${row("`tsh scp`", "tsh")}
${row("`scp` through `tsh proxy ssh`", "through")}
${row("`scp -J jump`", "scp")}

Ratio, round by round: \`tsh scp\` **${times(big, "tsh", "Up")} × up, ${times(big, "tsh", "Down")} × down; small ${times(small, "tsh", "Up")} × up, ${times(small, "tsh", "Down")} × down**; stock
\`scp\` through us ${times(big, "through", "Up")} × up, ${times(big, "through", "Down")} × down; small ${times(small, "through", "Up")} × up, ${times(small, "through", "Down")} × down.
`;
}
