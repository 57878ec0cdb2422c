import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { conformanceProgram, runConformance } from "../world/kubernetes/conformance.ts";
import { describeKube } from "../world/kubernetes/describe-kube.ts";
import { allResources, KubePlatform } from "../world/kubernetes/kube-platform.ts";
import { ifPossible, NotHere } from "../world/not-here.ts";
import { long } from "../world/rounds.ts";

const title = "Kubernetes' own tests of its API";

if (!long) test(title, ({ skip }) => skip("runs in `make test-long`"));
else
  await describeKube(title, (world) => {
    let platform: KubePlatform;
    let program: string | NotHere;

    beforeAll(async () => {
      program = await ifPossible(conformanceProgram);
      platform = await KubePlatform.open(world);
    }, 3_000_000);
    afterAll(async () => await platform?.[Symbol.asyncDispose]());

    test("what passes directly passes through us", { timeout: 5_400_000 }, async ({ skip }) => {
      if (program instanceof NotHere) return skip(program.message);
      const user = await platform.user("ada", { kubernetes_groups: ["system:masters"], kubernetes_resources: allResources });
      const [before, through] = [join(user.user.home, "directly"), join(user.user.home, "through")];
      for (const folder of [before, through]) await mkdir(folder);
      const directly = await runConformance({ program, kubeconfig: world.adminKubeconfig, folder: before });
      const ours = await runConformance({ program, kubeconfig: user.kubeconfig, env: user.env, folder: through });
      const passed = [...directly].filter(([, outcome]) => outcome === "passed").map(([name]) => name);
      process.stdout.write(
        `directly ${passed.length} of ${directly.size} passed, through us ${[...ours.values()].filter((one) => one === "passed").length}\n`,
      );
      expect(passed.filter((name) => ours.get(name) !== "passed")).toEqual([]);
      expect(passed.length).toBeGreaterThanOrEqual(50);
    });
  });
