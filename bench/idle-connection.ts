import { spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { createInterface } from "node:readline";
import { bareNode, spread } from "./measure.ts";

/** Memory tricks of idle connections, by the name of their file. */
const tricks = ["feed-in-pieces", "forget-exchange"] as const;

interface Sizes {
  readonly kept: number;
  readonly heap: number;
  readonly external: number;
  readonly anonymous: number;
}

const warmUp = 100;

/** What each trick saves of the proxy's memory for one idle tunnel, against a server without it. */
export async function idleConnection({ connections = 300, rounds = 3, all = tricks as readonly string[] } = {}): Promise<string> {
  const rows: string[] = [];
  const measured = new Map<string, Sizes[]>();
  for (let round = 0; round < rounds; round += 1) {
    for (const off of ["", ...all]) measured.set(off, [...(measured.get(off) ?? []), await measure(off, connections)]);
  }
  const median = (off: string, of: (sizes: Sizes) => number): number => spread((measured.get(off) ?? []).map(of)).median;
  const kinds = [(one: Sizes) => one.heap + one.external, (one: Sizes) => one.anonymous];
  const shown = (values: readonly number[]): string => values.map((value) => value.toFixed(1)).join(" | ");
  rows.push(`| all tricks | ${shown(kinds.map((of) => median("", of)))} | |`);
  for (const off of all)
    rows.push(`| without ${off} | ${shown(kinds.map((of) => median(off, of)))} | ${shown(kinds.map((of) => median(off, of) - median("", of)))} |`);
  return `${rows.join("\n")}\n`;
}

/** KiB for each of so many connections, beyond those that warmed it up. */
async function measure(off: string, connections: number): Promise<Sizes> {
  const end = (...args: readonly string[]) => {
    const child = spawn(
      bareNode,
      ["--expose-gc", "--disable-warning=ExperimentalWarning", resolve(import.meta.dirname, "idle-connection-end.ts"), ...args],
      {
        stdio: ["pipe", "pipe", "inherit"],
      },
    );
    const lines = createInterface({ input: child.stdout });
    return {
      read: async () => JSON.parse(((await once(lines, "line")) as [string])[0]) as never,
      ask: (line: string) => void child.stdin.write(`${line}\n`),
      [Symbol.dispose]: () => void child.kill("SIGKILL"),
    };
  };
  using server = end("server", off);
  const { port, authority }: { port: number; authority: string } = await server.read();
  using client = end("client", off, String(port), authority);
  const after = async (more: number): Promise<Sizes> => {
    client.ask(String(more));
    await client.read();
    server.ask("");
    return await server.read();
  };
  const before = await after(warmUp);
  const now = await after(connections);
  const of = (kind: "heap" | "external" | "anonymous"): number => (now[kind] - before[kind]) / (now.kept - before.kept);
  return { kept: now.kept, heap: of("heap"), external: of("external"), anonymous: of("anonymous") };
}

if (import.meta.main)
  process.stdout.write(await idleConnection({ rounds: Number(process.argv[2] ?? 1), connections: Number(process.argv[3] ?? 300) }));
