import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { conformanceProgram, differences, runSpecs, type SpecGroups, type SpecOutcomes } from "../world/kubernetes/conformance.ts";
import { describeKube } from "../world/kubernetes/describe-kube.ts";
import { mergePatch } from "../world/kubernetes/kube-api.ts";
import { allResources, KubePlatform, type KubeUser } from "../world/kubernetes/kube-platform.ts";
import { kubectl } from "../world/kubernetes/kubectl.ts";
import { ifPossible, NotHere } from "../world/not-here.ts";
import { long } from "../world/rounds.ts";
import { type Service, startService } from "../world/service.ts";
import { until } from "../world/until.ts";

const title = "Kubernetes' own specs";
const program = await ifPossible(conformanceProgram);
const runMs = 900_000;

/** On the node without containers, whose pods say at once that they run. */
const api: SpecGroups = [
  String.raw`\[sig-api-machinery\] CustomResourcePublishOpenAPI`,
  String.raw`\[sig-api-machinery\] (CustomResourceDefinition|Discovery|Servers with support|server version)`,
  String.raw`\[sig-api-machinery\] (ResourceQuota|Namespaces|Watchers)`,
  String.raw`\[sig-api-machinery\] Garbage collector`,
  oneOf(
    String.raw`\[sig-(api-machinery|instrumentation)\] Events`,
    "Secrets should (fail|patch)",
    "ConfigMap should (fail|run)",
    "lease API",
    "CSR API operations",
    "lifecycle of (a ServiceAccount|PodTemplates)",
    "RuntimeClasses API operations",
    "LimitRange should",
    "delete a collection of pod templates",
  ),
  oneOf(
    "Set QOS Class",
    "delete a collection of pods",
    "ReplicationController should (adopt|release|surface|test)",
    "ReplicaSet should adopt",
    "lifecycle of a Deployment",
    "Deployment (RollingUpdateDeployment|RecreateDeployment|deployment should (delete|support rollover))",
    "Job should (adopt|delete)",
  ),
];
const commands: SpecGroups = [
  String.raw`\[sig-cli\] Kubectl client Kubectl (api-versions|cluster-info|describe|diff)`,
  String.raw`\[sig-cli\] Kubectl client (Kubectl (label|patch|replace|run pod|server-side)|Proxy server)`,
];
/** In containers of the one image that the real node has. */
const containers: SpecGroups = [
  "over websockets|busybox|Variable Expansion should allow (composing|substituting values in a container)",
  "InitContainer|report termination message|consumable (via|from pods in env)|Downward API should provide|shared volumes between containers",
];

if (!long) test(title, ({ skip }) => skip("runs in `make test-long`"));
else if (program instanceof NotHere) test(`${title} (skipped: ${program.message})`, ({ skip }) => skip(program.message));
else
  await describeKube(
    title,
    (world) => {
      let platform: KubePlatform;
      let user: KubeUser;
      let local: Service;
      let through: string;
      let kubectlPath: string;

      beforeAll(async () => {
        platform = await KubePlatform.open(world);
        user = await platform.user("ada", { kubernetes_groups: ["system:masters"], kubernetes_resources: allResources });
        kubectlPath = await kubectl("1.20");
        // They name the server to their clients themselves, which leaves `tls-server-name` of a context out.
        through = join(user.user.home, "through");
        local = startService(user.user.executable, ["proxy", "kube", platform.kube, `--kubeconfig=${through}`], { env: user.env });
        await until("the port is there", () => local.printed().includes("export KUBECONFIG"));
      });
      afterAll(async () => {
        await local?.stop();
        await platform?.[Symbol.asyncDispose]();
      });

      const runBoth = async (name: string, groups: SpecGroups): Promise<number> => {
        const timed = async (kubeconfig: string, way: string): Promise<readonly [SpecOutcomes, string]> => {
          const begin = performance.now();
          const folder = join(user.user.home, `${name} ${way}`);
          const outcomes = await runSpecs({ program, kubectl: kubectlPath, kubeconfig, folder }, groups, runMs);
          const passed = passedOf(outcomes);
          const seconds = Math.round((performance.now() - begin) / 1_000);
          return [outcomes, `${way} ${passed} passed and ${outcomes.size - passed} failed in ${seconds} s`];
        };
        const [directly, one] = await timed(world.adminKubeconfig, "directly");
        const [ours, other] = await timed(through, "through us");
        process.stdout.write(`specs of ${name}: ${one}, ${other}\n`);
        for (const [spec, { message }] of directly) if (message !== "") process.stdout.write(`failed directly: ${spec}\n`);
        expect(differences(directly, ours)).toEqual([]);
        return passedOf(ours);
      };

      test("the API: the same ones pass through us", { timeout: 3 * runMs }, async () => {
        expect(await runBoth("the API", api)).toBeGreaterThanOrEqual(65);
      });

      test("kubectl: the same ones pass through us", { timeout: 3 * runMs }, async () => {
        expect(await runBoth("kubectl", commands)).toBeGreaterThanOrEqual(10);
      });

      test("programs in containers: the same ones pass through us", { timeout: 3 * runMs }, async () => {
        // Namespaces that choose no node get those with the label `node=fake`.
        for (const [node, label] of [
          ["fake", "none"],
          ["real", "fake"],
        ] as const)
          await world.api.must("PATCH", `/api/v1/nodes/${node}`, { metadata: { labels: { node: label } } }, mergePatch);
        expect(await runBoth("containers", containers)).toBeGreaterThanOrEqual(25);
      });

      test("the API server has seen them as the user's requests, by the agent's account", async () => {
        const seen = await world.auditEvents(({ userAgent = "" }) => /^(e2e\.test|kubectl)\//.test(userAgent));
        expect(seen.length).toBeGreaterThan(500);
        expect([...new Set(seen.map(({ impersonatedUser }) => impersonatedUser?.username))]).toEqual(["ada"]);
      });
    },
    { own: true },
  );

function oneOf(...names: readonly string[]): string {
  return names.join("|");
}

function passedOf(outcomes: SpecOutcomes): number {
  return [...outcomes.values()].filter(({ state }) => state === "passed").length;
}
