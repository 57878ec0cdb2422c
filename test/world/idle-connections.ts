import { spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { createInterface } from "node:readline";

/** Memory of a server with idle connections, KiB. */
export interface IdleSizes {
  /** JavaScript's objects, with their buffers. */
  readonly objects: number;
  /** Private pages beside V8's heap: malloc's, for OpenSSL and Node. */
  readonly native: number;
}

/** Time for all connections, ms: the machine may be busy. */
const patienceMs = 240_000;

/**
 * Memory of a server that has accepted so many tunnels as the proxy does (TLS, SSH in it, one channel), from source; its clients are in another
 * process. `without` names the file of a memory trick that both leave out; empty for none. Servers are compared as a whole: what differs from one
 * to the next is a few hundred KiB.
 */
export async function idleConnections(without: string, connections: number): Promise<IdleSizes> {
  using server = end("server", without);
  const { port, authority } = (await server.read()) as { port: number; authority: string };
  using client = end("client", without, String(port), authority);
  client.ask(String(connections));
  await client.read();
  server.ask("");
  const { kept, ...sizes } = (await server.read()) as IdleSizes & { readonly kept: number };
  if (kept !== connections) throw new Error(`${kept} of ${connections} connections are open`);
  return sizes;
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
