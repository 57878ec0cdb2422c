import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { output, program } from "../test/world/program.ts";
import { figure, interleave, ratio, spread } from "./measure.ts";
import { sshLogin } from "./openssh.ts";
import { ourHost, startSideBySide } from "./side-by-side.ts";

const bigBytes = 1_000_000_000;
const smallFiles = 10_000;
const limitMs = 300_000;

/** One large file and many small ones, up and down: through our proxy, and with stock programs through a jump host. */
export async function fileCopy(rounds: number): Promise<string> {
  await using world = await startSideBySide({ login: sshLogin, sshd: "Subsystem sftp /usr/lib/openssh/sftp-server" });
  const { dir, env, ours, theirs } = world;
  await writeFiles(dir);
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
    tshUp: () => timed(program("tsh"), ["scp", "-r", join(dir, what), `${sshLogin}@${ourHost}:${dir}/target/`]),
    scpUp: () => timed("scp", [...theirs.options, "-r", join(dir, what), `${theirs.target}:${dir}/target/`]),
    throughUp: () => timed("scp", [...ours.options, "-r", join(dir, what), `${ours.target}:${dir}/target/`]),
    tshDown: () => timed(program("tsh"), ["scp", "-r", `${sshLogin}@${ourHost}:${dir}/${what}`, `${dir}/target/`]),
    scpDown: () => timed("scp", [...theirs.options, "-r", `${theirs.target}:${dir}/${what}`, `${dir}/target/`]),
    throughDown: () => timed("scp", [...ours.options, "-r", `${ours.target}:${dir}/${what}`, `${dir}/target/`]),
  });
  const big = await interleave(rounds, of("big"));
  const small = await interleave(rounds, of("small"));
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
