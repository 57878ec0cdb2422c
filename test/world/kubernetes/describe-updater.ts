import { afterAll, beforeEach, describe, test } from "vitest";
import { ifPossible, NotHere } from "../not-here.ts";
import { type KubeWorld, kubeWorld } from "./kube-world.ts";
import { UpdaterWorld } from "./updater-world.ts";

/**
 * Tests of the Kubernetes updater on a real API server that other story files share, with the real controllers of StatefulSets; pods are on a node without
 * containers. Skipped, with the reason, where there is none.
 */
export async function describeUpdater(title: string, tests: (world: UpdaterWorld, kube: KubeWorld) => void): Promise<void> {
  const kube = await ifPossible(() => kubeWorld());
  if (kube instanceof NotHere) {
    test(title, ({ skip }) => skip(kube.message));
    return;
  }
  const world = await UpdaterWorld.open(kube);
  describe(title, () => {
    beforeEach(() => void Object.assign(world.site.answers, { version: "v1.0.0", critical: false, proxy: "1.9.0", held: [], isSigning: true }));
    afterAll(async () => await world[Symbol.asyncDispose]());
    tests(world, kube);
  });
}
