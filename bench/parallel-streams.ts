import { join } from "node:path";
import { output, program, run } from "../test/world/program.ts";
import { figure, interleave, ratio, spread } from "./measure.ts";
import { ourHost, type SideBySide, startMaster, startSideBySide } from "./side-by-side.ts";

const streams = 32;
const bytesEach = 32_000_000;
const limitMs = 300_000;

/** Many streams at once: of one connection, and each of a connection of its own; both ways. */
export async function parallelStreams(rounds: number): Promise<string> {
  await using world = await startSideBySide({ sshd: `MaxSessions ${2 * streams}\nMaxStartups ${4 * streams}` });
  const file = join(world.dir, "bytes");
  await output("sh", ["-c", `head -c ${bytesEach} /dev/urandom > "$1"`, "sh", file]);
  await using ours = await startMaster(world.ours, world);
  await using theirs = await startMaster(world.theirs, world);
  const tsh = { command: program("tsh"), args: ["ssh", `${world.login}@${ourHost}`] };
  const stock = ({ options, target }: { options: readonly string[]; target: string }) => ({ command: "ssh", args: [...options, target] });
  const unfairness: Fairness[] = [];
  const of = (name: string, client: Client, way: Way) => async () => {
    const { min, max } = spread(await allAtOnce(client, way, file, world));
    unfairness.push({ name, lastOverFirst: max / min });
    return max / 1000;
  };
  const candidates = Object.fromEntries(
    (["down", "up"] as const).flatMap((way) =>
      Object.entries({ one: stock(ours), oneTheirs: stock(theirs), own: tsh, ownTheirs: stock(world.theirs) }).map(([name, client]) => {
        const key = `${name} ${way}`;
        return [key, of(key, client, way)];
      }),
    ),
  );
  const seconds = await interleave(rounds, candidates);
  return report(rounds, seconds, unfairness);
}

interface Client {
  readonly command: string;
  /** The remote command follows. */
  readonly args: readonly string[];
}

/** One round of one candidate: the time of the stream that ended last, over that of the first. */
interface Fairness {
  readonly name: string;
  readonly lastOverFirst: number;
}

type Way = "up" | "down";

/** Every stream's time from the start of all, ms. Throws when one of them brings another number of bytes. */
async function allAtOnce({ command, args }: Client, way: Way, file: string, { env }: SideBySide): Promise<number[]> {
  const began = performance.now();
  const remote = way === "down" ? `cat ${file}` : "wc -c";
  // The shell counts what came or gives what goes, so that this process carries no bytes.
  const script = way === "down" ? '"$@" </dev/null | wc -c' : `"$@" < ${file}`;
  const one = async (): Promise<number> => {
    const { status, stdout, stderr } = await run("sh", ["-c", script, "sh", command, ...args, remote], { env, limitMs });
    if (status !== 0 || Number(stdout) !== bytesEach)
      throw new Error(`${command} ${args.join(" ")} ${remote}: exit ${status}, ${stdout.trim()} bytes\n${stderr}`);
    return performance.now() - began;
  };
  return await Promise.all(Array.from({ length: streams }, one));
}

function report(rounds: number, seconds: Readonly<Record<string, readonly number[]>>, unfairness: readonly Fairness[]): string {
  const all = (streams * bytesEach) / 1e6;
  const row = (text: string, name: string): string => {
    const cells = (["down", "up"] as const).map((way) => {
      const key = `${name} ${way}`;
      return `${figure(all / spread(seconds[key] ?? []).median, 0)} | ${figure(spread(unfairness.filter((one) => one.name === key).map((one) => one.lastOverFirst)).median, 2)}`;
    });
    return `| ${text} | ${cells.join(" | ")} |`;
  };
  // Times: the peer's over ours is how much faster ours is.
  const times = (name: string, way: Way): string => figure(ratio(seconds[`${name}Theirs ${way}`] ?? [], seconds[`${name} ${way}`] ?? []).median);
  return `## ${streams} streams at once

${streams} sessions of ${bytesEach / 1e6} MB each, all begun at once: \`cat\` of a file on the host, and \`wc -c\` there of what is sent. ${rounds} interleaved rounds, loopback, logins
included where each has its own connection. MB/s of all together; "last/first" is the time of the stream that ended last over that of the first: 1 is fair.

| path | down, MB/s | last/first | up, MB/s | last/first |
|---|---|---|---|---|
${row("one connection of stock `ssh` (control master), through us", "one")}
${row("the same to sshd behind a jump host", "oneTheirs")}
${row("a connection each, `tsh ssh`", "own")}
${row("a connection each, `ssh -J jump`", "ownTheirs")}

Ratio, round by round: one connection **${times("one", "down")} × down, ${times("one", "up")} × up**; a connection each **${times("own", "down")} × down, ${times("own", "up")} × up**.
`;
}
