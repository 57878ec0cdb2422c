import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { WebSocket } from "ws";
import type { KubernetesWorld, KubeWay } from "./kubernetes-world.ts";
import { figure, interleave, percentile, ratio, spread } from "./measure.ts";
import { becomeCat, type Terminal, typeKeys } from "./terminal-echo.ts";

export interface StreamsOptions {
  readonly rounds: number;
  /** Keys of a round. */
  readonly keys: number;
  readonly copies: { readonly rounds: number; readonly megabytes: number };
}

/** Channels of a WebSocket for a program, its first byte (`v4.channel.k8s.io`). */
const [stdin, stdout] = [0, 1] as const;

/** Programs in a pod: a short one, keys in a terminal, and `kubectl cp`. */
export async function kubernetesStreams(world: KubernetesWorld, { rounds, keys, copies }: StreamsOptions): Promise<string> {
  const { ours, theirs, shell } = world;
  const beside = async (count: number, measure: (way: KubeWay) => Promise<number>) =>
    await interleave(count, { ours: () => measure(ours), theirs: () => measure(theirs) });
  type Figures = Awaited<ReturnType<typeof beside>>;
  const row = (title: string, { ours: own, theirs: other }: Figures, digits: number): string => {
    const medians = [own, other].map((values) => figure(spread(values).median, digits));
    return `| ${title} | ${medians.join(" | ")} | ${figure(ratio(own, other).median)} × |`;
  };
  const command = await beside(rounds, (way) => timed(async () => await way.kubectl(["exec", "-n", shell, "shell", "--", "true"])));
  const alone = await beside(rounds, (way) => timed(async () => await runTrue(way, shell)));
  await using ourTerminal = await openTerminal(ours, shell);
  await using theirTerminal = await openTerminal(theirs, shell);
  const late: Figures = { ours: [], theirs: [] };
  const echo = await beside(rounds, async (way) => {
    const times = await typeKeys(way === ours ? ourTerminal : theirTerminal, keys);
    late[way === ours ? "ours" : "theirs"].push(percentile(times, 99));
    return percentile(times, 50);
  });
  const { up, down } = await copied(world, copies, beside);
  return `Programs in a pod, ${rounds} interleaved rounds; keys, ${keys} a round, in a terminal in which \`cat\` runs, recorded in ours. \`kubectl cp\` of ${copies.megabytes} MB, ${copies.rounds} rounds.
Aim for copies: 1.0 ×.

| | ours | \`ssh -L\` | to it |
|---|---|---|---|
${row("`kubectl exec … true`, ms", command, 1)}
${row("its WebSocket alone, with its connection, ms", alone, 1)}
${row("echo of a key, median, ms", echo, 2)}
${row("echo of a key, p99, ms", late, 2)}
${row("`kubectl cp` into the pod, MB/s", up, 0)}
${row("`kubectl cp` out of it, MB/s", down, 0)}
`;
}

/** ms. */
async function timed(work: () => Promise<unknown>): Promise<number> {
  const begin = performance.now();
  await work();
  return performance.now() - begin;
}

function openExec({ entrance }: KubeWay, namespace: string, command: readonly string[], more: Readonly<Record<string, string>>): WebSocket {
  const { host, port, prefix, servername, ca, cert, key } = entrance;
  const query = new URLSearchParams([...command.map((word) => ["command", word] as [string, string]), ["stdout", "1"], ...Object.entries(more)]);
  const url = `wss://${host}:${port}${prefix}/api/v1/namespaces/${namespace}/pods/shell/exec?${query.toString()}`;
  const options = { servername, ca, cert, key, perMessageDeflate: false };
  return new WebSocket(url, "v4.channel.k8s.io", options);
}

/** Throws when the connection is refused, or the program fails. */
async function runTrue(way: KubeWay, namespace: string): Promise<void> {
  const socket = openExec(way, namespace, ["true"], { stderr: "1" });
  let last = "";
  socket.on("message", (data: Buffer) => {
    last = data.toString();
  });
  await once(socket, "close");
  if (!last.includes('"status":"Success"')) throw new Error(`a program ended with ${last}`);
}

async function openTerminal(way: KubeWay, namespace: string): Promise<Terminal> {
  const socket = openExec(way, namespace, ["sh"], { stdin: "1", tty: "1" });
  await once(socket, "open");
  let output = "";
  const terminal: Terminal = {
    type: (text) => socket.send(Buffer.concat([Buffer.from([stdin]), Buffer.from(text)])),
    onOutput: () => {},
    [Symbol.asyncDispose]: async () => {
      const closed = once(socket, "close");
      socket.close();
      await closed;
    },
  };
  socket.on("message", (data: Buffer) => {
    if (data[0] !== stdout) return;
    const text = data.toString("latin1", 1);
    output += text;
    terminal.onOutput(text);
  });
  return await becomeCat(terminal, () => output);
}

/** MB/s of both directions. Throws for a copy that is not whole. */
async function copied<Figures>(
  { dir, shell }: KubernetesWorld,
  { rounds, megabytes }: StreamsOptions["copies"],
  beside: (rounds: number, measure: (way: KubeWay) => Promise<number>) => Promise<Figures>,
): Promise<{ readonly up: Figures; readonly down: Figures }> {
  const [file, back] = [join(dir, "large"), join(dir, "back")];
  const size = megabytes * 1_000_000;
  await writeFile(file, randomBytes(size));
  const perSecond = async (work: () => Promise<unknown>): Promise<number> => (megabytes / (await timed(work))) * 1000;
  const up = await beside(rounds, async (way) => {
    const speed = await perSecond(async () => await way.kubectl(["cp", "-n", shell, file, "shell:/tmp/large"]));
    const { stdout: found } = await way.kubectl(["exec", "-n", shell, "shell", "--", "stat", "-c", "%s", "/tmp/large"]);
    if (Number(found) !== size) throw new Error(`a copy of ${found.trim()} bytes in the pod`);
    return speed;
  });
  const down = await beside(rounds, async (way) => {
    await rm(back, { force: true });
    const speed = await perSecond(async () => await way.kubectl(["cp", "-n", shell, "shell:/tmp/large", back]));
    const { size: found } = await stat(back);
    if (found !== size) throw new Error(`a copy of ${found} bytes`);
    return speed;
  });
  return { up, down };
}
