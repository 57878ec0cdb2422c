import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeKube } from "../world/kubernetes/describe-kube.ts";
import { fillPods } from "../world/kubernetes/fill-pods.ts";
import { beginKube } from "../world/kubernetes/kube-client.ts";
import { adminEntrance, allResources, type Entrance, KubePlatform } from "../world/kubernetes/kube-platform.ts";
import { watchMemory } from "../world/peak-memory.ts";
import { long } from "../world/rounds.ts";

const pods = 20_000;
/** More bytes of each than it has in the benchmarks: 5 KB. */
const extraBytes = 1_500;
/** Least size of a list, MB. */
const leastMegabytes = 95;
/** At the agent, for one list that is under way. */
const mostGrowthKib = 32 * 1024;
/** Time until the first byte, in proportion to that without us. */
const mostDelay = 1.5;
/** Of each kind, in turns, of which the fastest one counts: others use the machine too. */
const turns = 3;

if (!long) test("lists of 20,000 pods", ({ skip }) => skip("runs in `make test-long`"));
else
  await describeKube("lists of 20,000 pods, some 100 MB", (world) => {
    let platform: KubePlatform;
    let namespace: string;

    beforeAll(async () => {
      platform = await KubePlatform.open(world);
      namespace = await world.namespace("fake");
      await fillPods(world.api, namespace, pods, extraBytes);
    }, 900_000);
    afterAll(async () => await platform?.[Symbol.asyncDispose]());

    test.for([
      ["a role that allows everything", allResources, pods],
      ["a role that shows half of them", [{ kind: "pod", namespace: "*", name: "web-*", verbs: ["*"] }], pods / 2],
    ] as const)("%s: all of them come, and the agent holds a small part", { timeout: 600_000 }, async ([title, kubernetes_resources, wanted]) => {
      const name = title === "a role that allows everything" ? "ada" : "bob";
      const user = await platform.user(name, { kubernetes_groups: ["system:masters"], kubernetes_resources });
      const entrance = await user.entrance();
      const admin = await adminEntrance(world);
      // Code that is used for the first time stays in memory.
      await readList(entrance, namespace);
      const memory = await watchMemory(platform.agents[0]?.service.pid ?? 0);
      const first = await readList(entrance, namespace);
      const growth = await memory.growth();
      const [direct, through] = [[] as number[], [first.firstMs]];
      for (let turn = 0; turn < turns; turn += 1) {
        const whole = await readList(admin, namespace);
        expect(whole.pods).toBe(pods);
        expect(whole.megabytes).toBeGreaterThan(leastMegabytes);
        direct.push(whole.firstMs);
        through.push((await readList(entrance, namespace)).firstMs);
      }
      const [withUs, without] = [Math.min(...through), Math.min(...direct)];
      process.stdout.write(
        `${title}: ${Math.round(first.megabytes)} MB, the agent grew by ${Math.round(growth / 1024)} MiB, first byte after ${Math.round(withUs)} ms (directly ${Math.round(without)} ms)\n`,
      );
      expect(first.pods).toBe(wanted);
      expect(growth).toBeLessThan(mostGrowthKib);
      expect(withUs).toBeLessThan(without * mostDelay);
    });
  });

interface ListRead {
  readonly pods: number;
  readonly megabytes: number;
  /** Until the first byte of the body. */
  readonly firstMs: number;
}

/** All pods in one response, which is not kept. */
async function readList(entrance: Entrance, namespace: string): Promise<ListRead> {
  const begin = performance.now();
  const sent = await beginKube(entrance, `/api/v1/namespaces/${namespace}/pods`, { headers: { accept: "application/json" } });
  sent.end();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  expect(response.statusCode).toBe(200);
  const mark = '"uid":"';
  let [found, bytes, firstMs, rest] = [0, 0, 0, ""];
  for await (const chunk of response as AsyncIterable<Buffer>) {
    if (bytes === 0) firstMs = performance.now() - begin;
    bytes += chunk.length;
    const parts = `${rest}${chunk.toString("latin1")}`.split(mark);
    found += parts.length - 1;
    rest = (parts.at(-1) ?? "").slice(1 - mark.length);
  }
  sent.socket?.destroy();
  return { pods: found, megabytes: bytes / 1e6, firstMs };
}
