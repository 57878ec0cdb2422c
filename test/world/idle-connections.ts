import { spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { createInterface } from "node:readline";

/** Memory of one idle connection, KiB. */
export interface IdleSizes {
  /** JavaScript's objects, with their buffers. */
  readonly objects: number;
  /** Private pages beside V8's heap: malloc's, for OpenSSL and Node. */
  readonly native: number;
}

/** Connections that warm the server up and are not counted. */
const warmUp = 100;
/** Time for all of them, ms: the machine may be busy. */
const patienceMs = 240_000;

/**
 * Memory of a server that accepts tunnels as the proxy does (TLS, SSH in it, one channel), from source, for each of so many idle connections; its
 * clients are in another process. `without` names the file of a memory trick that both leave out; empty for none.
 */
export async function idleConnections(without: string, connections: number): Promise<IdleSizes> {
  using server = end("server", without);
  const { port, authority } = (await server.read()) as { port: number; authority: string };
  using client = end("client", without, String(port), authority);
  const after = async (more: number): Promise<IdleSizes & { readonly kept: number }> => {
    client.ask(String(more));
    await client.read();
    server.ask("");
    return (await server.read()) as IdleSizes & { readonly kept: number };
  };
  const before = await after(warmUp);
  const now = await after(connections);
  const each = (kind: keyof IdleSizes): number => (now[kind] - before[kind]) / (now.kept - before.kept);
  return { objects: each("objects"), native: each("native") };
}

interface End extends Disposable {
  read(): Promise<unknown>;
  ask(line: string): void;
}

function end(...args: readonly string[]): End {
  // Few free pages of malloc's, and few that V8's young generation moves.
  const flags = ["--expose-gc", "--max-semi-space-size=1", "--disable-warning=ExperimentalWarning"];
  const child = spawn(process.execPath, [...flags, resolve(import.meta.dirname, "idle-connection-end.ts"), ...args], {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, MALLOC_ARENA_MAX: "1" },
  });
  const lines = createInterface({ input: child.stdout });
  return {
    read: async () => JSON.parse(((await once(lines, "line", { signal: AbortSignal.timeout(patienceMs) })) as [string])[0]) as unknown,
    ask: (line) => void child.stdin.write(`${line}\n`),
    [Symbol.dispose]: () => void child.kill("SIGKILL"),
  };
}
