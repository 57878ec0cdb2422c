import type { KubeApi } from "./kube-api.ts";

/** Requests at a time. */
const atOnce = 32;

/**
 * Creates pods `web-0`, `db-1`, `web-2` and so on, which are never scheduled: each is one write, and stays as it is. In lists some 4 KB of JSON each, half of
 * it what the server keeps of who set which field; `extraBytes` makes each larger.
 */
export async function fillPods(api: Pick<KubeApi, "must">, namespace: string, count: number, extraBytes = 0): Promise<void> {
  let begun = 0;
  const worker = async (): Promise<void> => {
    while (begun < count) {
      const at = begun;
      begun += 1;
      await api.must("POST", `/api/v1/namespaces/${namespace}/pods`, waitingPod(`${at % 2 === 0 ? "web" : "db"}-${at}`, extraBytes));
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

function waitingPod(name: string, extraBytes: number): object {
  const resources = { requests: { cpu: "100m", memory: "128Mi" }, limits: { cpu: "1", memory: "512Mi" } };
  const probe = { httpGet: { path: "/healthz", port: 8080 }, periodSeconds: 10, timeoutSeconds: 2 };
  const env = ["REGION", "LOG_LEVEL", "DATABASE_URL", "CACHE_URL"].map((key) => ({ name: key, value: `the value of ${key} in a pod of usual size` }));
  const more = extraBytes === 0 ? {} : { "example.com/notes": "n".repeat(extraBytes) };
  const container = { name: "main", image: "registry.test/busybox:1", resources, env, readinessProbe: probe, livenessProbe: probe };
  return {
    metadata: {
      name,
      labels: { app: name.replace(/-.*/, ""), tier: "backend", release: "stable" },
      annotations: { "example.com/owner": "team", ...more },
    },
    spec: { schedulerName: "nobody", terminationGracePeriodSeconds: 0, containers: [{ ...container, ports: [{ containerPort: 8080 }] }] },
  };
}
