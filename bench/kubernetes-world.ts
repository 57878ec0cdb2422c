import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePorts } from "../test/world/free-port.ts";
import { fillPods } from "../test/world/kubernetes/fill-pods.ts";
import { adminEntrance, allResources, type Entrance, KubePlatform } from "../test/world/kubernetes/kube-platform.ts";
import { type KubeWorld, kubeWorld } from "../test/world/kubernetes/kube-world.ts";
import { kubectl } from "../test/world/kubernetes/kubectl.ts";
import { startShellPod } from "../test/world/kubernetes/shell-pod.ts";
import { type Finished, type RunOptions, run } from "../test/world/program.ts";
import { startService } from "../test/world/service.ts";
import { until } from "../test/world/until.ts";
import { sshLogin, startSshd } from "./openssh.ts";

/** A way to the same API server. */
export interface KubeWay {
  /** A stock kubectl; throws when it fails. */
  kubectl(args: readonly string[], options?: RunOptions): Promise<Finished>;
  /** For requests without kubectl. */
  readonly entrance: Entrance;
}

/** A real Kubernetes with pods, and the ways to it. */
export interface KubernetesWorld extends AsyncDisposable {
  readonly dir: string;
  readonly world: KubeWorld;
  readonly platform: KubePlatform;
  /** Of a role that allows everything, and of one whose lists are filtered: pods `web-*`, half of them. */
  readonly ours: KubeWay;
  readonly filtered: KubeWay;
  /** Home of the user of `ours`. */
  readonly home: string;
  /** Of the cluster's admin, over `ssh -L`. */
  readonly theirs: KubeWay;
  readonly pids: { readonly control: number; readonly agent: number };
  /** Names of namespaces by their number of pods. */
  readonly filled: ReadonlyMap<number, string>;
  /** Name of a namespace with a pod `shell`, in which programs run. */
  readonly shell: string;
}

/** Needs root, and what scripts/kubernetes.sh builds. `pods`: of each namespace. */
export async function startKubernetesWorld(pods: readonly number[]): Promise<KubernetesWorld> {
  await using stack = new AsyncDisposableStack();
  const dir = await mkdtemp(join(tmpdir(), "platform-bench-kube-"));
  stack.defer(() => rm(dir, { recursive: true, force: true }));
  const world = stack.use(await kubeWorld({ own: true }));
  const platform = stack.use(await KubePlatform.open(world));
  const theirs = await overSsh(world, dir, stack);
  const wayOf = async (name: string, rules: readonly object[]) => {
    const user = await platform.user(name, { kubernetes_groups: ["system:masters"], kubernetes_resources: rules });
    return { home: user.user.home, way: await wayWith(user.env, await user.entrance()) };
  };
  const ours = await wayOf("ada", allResources);
  const filtered = await wayOf("bob", [{ kind: "pod", namespace: "*", name: "web-*", verbs: ["get", "list", "watch"] }]);
  const shell = await world.namespace("real");
  await startShellPod(world, shell, "shell");
  const filled = new Map<number, string>();
  for (const count of pods) {
    const namespace = await world.namespace("fake");
    await fillPods(world.api, namespace, count);
    filled.set(count, namespace);
  }
  const owned = stack.move();
  return {
    ...{ dir, world, platform, theirs, filled, shell },
    ...{ ours: ours.way, home: ours.home, filtered: filtered.way },
    pids: { control: platform.cluster.control.pid, agent: platform.agents[0]?.service.pid ?? 0 },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function wayWith(env: Readonly<Record<string, string>>, entrance: Entrance): Promise<KubeWay> {
  const path = await kubectl("1.36");
  return {
    entrance,
    kubectl: async (args, options = {}) => {
      const done = await run(path, args, { limitMs: 120_000, ...options, env: { ...env, ...options.env } });
      if (done.status !== 0) throw new Error(`kubectl ${args.join(" ")}: exit ${done.status}\n${done.stderr}`);
      return done;
    },
  };
}

/** The admin's own certificate, and a port that a stock ssh forwards to the API server. */
async function overSsh(world: KubeWorld, dir: string, stack: AsyncDisposableStack): Promise<KubeWay> {
  const [sshPort = 0, port = 0] = await freePorts(2);
  const sshd = stack.use(await startSshd(join(dir, "sshd"), sshPort));
  const { host } = new URL(world.apiServerUrl);
  const forward = ["-N", "-L", `127.0.0.1:${port}:${host}`, "-p", String(sshd.port), `${sshLogin}@127.0.0.1`];
  const ssh = startService("ssh", [...sshd.options, ...forward]);
  stack.defer(() => ssh.stop());
  const kubeconfig = join(dir, "theirs");
  const direct = await readFile(world.adminKubeconfig, "utf8");
  await writeFile(kubeconfig, direct.replace(world.apiServerUrl, `https://127.0.0.1:${port}`), { mode: 0o600 });
  const entrance = { ...(await adminEntrance(world)), host: "127.0.0.1", port };
  const way = await wayWith({ HOME: dir, KUBECONFIG: kubeconfig }, entrance);
  await until("ssh forwards", async () => (await way.kubectl(["get", "namespaces", "default"])).status === 0);
  return way;
}
