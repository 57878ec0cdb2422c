import { setTimeout as sleep } from "node:timers/promises";
import { settled } from "./database-world.ts";
import { openKubeRequests } from "./kube-requests.ts";
import type { KubernetesWorld } from "./kubernetes-world.ts";
import { figure, memory } from "./measure.ts";

export interface WatchesOptions {
  /** Watches whose memory is counted. */
  readonly count: number;
}

/** Watches that are there before memory is counted: what the first ones load is not counted. */
const before = 20;
/** Time for garbage of the beginning to be collected, ms. */
const quietMs = 15_000;

/** Memory of open watches at agent and proxy. */
export async function kubernetesWatches(world: KubernetesWorld, { count }: WatchesOptions): Promise<string> {
  const rows: string[] = [];
  for (const [title, perConnection] of [
    ["a connection each, as of so many `kubectl get --watch`", 1],
    ["on few connections, as of a controller", 250],
  ] as const) {
    const { control, agent } = await memoryOf(world, { count, perConnection });
    rows.push(`| ${title} | ${figure(control, 0)} | ${figure(agent, 0)} | **${figure(control + agent, 0)}** |`);
  }
  return `Memory of an open watch, KiB (anonymous, ${quietMs / 1000} s after the last one has begun; the difference of ${before + count} to ${before}). Aim: 150 at agent and proxy together.

| ${count} watches | proxy | agent | together |
|---|---|---|---|
${rows.join("\n")}
`;
}

interface Wanted {
  readonly count: number;
  /** Watches on one connection. */
  readonly perConnection: number;
}

async function memoryOf(world: KubernetesWorld, { count, perConnection }: Wanted): Promise<{ readonly control: number; readonly agent: number }> {
  const { pids, filled, ours } = world;
  using connections = new DisposableStack();
  const path = `/api/v1/namespaces/${filled.get(1)}/pods?watch=1`;
  const open = async (watches: number): Promise<void> => {
    for (let begun = 0; begun < watches; begun += perConnection) {
      const requests = connections.use(await openKubeRequests(ours.entrance));
      const here = Math.min(perConnection, watches - begun);
      const streams = await Promise.all(Array.from({ length: here }, () => requests.get(path, { accept: "application/json" })));
      for (const stream of streams) stream.on("error", () => {}).resume();
    }
  };
  const used = async (): Promise<{ readonly control: number; readonly agent: number }> => {
    await settled(Object.values(pids));
    await sleep(quietMs);
    return { control: (await memory(pids.control)).anonymous, agent: (await memory(pids.agent)).anonymous };
  };
  await open(before);
  const first = await used();
  await open(count);
  const second = await used();
  return { control: (second.control - first.control) / count, agent: (second.agent - first.agent) / count };
}
