import { type KubeApi, type KubeObject, mergePatch } from "./kube-api.ts";

/*
 * A node without containers: the real scheduler binds pods to it, and it reports them as running and ready, so that Deployments and StatefulSets
 * roll out within a second. An image with `crash` in its name never becomes ready, one with `missing` cannot be pulled.
 */

const name = "fake";
const capacity = { cpu: "100k", memory: "100Ti", pods: "200k" };
const now = (): string => new Date().toISOString().replace(/\.\d+/, "");

/** Registers the node and serves it as long as the process runs. */
export async function runFakeKubelet(api: KubeApi): Promise<void> {
  await api.ask("POST", "/api/v1/nodes", {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, labels: { node: name, "kubernetes.io/hostname": name } },
  });
  const beat = (): Promise<unknown> => {
    const ready = { type: "Ready", status: "True", reason: "Fake", message: "", lastHeartbeatTime: now(), lastTransitionTime: now() };
    return api.ask("PATCH", `/api/v1/nodes/${name}/status`, { status: { capacity, allocatable: capacity, conditions: [ready] } }, mergePatch);
  };
  await beat();
  setInterval(() => void beat().catch(() => {}), 10_000);
  void serve(api);
}

async function serve(api: KubeApi): Promise<never> {
  for (;;) await follow(api, new Set()).catch(() => new Promise((resolve) => setTimeout(resolve, 200)));
}

/** Until the API server ends the watch. `started`: pods whose status is written, or about to be. */
async function follow(api: KubeApi, started: Set<string>): Promise<void> {
  const mine = `fieldSelector=spec.nodeName%3D${name}`;
  const { items: pods = [], metadata } = await api.must("GET", `/api/v1/pods?${mine}`);
  for (let at = 0; at < pods.length; at += 32) await Promise.all(pods.slice(at, at + 32).map((pod) => settle(api, pod, started)));
  for await (const { type, object } of api.watch(`/api/v1/pods?watch=1&${mine}&resourceVersion=${metadata.resourceVersion}`)) {
    if (type === "ERROR") return;
    if (type === "DELETED") started.delete(object.metadata.uid ?? "");
    else void settle(api, object, started).catch(() => {});
  }
}

async function settle(api: KubeApi, pod: KubeObject, started: Set<string>): Promise<void> {
  const { namespace, name: podName, uid = "", deletionTimestamp } = pod.metadata;
  const path = `/api/v1/namespaces/${namespace}/pods/${podName}`;
  if (deletionTimestamp !== undefined) {
    await api.ask("DELETE", path, { apiVersion: "v1", kind: "DeleteOptions", gracePeriodSeconds: 0 });
    return;
  }
  if (started.has(uid) || pod.status?.phase !== "Pending") return;
  started.add(uid);
  await api.ask("PATCH", `${path}/status`, { status: statusOf(pod, started.size) }, mergePatch);
}

function statusOf(pod: KubeObject, count: number): object {
  const time = now();
  const containers = (pod.spec?.containers ?? []).map(({ name: container, image }) => ({
    ...{ name: container, image, imageID: image, restartCount: 0 },
    ...stateOf(image, time),
  }));
  const ready = containers.every((container) => container.ready);
  const conditions = ["Initialized", "PodScheduled", "ContainersReady", "Ready"].map((type) => ({
    ...{ type, lastTransitionTime: time },
    status: ready || !type.endsWith("Ready") ? "True" : "False",
  }));
  const podIP = `10.${100 + (count >> 16)}.${(count >> 8) & 255}.${count & 255}`;
  const phase = containers.some((container) => "waiting" in container.state && container.state.waiting.reason === "ErrImagePull")
    ? "Pending"
    : "Running";
  return { phase, podIP, hostIP: "192.0.2.1", startTime: time, conditions, containerStatuses: containers };
}

function stateOf(image: string, startedAt: string) {
  const reason = image.includes("missing") ? "ErrImagePull" : image.includes("crash") ? "CrashLoopBackOff" : undefined;
  return reason === undefined
    ? { ready: true, started: true, containerID: `fake://${image}`, state: { running: { startedAt } } }
    : { ready: false, started: false, state: { waiting: { reason, message: `${reason}: ${image}` } } };
}
