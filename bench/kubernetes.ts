import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { auditEvents } from "../test/world/audited.ts";
import { kubernetesLists, type ListsOptions } from "./kubernetes-lists.ts";
import { kubernetesStreams, type StreamsOptions } from "./kubernetes-streams.ts";
import { kubernetesWatches, type WatchesOptions } from "./kubernetes-watches.ts";
import { type KubernetesWorld, type KubeWay, startKubernetesWorld } from "./kubernetes-world.ts";
import { figure, inTurn, interleave, ratio, spread } from "./measure.ts";

export interface KubernetesOptions {
  /** Pods of each namespace that is listed; one of them has 1. */
  readonly pods: readonly number[];
  readonly lists: ListsOptions;
  readonly streams: StreamsOptions;
  readonly watches: WatchesOptions;
  /** kubectl at the same time. */
  readonly atOnce: { readonly rounds: number; readonly count: number };
}

/** A real Kubernetes API server through us, beside kubectl over `ssh -L`. */
export async function kubernetes({ pods, lists, streams, watches, atOnce }: KubernetesOptions): Promise<string> {
  await using world = await startKubernetesWorld(pods);
  const parts = await inTurn([
    () => kubernetesLists(world, lists),
    () => kubernetesStreams(world, streams),
    () => manyAtOnce(world, atOnce),
    () => kubernetesWatches(world, watches),
  ]);
  return `## Kubernetes

API server and node are real (1.20), kubectl is 1.36. Ours: kubectl with the exec plugin → proxy → tunnel → agent → API server. Beside it: kubectl with the
admin's certificate → \`ssh -L\` → sshd → API server.

${parts}`;
}

async function manyAtOnce(world: KubernetesWorld, { rounds, count }: KubernetesOptions["atOnce"]): Promise<string> {
  const { ours, theirs, home, platform } = world;
  const all = async (way: KubeWay): Promise<number> => {
    const begin = performance.now();
    await Promise.all(Array.from({ length: count }, () => way.kubectl(["get", "namespaces", "default"])));
    return performance.now() - begin;
  };
  const issued = async (): Promise<number> => (await auditEvents(platform.cluster, "cert.create")).filter(({ user }) => user === "ada").length;
  const renewals: number[] = [];
  const renewing = async (): Promise<number> => {
    const certificates = (await readdir(home, { recursive: true })).filter((name) => /kube\/[^/]*\.exec$/.test(name));
    for (const name of certificates) await rm(join(home, name));
    const before = await issued();
    const took = await all(ours);
    renewals.push((await issued()) - before);
    return took;
  };
  const times = await interleave(rounds, { ours: () => all(ours), renewed: renewing, theirs: () => all(theirs) });
  const row = (title: string, values: readonly number[]): string =>
    `| ${title} | ${figure(spread(values).median, 0)} | ${figure(ratio(values, times.theirs).median)} × |`;
  return `${count} \`kubectl get namespaces default\` at the same time, ms until the last one has ended, ${rounds} interleaved rounds; all succeed. Certificates issued
when there was none: **${renewals.join(", ")}**. Aim: 1, and 2 × the time.

| | ms | to \`ssh -L\` |
|---|---|---|
${row("ours, the exec plugin has a certificate", times.ours)}
${row("ours, there is none", times.renewed)}
| \`ssh -L\` | ${figure(spread(times.theirs).median, 0)} | |
`;
}
