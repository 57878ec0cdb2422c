import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ClusterOptions } from "../cluster.ts";
import { program } from "../program.ts";
import type { KubeWorld } from "./kube-world.ts";

/**
 * Options of a control server that finds what a pod of the cluster does: the API server's address in its environment, and a service account that may review
 * tokens at the usual place, which is mounted for this process alone. `dir`: a folder for its files.
 */
export async function controlInPod(world: KubeWorld, dir: string): Promise<Pick<ClusterOptions, "platform" | "env">> {
  const namespace = await world.namespace("fake");
  await world.grant(`system:serviceaccounts:${namespace}`, "system:auth-delegator");
  const spec = { expirationSeconds: 86_400 };
  const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec };
  const { status } = await world.api.must("POST", `/api/v1/namespaces/${namespace}/serviceaccounts/default/token`, request);
  const account = join(dir, "service-account");
  await mkdir(account);
  for (const [name, text] of Object.entries({ namespace, token: String(status?.token), "ca.crt": world.ca }))
    await writeFile(join(account, name), text);
  const platform = join(dir, "platform-in-pod");
  const place = "/run/secrets/kubernetes.io";
  const inside = `mount -t tmpfs tmpfs /run && mkdir -p ${place} && cp -r ${account} ${place}/serviceaccount && exec ${program("platform")} "$@"`;
  await writeFile(platform, `#!/bin/sh\nexec unshare --mount sh -c '${inside}' sh "$@"\n`);
  await chmod(platform, 0o755);
  const { hostname, port } = new URL(world.apiServerUrl);
  return { platform, env: { KUBERNETES_SERVICE_HOST: hostname.replace(/[[\]]/g, ""), KUBERNETES_SERVICE_PORT: port } };
}
