import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { checkKubernetesJoin } from "../../control/auth/tokens/kubernetes-join.ts";
import { KubernetesApi } from "../../core/kubernetes/kubernetes-api.ts";
import { createQueue } from "../../core/limits/queue.ts";
import { tokenSchema } from "../../core/resources/token.ts";
import { audited } from "../world/audited.ts";
import { busyboxImage } from "../world/kubernetes/busybox-image.ts";
import { clientNodeCalls } from "../world/kubernetes/client-node-script.ts";
import { controlInPod } from "../world/kubernetes/control-in-pod.ts";
import { describeKube } from "../world/kubernetes/describe-kube.ts";
import { allResources, KubePlatform, type KubeUser } from "../world/kubernetes/kube-platform.ts";
import { clientNode, helm } from "../world/kubernetes/kubectl.ts";
import { startShellPod } from "../world/kubernetes/shell-pod.ts";
import { ifPossible, NotHere } from "../world/not-here.ts";
import { type Finished, run } from "../world/program.ts";
import { startService } from "../world/service.ts";
import { until } from "../world/until.ts";

const helmPath = await ifPossible(helm);
const noHelm = helmPath instanceof NotHere ? ` (skipped: ${helmPath.message})` : "";
const library = await ifPossible(clientNode);
const noLibrary = library instanceof NotHere ? ` (skipped: ${library.message})` : "";
/** Debian's python3-kubernetes is for its own Python, and does not know `tls-server-name`: it needs a local port. */
const python = "/usr/bin/python3";
const noPython = existsSync("/usr/lib/python3/dist-packages/kubernetes") ? "" : " (skipped: no python3-kubernetes)";

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
    spec: { terminationGracePeriodSeconds: 0, containers: [{ name: main, image: "${busyboxImage}" }] }
`,
  "templates/test.yaml": `apiVersion: v1
kind: ConfigMap
metadata: { name: {{ .Release.Name }}-checked, annotations: { helm.sh/hook: test } }
`,
};

/** Lists, an exec by WebSocket, and a watch until three objects have come. */
const script = `
import sys
from kubernetes import client, config, watch
from kubernetes.stream import stream
config.load_kube_config()
v1 = client.CoreV1Api()
ns = sys.argv[1]
print(sorted(p.metadata.name for p in v1.list_namespaced_pod(ns).items))
print(sorted(stream(v1.connect_get_namespaced_pod_exec, "shell", ns, command=["sh", "-c", "echo out; echo err >&2"], stderr=True, stdout=True, stdin=False, tty=False).split()))
for name in ["a", "b", "c"]:
    v1.create_namespaced_config_map(ns, {"metadata": {"name": "py-" + name}})
seen = set()
for event in watch.Watch().stream(v1.list_namespaced_config_map, ns, timeout_seconds=20):
    seen.add(event["object"].metadata.name)
    if {"py-a", "py-b", "py-c"} <= seen:
        break
print("watched")
`;

await describeKube("other clients of Kubernetes", (world) => {
  let platform: KubePlatform;
  let user: KubeUser;
  let dir: string;

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "platform-in-pod-"));
    platform = await KubePlatform.open(world, await controlInPod(world, dir));
    user = await platform.user("ada", { kubernetes_groups: ["system:masters"], kubernetes_resources: allResources });
  });
  afterAll(async () => {
    await platform?.[Symbol.asyncDispose]();
    await rm(dir, { recursive: true, force: true });
  });

  test.skipIf(noHelm !== "")(`helm installs, upgrades, rolls back, tests and removes a chart${noHelm}`, async () => {
    const namespace = await world.namespace("fake");
    const folder = join(user.user.home, "chart");
    await mkdir(join(folder, "templates"), { recursive: true });
    for (const [name, text] of Object.entries(chart)) await writeFile(join(folder, name), text);
    const call = (...args: string[]): Promise<Finished> => run(String(helmPath), [...args, "-n", namespace], { env: user.env });
    const color = "jsonpath={.spec.template.metadata.labels.color} {.status.updatedReplicas} {.status.availableReplicas}";
    for (const [args, wanted] of [
      [["install", "web", folder], "blue"],
      [["upgrade", "web", folder, "--set", "color=green"], "green"],
      [["rollback", "web", "1"], "blue"],
    ] as const) {
      expect(await call(...args, "--wait", "--timeout=60s")).toMatchObject({ status: 0 });
      // As the API server has it, directly.
      const { stdout } = await world.kubectl("1.36", ["get", "deployment", "web", "-n", namespace, "-o", color]);
      expect(stdout).toBe(`${wanted} 2 2`);
    }
    expect(await call("test", "web")).toMatchObject({ status: 0 });
    expect((await call("history", "web", "-o", "json")).stdout).toContain("Rollback to 1");
    expect(await call("uninstall", "web")).toMatchObject({ status: 0 });
    expect((await call("list", "-q")).stdout).toBe("");
    expect((await world.kubectl("1.36", ["get", "deployment", "-n", namespace, "-o", "name"])).stdout).toBe("");
  });

  test.skipIf(noPython !== "")(`python3-kubernetes through tsh proxy kube: lists, watches, and an exec by WebSocket${noPython}`, async () => {
    const namespace = await world.namespace("real");
    await startShellPod(world, namespace, "shell");
    const file = join(user.user.home, "client.py");
    await writeFile(file, script);
    const kubeconfig = join(user.user.home, "local");
    const args = ["proxy", "kube", platform.kube, `--kubeconfig=${kubeconfig}`];
    await using proxy = startService(user.user.executable, args, { env: user.env });
    await until("the port is there", () => proxy.printed().includes("export KUBECONFIG"));
    const done = await run(python, [file, namespace], { env: { ...user.env, KUBECONFIG: kubeconfig, PATH: "/usr/bin:/bin" } });
    expect(done.stdout.trim().split("\n"), done.stderr).toEqual(["['shell']", "['err', 'out']", "watched"]);
  });

  test.skipIf(noLibrary !== "")(`@kubernetes/client-node with tsh's kubeconfig: get, list, watch, exec and port-forward${noLibrary}`, async () => {
    const namespace = await world.namespace("real");
    await startShellPod(world, namespace, "shell");
    const file = join(user.user.home, "client.mjs");
    await writeFile(file, clientNodeCalls);
    const done = await run(process.execPath, [file, String(library), namespace], { env: user.env });
    expect(done.stdout.trim().split("\n"), done.stderr).toEqual([
      "list shell",
      "get Running",
      "watch ADDED node-a ADDED node-b",
      "exec out err 3",
      "forward hello",
    ]);
  });

  /** Agents that have these service accounts' tokens: one is let in, the other one is not. */
  async function joinAsPod(
    document: { readonly metadata: { readonly name: string } },
    { good, forged }: Readonly<Record<"good" | "forged", string>>,
  ) {
    const { cluster } = platform;
    const { name: podToken } = document.metadata;
    expect(await cluster.tctl(["create", "-f", "-"], { input: JSON.stringify(document) })).toMatchObject({ status: 0 });
    const services = `kubernetes_service:\n  enabled: yes\n  kubeconfig_file: ${await world.agentKubeconfig("inside")}\n`;
    const agent = async (name: string, idToken: string) => {
      const file = join(dir, name);
      await writeFile(file, idToken);
      return await cluster.agent({ name, podToken, services, noWait: true, env: { KUBERNETES_TOKEN_PATH: file } });
    };
    const [joining, refused] = await Promise.all([agent("pod-1", good), agent("pod-2", forged)]);
    await joining.connected();
    await audited(cluster, "instance.join", { success: true, server_name: "pod-1", token: podToken });
    await audited(cluster, "instance.join", { success: false, server_name: "pod-2" });
    await until("it reads why", () => refused.service.printed().includes("the API server does not know it"));
  }

  test("the API server's review of a pod's token, for the join method kubernetes: the pod's, while it exists, for this audience", async () => {
    const namespace = await world.namespace("real");
    await world.grant(`system:serviceaccounts:${namespace}`, "system:auth-delegator");
    await startShellPod(world, namespace, "joining");
    const pods = `/api/v1/namespaces/${namespace}/pods`;
    const { metadata } = await world.api.must("GET", `${pods}/joining`);
    const accounts = `/api/v1/namespaces/${namespace}/serviceaccounts`;
    /** As the kubelet gets it for a projected volume. */
    const tokenFor = async (audience: string, isBound = true): Promise<string> => {
      const boundObjectRef = { kind: "Pod", apiVersion: "v1", name: "joining", uid: metadata?.uid };
      const spec = { audiences: [audience], expirationSeconds: 600, ...(isBound && { boundObjectRef }) };
      const body = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec };
      return String((await world.api.must("POST", `${accounts}/default/token`, body)).status?.token);
    };
    const { hostname, port } = new URL(world.apiServerUrl);
    const caller = (token: string) => async () =>
      new KubernetesApi({
        host: hostname.replace(/[[\]]/g, ""),
        port: Number(port),
        namespace,
        credentials: async () => ({ token, caPem: world.ca }),
      });
    const queue = createQueue({ atOnce: 1, waiting: 1 });
    const document = {
      ...{ kind: "token", version: "v2", metadata: { name: "pods" } },
      spec: { roles: ["kube"], join_method: "kubernetes", kubernetes: { allow: [{ service_account: `${namespace}:default` }] } },
    };
    const join = async (idToken: string, api = caller(delegator)) =>
      await checkKubernetesJoin({ token: tokenSchema.parse(document), idToken, audience: "test.cluster", now: new Date(), api, queue });
    const delegator = await tokenFor("https://kubernetes.default.svc", false);
    const good = await tokenFor("test.cluster");
    expect(await join(good)).toEqual({ namespace, name: "default", pod: "joining" });
    await expect(join(await tokenFor("other.cluster"))).rejects.toMatchObject({ code: "denied" });
    // Its claims are in order, its signature is not.
    const forged = `${good.slice(0, -6)}${good.endsWith("AAAAAA") ? "BBBBBB" : "AAAAAA"}`;
    await expect(join(forged)).rejects.toThrow("the API server does not know it");
    await expect(join(good, caller("nobody's"))).rejects.toMatchObject({
      code: "unavailable",
      hint: expect.stringContaining("system:auth-delegator"),
    });
    await joinAsPod(document, { good, forged });
    await world.api.must("DELETE", `${pods}/joining`);
    await until("the pod is gone", async () => (await world.api.ask("GET", `${pods}/joining`)).status === 404);
    await until(
      "the API server has noticed",
      async () =>
        await join(good).then(
          () => false,
          (thrown: unknown) => /does not know it/.test(String(thrown)),
        ),
    );
  });
});
