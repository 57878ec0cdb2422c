import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { CoreV1Api, KubeConfig, type ListWatch, makeInformer, type V1ConfigMap } from "@kubernetes/client-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eachOf } from "../world/each-of.ts";
import { busyboxImage } from "../world/kubernetes/busybox-image.ts";
import { allResources, KubePlatform, type KubeUser } from "../world/kubernetes/kube-platform.ts";
import { type KubeWorld, kubeWorld } from "../world/kubernetes/kube-world.ts";
import { helm } from "../world/kubernetes/kubectl.ts";
import { startShellPod } from "../world/kubernetes/shell-pod.ts";
import { ifPossible, NotHere } from "../world/not-here.ts";
import { type Finished, run } from "../world/program.ts";
import { rounds } from "../world/rounds.ts";
import { until } from "../world/until.ts";

const opened = await ifPossible(() => kubeWorld());
const reason = opened instanceof NotHere ? ` (skipped: ${opened.message})` : "";
const helmPath = opened instanceof NotHere ? opened : await ifPossible(helm);
const hasPython = existsSync("/usr/lib/python3/dist-packages/kubernetes");

/** A chart with a Deployment, and a test of it. */
const chart = {
  "Chart.yaml": "apiVersion: v2\nname: small\nversion: 1.0.0\n",
  "values.yaml": "color: blue\nreplicas: 2\n",
  "templates/web.yaml": `apiVersion: apps/v1
kind: Deployment
metadata: { name: {{ .Release.Name }} }
spec:
  replicas: {{ .Values.replicas }}
  selector: { matchLabels: { app: {{ .Release.Name }} } }
  template:
    metadata: { labels: { app: {{ .Release.Name }}, color: {{ .Values.color }} } }
    spec: { containers: [{ name: main, image: "${busyboxImage}" }] }
`,
  "templates/test.yaml": `apiVersion: v1
kind: ConfigMap
metadata: { name: {{ .Release.Name }}-checked, annotations: { helm.sh/hook: test } }
`,
};

/** With python3-kubernetes: lists, an exec by WebSocket, and a watch until three objects have come. */
const python = `
import sys
from kubernetes import client, config, watch
from kubernetes.stream import stream
config.load_kube_config()
v1 = client.CoreV1Api()
ns = sys.argv[1]
print(sorted(p.metadata.name for p in v1.list_namespaced_pod(ns).items))
print(stream(v1.connect_get_namespaced_pod_exec, "shell", ns, command=["sh", "-c", "echo out; echo err >&2"], stderr=True, stdout=True, stdin=False, tty=False).split())
for name in ["a", "b", "c"]:
    v1.create_namespaced_config_map(ns, {"metadata": {"name": "py-" + name}})
seen = set()
for event in watch.Watch().stream(v1.list_namespaced_config_map, ns, timeout_seconds=20):
    seen.add(event["object"].metadata.name)
    if {"py-a", "py-b", "py-c"} <= seen:
        break
print("watched")
`;

describe.skipIf(opened instanceof NotHere)(`other clients of Kubernetes${reason}`, () => {
  const world = opened as KubeWorld;
  let platform: KubePlatform;
  let user: KubeUser;

  beforeAll(async () => {
    platform = await KubePlatform.open(world);
    user = await platform.user("ada", { kubernetes_groups: ["system:masters"], kubernetes_resources: allResources });
  });
  afterAll(async () => {
    await platform?.[Symbol.asyncDispose]();
    await world[Symbol.asyncDispose]();
  });

  const why = helmPath instanceof NotHere ? ` (skipped: ${helmPath.message})` : "";
  test.skipIf(helmPath instanceof NotHere)(`helm installs, upgrades, rolls back, tests and removes a chart${why}`, async () => {
    const namespace = await world.namespace("fake");
    const folder = join(user.user.home, "chart");
    await mkdir(join(folder, "templates"), { recursive: true });
    for (const [name, text] of Object.entries(chart)) await writeFile(join(folder, name), text);
    const call = (...args: string[]): Promise<Finished> => run(String(helmPath), [...args, "-n", namespace], { env: user.env });
    const wait = ["--wait", "--timeout=60s"];
    const colors = async (): Promise<readonly string[]> => {
      const { stdout } = await user.kubectl("1.36", ["get", "pods", "-n", namespace, "-o", "jsonpath={.items[*].metadata.labels.color}"]);
      return [...new Set(stdout.split(" "))];
    };
    for (const [args, color] of [
      [["install", "web", folder, ...wait], "blue"],
      [["upgrade", "web", folder, "--set", "color=green", ...wait], "green"],
      [["rollback", "web", "1", ...wait], "blue"],
    ] as const) {
      expect(await call(...args)).toMatchObject({ status: 0 });
      await until(`all pods are ${color}`, async () => (await colors()).join() === color);
    }
    expect(await call("test", "web")).toMatchObject({ status: 0 });
    expect((await call("list", "-q")).stdout).toBe("web\n");
    expect(await call("uninstall", "web")).toMatchObject({ status: 0 });
    expect((await call("list", "-q")).stdout).toBe("");
  });

  describe("@kubernetes/client-node", () => {
    const load = (): KubeConfig => {
      const config = new KubeConfig();
      config.loadFromFile(user.kubeconfig);
      return config;
    };

    test("an informer loses no event, however often its connections are cut", async () => {
      const namespace = await world.namespace("fake");
      const config = load();
      const api = config.makeApiClient(CoreV1Api);
      const informer = makeInformer(config, `/api/v1/namespaces/${namespace}/configmaps`, () =>
        api.listNamespacedConfigMap({ namespace }),
      ) as ReturnType<typeof makeInformer<V1ConfigMap>> & ListWatch<V1ConfigMap>;
      let ends = true;
      informer.on("error", () => void (ends && informer.start()));
      await informer.start();
      const maps = `/api/v1/namespaces/${namespace}/configmaps`;
      const cuts = rounds(20, 3);
      for (let cut = 0; cut < cuts; cut += 1) {
        await eachOf(
          Array.from({ length: 20 }, (_, at) => `m-${cut}-${at}`),
          (name) => world.api.must("POST", maps, { metadata: { name } }),
        );
        if (cut > 0)
          await eachOf(
            Array.from({ length: 10 }, (_, at) => `m-${cut - 1}-${at}`),
            (name) => world.api.must("DELETE", `${maps}/${name}`),
          );
        // The agent's process ends, and another takes its place: every connection is cut.
        await agent().kill();
        restart();
      }
      const wanted = ((await world.api.must("GET", maps)).items ?? []).map(({ metadata }) => metadata.name).sort();
      await until(
        "the informer has what the API server has",
        () =>
          informer
            .list(namespace)
            .map(({ metadata }) => metadata?.name)
            .sort()
            .join() === wanted.join(),
        90_000,
      );
      ends = false;
      await informer.stop();
    });
    const agent = () => platform.agents[0]?.service ?? expect.fail("no agent");
    const restart = (): void => platform.agents[0]?.start();
  });

  test.skipIf(!hasPython)(
    `python3-kubernetes lists, watches, and executes by WebSocket${hasPython ? "" : " (skipped: no python3-kubernetes)"}`,
    async () => {
      const namespace = await world.namespace("real");
      await startShellPod(world, namespace, "shell");
      const script = join(user.user.home, "client.py");
      await writeFile(script, python);
      const done = await run("/usr/bin/python3", [script, namespace], { env: { ...user.env, PATH: "/usr/bin:/bin" }, limitMs: 90_000 });
      expect(done.stdout.trim().split("\n"), done.stderr).toEqual(["['shell']", expect.stringMatching(/out.*err|err.*out/), "watched"]);
    },
  );
});
