import { afterAll, describe, test } from "vitest";
import { ifPossible, NotHere } from "../not-here.ts";
import { type KubeWorld, type KubeWorldOptions, kubeWorld } from "./kube-world.ts";

/** Tests with a real Kubernetes cluster, which other story files share by default. Skipped, with the reason, where there is none. */
export async function describeKube(title: string, tests: (world: KubeWorld) => void, options: KubeWorldOptions = {}): Promise<void> {
  const world = await ifPossible(() => kubeWorld(options));
  if (world instanceof NotHere) {
    test(title, ({ skip }) => skip(world.message));
    return;
  }
  describe(title, () => {
    afterAll(async () => await world[Symbol.asyncDispose]());
    tests(world);
  });
}
