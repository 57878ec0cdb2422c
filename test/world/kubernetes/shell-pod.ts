import { until } from "../until.ts";
import { busyboxImage } from "./busybox-image.ts";
import type { KubeWorld } from "./kube-world.ts";

/** A container that runs until SIGTERM, with a web server of its own on port 8080, which serves `/www`. */
const script = "mkdir -p /www && echo hello >/www/hello && httpd -p 8080 -h /www; trap 'exit 0' TERM; while :; do sleep 3600 & wait; done";

/** Starts a pod in a namespace of the real node, and waits until it is ready. `tty`: its container has a terminal. */
export async function startShellPod(
  world: KubeWorld,
  namespace: string,
  name: string,
  command: readonly string[] = ["sh", "-c", script],
  tty = false,
): Promise<void> {
  const pods = `/api/v1/namespaces/${namespace}/pods`;
  const container = { name: "main", image: busyboxImage, command, stdin: true, tty };
  await world.api.must("POST", pods, {
    metadata: { name, labels: { app: name } },
    spec: { terminationGracePeriodSeconds: 0, restartPolicy: "Never", containers: [container] },
  });
  await until(`pod ${name} is ready`, async () => {
    const { status } = await world.api.must("GET", `${pods}/${name}`);
    return status?.conditions?.some((one) => one.type === "Ready" && one.status === "True");
  });
}
