import { once } from "node:events";
import { createServer } from "node:net";

/** Below the ports that the kernel gives to outgoing connections. */
const [lowest, highest] = [10_000, 32_000] as const;
/** More than there are workers: test files that run side by side never take each other's ports. */
const shares = 16;
const own = Number(process.env.VITEST_POOL_ID ?? 0) % shares;
const given = new Set<number>();

/** Ports that were free a moment ago, and are given once: for servers that must come back on the same one. */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  while (ports.length < count) {
    const port = lowest + Math.floor((Math.random() * (highest - lowest)) / shares) * shares + own;
    if (given.has(port) || !(await isFree(port))) continue;
    given.add(port);
    ports.push(port);
  }
  return ports;
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, "0.0.0.0");
  try {
    await once(server, "listening");
  } catch {
    return false;
  }
  server.close();
  await once(server, "close");
  return true;
}
